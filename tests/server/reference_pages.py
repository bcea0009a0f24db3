"""Writes the reference pages of tools and resources, and the table of profiles.

`python -m tests.server.reference_pages`. What a tool returns is not declared in code (no output schemas), so its keys
come from the golden contract.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.arguments import Param
from mcp_agent_mail.core.cursors import Cursor
from mcp_agent_mail.core.params import Choice, Count, Duration, Flag, Id, ParamType, Text, Texts, Time
from mcp_agent_mail.core.profiles import LISTED_FIRST, NAMED
from mcp_agent_mail.core.resources import ResourceSpec
from mcp_agent_mail.core.settings.server import load_settings
from mcp_agent_mail.core.tools import ToolSpec
from mcp_agent_mail.features.health.results import ServerPlace
from mcp_agent_mail.store.database import Store

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
TOOLS, RESOURCES, PROFILES = (REFERENCE / f"{name}.md" for name in ("tools", "resources", "profiles"))
GOLDEN = ROOT / "tests" / "golden" / "surface.json"
MAKE = "python -m tests.server.reference_pages"

_TOOLS_HEAD = f"""\
# Tools

<!-- Made by `{MAKE}` from the tools' declarations; a test compares. -->

Call them over MCP (`tools/call`), or as `POST /rpc/<tool>` with the arguments as one JSON object ([HTTP](http.md)).
Refusals are listed under [errors](errors.md).

**Lax inputs.** Each parameter has one type; calls may be looser. One value where a list is declared is a list of
one, a string holding a JSON array is that array; `"5"` and `5.0` are 5; `"true"` is true; a number for a text is its
digits; listed values ignore case and outer blanks; null or a blank for an optional parameter is its default. Times are
ISO 8601 (no offset: UTC; a date alone: midnight) or epoch seconds. Anything else is INVALID_INPUT, and so is an
argument that a tool does not have: the answer names the accepted ones.

**Who acts.** `registration_token` and `sender_token` prove an agent and are accepted by every tool, listed only where
shown below. A header does the same: `X-Agent-Token`, or `Authorization: Bearer`.

**On the wire.** An object stands both in the one text block (compact JSON) and in `structuredContent`. A list stands
bare in the text block and as `{{"result": [...]}}` in `structuredContent`. Times are ISO 8601 in UTC with offset.
"""

_RESOURCES_HEAD = f"""\
# Resources

<!-- Made by `{MAKE}` from the resources' declarations; a test compares. -->

