"""What `tools/list` says, byte for byte, per tool profile: what the golden file and the token counts are about."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.params import IdentityPart
from mcp_agent_mail.core.profiles import FULL, NAMED, ToolProfile
from mcp_agent_mail.core.tools import ToolSpec
from mcp_agent_mail.server.mcp import listed_first, shown_tool
from tests.server.reference_pages import declared

GOLDEN = Path(__file__).parents[1] / "golden" / "tools_list.json"
RESOURCES_GOLDEN = Path(__file__).parents[1] / "golden" / "resource_templates.json"
MAKE = "python -m tests.server.tool_list"


IDENTITY: frozenset[IdentityPart] = frozenset({"project", "caller"})
"""What a connection knows that has said or proven who calls."""


def tools_of(
    specs: list[ToolSpec], profile: ToolProfile, known: frozenset[IdentityPart] = frozenset()
) -> list[dict[str, Any]]:
    """As MCP clients of the profile get them."""
    shown = [spec for spec in listed_first(specs) if spec.is_over_mcp and profile.shows(spec.name)]
    return [
        shown_tool(spec, profile, known).model_dump(by_alias=True, mode="json", exclude_none=True) for spec in shown
    ]


def listing(specs: list[ToolSpec], profile: ToolProfile, known: frozenset[IdentityPart] = frozenset()) -> str:
    """The result of `tools/list` as compact JSON."""
    return json.dumps({"tools": tools_of(specs, profile, known)}, separators=(",", ":"), ensure_ascii=False)


def fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def profiles() -> dict[str, ToolProfile]:
    named = {name: ToolProfile(name=name, tools=tools) for name, tools in NAMED.items() if name != FULL.name}
    return {FULL.name: FULL, **named}


def golden_files() -> dict[Path, str]:
    tools, resources = declared()
    described = [
        {"uri": spec.uri, "name": spec.name, "title": spec.title, "description": spec.description} for spec in resources
    ]
    return {GOLDEN: _document(tools_of(tools, FULL)), RESOURCES_GOLDEN: _document(described)}


def _document(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path, content in golden_files().items():
        path.write_text(content, encoding="utf-8")
