"""Writes the contracts into `docs/reference/clients.md`: `python -m tests.clients.reference_page`. A test compares."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_agent_mail.clients.contracts.reader import CLIENTS, Contract, read_contract

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "clients.md"

_HEAD = """\
# Agent CLIs

What [`am hook`](../concepts/hooks.md) and its installation know of each agent CLI; what that means for whoever uses one
is told [client by client](../how-to/client-by-client.md). This page is written from the contracts in
`src/mcp_agent_mail/clients/contracts/` by `python -m tests.clients.reference_page`.

Each row says how it is known: **documented** by the vendor (its pages, its schemas), **measured** by us in the running
client, or **inferred** from packages, examples and reports of others. None of these is measured yet: versions change,
and a mismatch fails in silence. Which programs read the files, `make real-clients`
[shows](../how-to/set-up-your-clients.md#what-is-tried-out).
"""

_MOMENTS = {
    "start": "a session starts",
    "turn": "before a turn",
    "before_tool": "before a tool",
    "after_tool": "after a tool",
    "turn_end": "a turn ends",
    "compact": "before a compaction",
    "end": "a session ends",
    "subagent": "of a sub-agent",
    "other": "-",
}
_TELLS = {None: "-", "any": "all mail", "high": "high and urgent", "urgent": "urgent"}
_CAN = {
    "inject": "text to the model",
    "continue": "the turn goes on with it",
    "refuse": "refuses the call",
    "say": "says a warning",
    "reprime": "re-prime",
}


def page() -> str:
    parts = [_HEAD, *_overview(), *(line for client in CLIENTS for line in _client(read_contract(client)))]
    return "\n".join(parts).rstrip("\n") + "\n"


def _overview() -> Iterator[str]:
    yield "## Where mail is told\n"
    yield "| client | before a turn | after a tool | at the end of a turn | an edit is refused | woken when idle |"
    yield "|---|---|---|---|---|---|"
    for client in CLIENTS:
        contract = read_contract(client)
        cells = [_told_at(contract, moment) for moment in ("turn", "after_tool", "turn_end")]
        refuses = [event for event in contract["events"].values() if "refuse" in event["can"]]
        wake = contract["wake"]
        cells += [_marks(refuses) if refuses else "-", f"`{wake['way']}` ({wake['mark']})" if wake["way"] else "-"]
        yield f"| [{contract['title']}](#{contract['title'].lower().replace(' ', '-')}) | {' | '.join(cells)} |"
    yield ""


def _told_at(contract: Contract, moment: str) -> str:
    events = [event for event in contract["events"].values() if event["moment"] == moment and event["tells"]]
    return f"{_TELLS[events[0]['tells']]} ({_marks(events)})" if events else "-"


def _marks(events: list[Contract]) -> str:
    return ", ".join(dict.fromkeys(str(event["mark"]) for event in events))


def _client(contract: Contract) -> Iterator[str]:
    yield f"## {contract['title']}\n"
    yield f"`am hook {contract['client']} EVENT`; versions: {contract['version']}."
    if contract["advisory"]:
        yield f"\n**Advisory**: {contract['advisory']}"
    for said in contract["person"]:
        yield f"\nTo be done by a person: {said}"
    yield f"\nWoken when idle: {_woken(contract['wake'])}"
    yield "\n| file | where | what | known |"
    yield "|---|---|---|---|"
    yield from _files(contract)
    yield "\n| event | moment | mail told | it can | printed for nothing | known |"
    yield "|---|---|---|---|---|---|"
    for name, event in contract["events"].items():
        yield _event(name, event)
    yield "\n| edits | where the path stands |"
    yield "|---|---|"
    edits = contract["edits"]
    for tool, where in {**edits["tools"], **edits["events"]}.items():
        keys = where["patch"] if isinstance(where, dict) else where
        yield f"| `{tool}` | `{'.'.join(keys)}`{', a patch' if isinstance(where, dict) else ''} |"
    yield f"\nThese are {edits['mark']}: {edits['source']}.\n"


def _woken(wake: Contract) -> str:
    how = f"by {wake['how']}" if wake["how"] else "by nothing that is known"
    install = f", installed with `{json.dumps(wake['install'])}`" if wake["install"] else ""
    return f"{how}{install} ({_known(wake)})."


def _files(contract: Contract) -> Iterator[str]:
    for kind, title in (("mcp", "MCP servers"), ("hooks", "hooks")):
        for scope in ("user", "project"):
            row = contract["files"][kind][scope]
            if row is None:
                yield f"| {title}, {scope} | - | the client has none | |"
                continue
            below = f" below `{'.'.join(row['keys'])}`" if row["keys"] else ""
            shape = f", as {row['shape']}" if "shape" in row else ""
            for hidden in row.get("hides", ()):
                of = f" has `{'.'.join(hidden['keys'])}`" if hidden["keys"] else " has anything"
                shape += f"; not made where `{hidden['path']}`{of}"
            if row.get("free"):
                shape += f"; left to you: {', '.join(f'`{name}`' for name in row['free'])}"
            yield f"| {title}, {scope} | `{row['path']}` | {row['format']}{below}{shape} | {_known(row)} |"
    token = contract["token"]
    shown = f"`{token['reference']}`" if token["reference"] else "none"
    yield f"| token | - | refers to the environment as {shown} | {_known(token)} |"


def _event(name: str, event: Contract) -> str:
    can = ", ".join(_CAN[one] for one in event["can"]) or "-"
    neutral = "nothing" if event["neutral"] == "" else f"`{json.dumps(event['neutral'])}`"
    installed = "" if event["install"] is not None or event["output"] == "plugin" else " (not installed)"
    cells = [f"`{name}`{installed}", _MOMENTS[event["moment"]], _TELLS[event["tells"]], can, neutral, _known(event)]
    return f"| {' | '.join(cells)} |"


def _known(row: dict[str, Any]) -> str:
    return f"{row['mark']}: {row['source']}".replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