Read them over MCP (`resources/read`), or as `POST /rpc/read_resource` with `{{"uri": ...}}`. All are JSON, and reading
changes nothing: what is unread stays unread. Keys in the path are percent-encoded; query keys follow the rules of
[tools](tools.md), unknown ones are ignored. `project` is a path or a slug and may be left out where the agent's name
is unique in the store. A missing thing is an error, not an empty answer: a JSON-RPC error whose `data` is
`{{"error": {{...}}}}`, as in [errors](errors.md).
"""


_PROFILES_BEGIN = (
    f"<!-- This table is made by `{MAKE}` from the profiles and the tools that there are; a test compares. -->\n"
)
_PROFILES_END = "<!-- Until here. -->\n"
_FOR = {
    "minimal": "an agent that works and reports",
    "messaging": "an agent that only talks",
    "core": "everyday work in a team: what both have, and more",
}


async def _services(folder: Path) -> Services:
    settings = load_settings({"STORAGE_ROOT": str(folder), "AGENT_MAIL_ENV_FILE": "/dev/null"}, cwd=folder).settings
    place = ServerPlace(environment="", http_host="", http_port=0, http_path="", database_url="", version="")
    async with Store(folder / "mail.sqlite3") as store:
        return build_services(settings, store, place=place, operator_token="unused")


def declared() -> tuple[list[ToolSpec], list[ResourceSpec]]:
    """Every tool and resource of the product, as the server lists them."""
    with tempfile.TemporaryDirectory() as folder:
        services = asyncio.run(_services(Path(folder)))
    return services.tools.specs(), services.resources.specs()


def tools_page(specs: list[ToolSpec]) -> str:
    golden = json.loads(GOLDEN.read_text())["tools"]
    parts = [_TOOLS_HEAD]
    for cluster, group in itertools.groupby(specs, key=lambda spec: spec.cluster):
        parts.append(f"\n## {cluster}\n")
        parts += [_tool(spec, golden.get(spec.name)) for spec in group]
    return "".join(parts)


def _tool(spec: ToolSpec, contract: dict[str, Any] | None) -> str:
    marks = [
        name
        for name, is_so in (
            ("the operator's, only over `/rpc`", spec.operator_only),
            ("for clients' hooks, not over MCP", spec.off_mcp),
            ("only reads", spec.read_only),
            ("destructive", spec.destructive),
            ("safe to repeat", spec.idempotent),
        )
        if is_so
    ]
    lines = ["", f"### `{spec.name}`", "", _title(spec, marks), ""]
    lines += [spec.description, ""]
    lines += _parameters(
        list(spec.params.values()), [name for name in spec.schema["properties"] if name not in spec.params]
    )
    if contract is not None:
        lines += [_result(contract), ""]
    return "\n".join(lines)


def _title(spec: ToolSpec, marks: list[str]) -> str:
    return f"**{spec.title}** ({', '.join(marks)})" if marks else f"**{spec.title}**"


def _parameters(params: list[Param], tokens: list[str]) -> list[str]:
    if not params and not tokens:
        return ["No parameters.", ""]
    rows = ["| parameter | type | default |", "|---|---|---|"]
    rows += [f"| `{param.name}` | {_describe(param.rule)} | {_default(param)} |" for param in params]
    rows += [f"| `{name}` | text, the agent's token | none |" for name in tokens]
    return [*rows, ""]


def _default(param: Param) -> str:
    if param.required:
        return "**required**"
    return "none" if param.default is None else f"`{json.dumps(param.default)}`"


_SAID = {
    Cursor: "cursor: 0, or an earlier `next_cursor`",
    Id: "id",
    Flag: "true or false",
    Time: "time",
}


def _describe(rule: ParamType) -> str:
    said = _SAID.get(type(rule), "text")
    match rule:
        case Choice(values=values):
            said = " \\| ".join(f"`{value}`" for value in values)
        case Count(low=low, high=high):
            said = f"whole number from {low:,}; beyond {high:,} counts as that"
        case Duration(high=high, floor=floor):
            said = f"seconds, 1 to {high:,}; under {floor} counts as {floor}"
        case Texts(max_items=items):
            said = f"list of texts, at most {items}"
        case Text(max_length=length):
            said = f"text, at most {length:,} characters"
    return said


def _result(contract: dict[str, Any]) -> str:
    keys = ", ".join(f"`{key}`" for key in contract["result_keys"])
    if not keys:
        return "Gives: The content itself, as bytes with a media type (an MCP blob)."
    optional = ", ".join(f"`{key}`" for key in contract.get("optional_keys", []))
    kind = "A list of objects" if contract["result_list"] else "An object"
    nested = "".join(
        _nested(place, inner, contract.get("nested", {}).get(place, []))
        for place, inner in contract.get("nested_optional", {}).items()
    )
    return f"Gives: {kind} with {keys}{f'; where they apply {optional}' if optional else ''}{nested}."


def _nested(place: str, optional: list[str], always: list[str]) -> str:
    """What the objects at `place` have, which is a path, or a path and of what."""
    path, _, of = place.partition(" ")
    there = f" has {', '.join(f'`{key}`' for key in always)} and, where they apply," if always else " also"
    return f"; `{path}`{f' {of}' if of else ''}{there} {', '.join(f'`{key}`' for key in optional)}"


def resources_page(specs: list[ResourceSpec]) -> str:
    golden = json.loads(GOLDEN.read_text())["resources"]
    contracts = {uri.partition("{?")[0]: contract for uri, contract in golden.items()}
    parts = [_RESOURCES_HEAD]
    for spec in specs:
        uri = spec.bare_uri if spec.is_static else spec.uri
        lines = ["", f"## `{uri}`", "", spec.description, ""]
        if spec.params:
            lines += _parameters(list(spec.params.values()), [])
        if contract := contracts.get(spec.bare_uri):
            lines += [_result(contract), ""]
        parts.append("\n".join(lines))
    return "".join(parts)


def profiles_page(specs: list[ToolSpec], page: str) -> str:
    """`page` with its table of profiles made anew: of each, the tools that are there, first those listed first."""
    rows = ["| profile | for | tools |", "|---|---|---|"]
    for name, purpose in _FOR.items():
        there = {spec.name for spec in specs if spec.name in NAMED[name]}
        listed = [*(tool for tool in LISTED_FIRST if tool in there), *sorted(there - set(LISTED_FIRST))]
        tools = ", ".join(f"`{tool}`" for tool in listed)
        rows.append(f"| `{name}` | {purpose} | {tools} |")
    rows.append("| `full` | everything | all of [tools](tools.md) |")
    rows.append(
        "| `custom` | your own choice | `TOOLS_FILTER_CLUSTERS` and `TOOLS_FILTER_TOOLS`: only these "
        "(`TOOLS_FILTER_MODE=include`), or all others (`exclude`); the cluster "
        "`custom` is the tools of other packages |"
    )
    before, _, rest = page.partition(_PROFILES_BEGIN)
    _, _, after = rest.partition(_PROFILES_END)
    return "".join((before, _PROFILES_BEGIN, "\n", *(f"{row}\n" for row in rows), "\n", _PROFILES_END, after))


def main() -> None:
    tools, resources = declared()
    PROFILES.write_text(profiles_page(tools, PROFILES.read_text()))
    TOOLS.write_text(tools_page(tools))
    RESOURCES.write_text(resources_page(resources))


if __name__ == "__main__":
    main()
