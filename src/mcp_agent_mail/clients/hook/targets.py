"""Which files a tool call would change: by its arguments, and by the file lines of a patch."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcp_agent_mail.clients.contracts.reader import Contract
    from mcp_agent_mail.clients.hook.payload import HookPayload

    # Any: arguments of a tool call.
    Json = Any

MAX_PATHS = 5_000
"""That the guard is asked about at once."""
_MAX_PATH = 4_096
_FILE_LINE = re.compile(r"(?m)^[^\S\n]*\*\*\*[^\S\n]+(?:Add File|Update File|Delete File|Move to):[^\S\n]*([^\n]+)")
"""Codex trims such a line before it reads it, and ends it at a line feed alone."""
_BEGIN_LINE = re.compile(r"(?m)^[^\S\n]*\*\*\* Begin Patch[^\S\n]*$")
_UNIFIED_LINE = re.compile(r"(?m)^(?:\+\+\+ (?:b/)?|--- (?:a/)?)([^\r\n\t]+)")
"""Looked for where no line begins a patch of the first kind: in one a removed `-- x` would look like a file."""
_NOWHERE = "/dev/null"


def targets(contract: Contract, event: str, payload: HookPayload) -> list[str]:
    """The files, as the call names them, each once. None for a tool that is no edit."""
    edits = contract["edits"]
    where = edits["tools"].get(payload.tool) or edits["events"].get(event)
    if where is None:
        return []
    is_patch = isinstance(where, dict)
    value: Json = payload.arguments
    for key in where["patch"] if isinstance(where, dict) else where:
        value = value.get(key) if isinstance(value, dict) else None
    found: list[Json] = [*_in_patch(value)] if is_patch else [value]
    return list(dict.fromkeys(path for path in found if _is_path(path)))


def _in_patch(patch: Json) -> list[str]:
    """Of a patch as text, or as the words of a command line."""
    if isinstance(patch, list):
        patch = "\n".join(part for part in patch if isinstance(part, str))
    if not isinstance(patch, str):
        return []
    found = _FILE_LINE.findall(patch)
    if not found or not _BEGIN_LINE.search(patch):
        found += _UNIFIED_LINE.findall(patch)
    return [path.strip() for path in found]


def _is_path(path: Json) -> bool:
    return isinstance(path, str) and 0 < len(path) <= _MAX_PATH and "\0" not in path and path != _NOWHERE
