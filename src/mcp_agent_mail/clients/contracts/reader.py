"""The contracts of the agent CLIs: a file each, which says where a client keeps what, and what it reads on stdout.

`am hook` reads one of them on every event, so this imports nothing but `json` and `os`. What is strict here,
`faults_of`, is asked by tests: a file that is shipped has no faults.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # `typing` takes three milliseconds to import; checkers go by the name.
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Any: a contract is JSON, read by many who each know their part; `faults_of` is its type.
Contract = dict[str, "Any"]

CLIENTS = ("claude", "codex", "gemini", "cursor", "opencode", "copilot", "windsurf", "cline", "droid", "amp")
"""The ten that have a contract, the five that most people use first."""

SERVER = "agent-mail"
"""Our name in a client's list of MCP servers. No `_`: Gemini takes none."""

MOMENTS = ("start", "turn", "before_tool", "after_tool", "turn_end", "compact", "end", "subagent", "other")
LEVELS = (None, "any", "high", "urgent")
MARKS = ("documented", "measured", "inferred")
FORMATS = ("json", "jsonc", "toml", "executables", "file")
SHAPES = ("claude", "gemini", "cursor", "copilot", "windsurf", "droid", "executable", "plugin")
CAN = ("inject", "continue", "refuse", "say", "reprime")
WAYS = (None, "asyncRewake", "plugin", "notification")
FREE_KINDS = ("number", "flag", "texts")
"""What may stand by a name of our entry that is left to a person."""
_NEVER_FREE = {
    *("command", "args", "env", "environment", "cwd", "headersHelper", "headers", "http_headers", "env_http_headers"),
    *("url", "httpUrl", "serverUrl", "type", "bearer_token_env_var", "oauth", "enabled", "disabled"),
}
"""What runs something, leads elsewhere, sends more along, or turns us off."""

_PLACES = ("session", "cwd", "tool", "input", "result", "subagent", "start_source", "continued", "foreign")
_KEYS = {
    *("client", "title", "version", "neutral", "files", "token", "events"),
    *("edits", "mcp_tool", "wake", "person", "advisory"),
    *_PLACES,
}
_EVENT_KEYS = {"moment", "tells", "output", "neutral", "install", "can", "mark", "source"}
_MARKED = {"mark", "source"}
_HIDES_KEYS = {"path", "keys", "reason", "step"}
_WAKE_KEYS = {"way", "event", "install", "how"} | _MARKED


def read_contract(client: str) -> Contract:
    """The contract of one of CLIENTS, as it is shipped."""
    assert client in CLIENTS
    with open(os.path.join(os.path.dirname(__file__), f"{client}.json"), "rb") as file:  # noqa: PTH118, PTH120, PTH123  # starts faster
        contract: Contract = json.loads(file.read())
    return contract


def can_refuse(contract: Contract) -> bool:
    """Can a tool call be refused in this client? What asks to stop waits for one there."""
    events: list[Contract] = list(contract["events"].values())
    return any(event["moment"] == "before_tool" and "refuse" in event["can"] for event in events)


def faults_of(contract: Contract) -> list[str]:
    """What is wrong with a contract, each fault with the place where it stands; nothing for one that may be shipped."""
    return list(_faults(contract))


def _faults(contract: Contract) -> Iterator[str]:
    if contract.keys() != _KEYS:
        yield f"keys: {sorted(contract.keys() ^ _KEYS)}"
        return
    for place in _PLACES:
        if not all(isinstance(path, list) and path for path in contract[place]):
            yield f"{place}: a list of paths, each a list of keys"
    for part in ("token", "edits", "mcp_tool", "wake"):
        yield from _unmarked(part, contract[part])
    yield from _wake_faults(contract["wake"], contract["events"])
    for kind, own in (("mcp", {"entry", "free"}), ("hooks", {"shape"})):
        for scope in ("user", "project"):
            yield from _file_faults(f"files.{kind}.{scope}", contract["files"][kind][scope], own)
    for name, event in contract["events"].items():
        yield from _event_faults(f"events.{name}", event)
    yield from _edit_faults(contract["edits"]["tools"])


def _wake_faults(wake: Contract, events: Contract) -> Iterator[str]:
    """`event`: at which `am hook CLIENT EVENT --wake` starts to watch. `install`: its own entry there, by its keys
    beside the command. `how`: the way in words.
    """
    if wake.keys() != _WAKE_KEYS:
        yield f"wake: keys {sorted(wake.keys() ^ _WAKE_KEYS)}"
        return
    if wake["way"] not in WAYS:
        yield f"wake: {wake['way']} is none of {WAYS}"
    if (wake["way"] is None) != (wake["how"] is None) or wake["how"] == "":
        yield "wake: a way is said in words, and none is not"
    if wake["event"] is not None and (wake["way"] is None or wake["event"] not in events):
        yield f"wake: {wake['event']} is no event at which it could be watched"
    install = wake["install"]
    if install is not None and (wake["event"] is None or not isinstance(install.get("timeout"), int)):
        yield "wake: what is installed belongs to an event, and has a timeout"


def _edit_faults(tools: Contract) -> Iterator[str]:
    for tool, where in tools.items():
        keys = where.get("patch") if isinstance(where, dict) else where
        if not (isinstance(keys, list) and keys):
            yield f"edits.tools.{tool}: where its path or patch stands"


def _unmarked(place: str, row: Contract) -> Iterator[str]:
    if row.get("mark") not in MARKS or not row.get("source"):
        yield f"{place}: no mark of {MARKS}, or no source"


def _file_faults(place: str, row: Contract | None, own: set[str]) -> Iterator[str]:
    if row is None:
        return
    yield from _unmarked(place, row)
    if row.keys() - {"hides"} != {"path", "format", "keys"} | own | _MARKED:
        yield f"{place}: keys {sorted(row)}"
    for hidden in row.get("hides", ()):
        if hidden.keys() != _HIDES_KEYS or not hidden["path"] or not hidden["reason"] or not hidden["step"]:
            yield f"{place}: hides a file by path, keys, reason and step"
    if row["format"] not in FORMATS:
        yield f"{place}: format {row['format']} is none of {FORMATS}"
    for name, kind in row.get("free", {}).items():
        if kind not in FREE_KINDS or name in _NEVER_FREE:
            yield f"{place}: free {name} ({kind}): one of {FREE_KINDS}, and never what runs or leads elsewhere"
    if "shape" in own and row.get("shape") not in SHAPES:
        yield f"{place}: shape {row.get('shape')} is none of {SHAPES}"


def _event_faults(place: str, event: Contract) -> Iterator[str]:
    yield from _unmarked(place, event)
    if event.keys() != _EVENT_KEYS:
        yield f"{place}: keys {sorted(event.keys() ^ _EVENT_KEYS)}"
        return
    for key, allowed in (("moment", MOMENTS), ("tells", LEVELS)):
        if event[key] not in allowed:
            yield f"{place}: {key} {event[key]} is none of {allowed}"
    if not set(event["can"]) <= set(CAN):
        yield f"{place}: can {event['can']}, of {CAN}"
    if event["tells"] and not {"inject", "continue"} & set(event["can"]):
        yield f"{place}: tells mail and cannot inject it"
    if event["neutral"] != "" and not isinstance(event["neutral"], dict):
        yield f"{place}: neutral is nothing or an object"
    install = event["install"]
    if install is not None and install.keys() != {"matcher", "timeout"}:
        yield f"{place}: install has matcher and timeout"
