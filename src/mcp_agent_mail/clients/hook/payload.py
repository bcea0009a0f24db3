"""What a client says on stdin, looked up by its contract."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcp_agent_mail.clients.contracts.reader import Contract

    # Any: what `json.loads` gives.
    Json = Any

MAX_BYTES = 1024 * 1024
"""Of a payload. A longer one is read to its end, so that its writer is not cut, and counts as none."""

_MAX_DRAINED = 256 * MAX_BYTES
_PIECE = 65_536
_MISREAD = (ValueError, RecursionError)


def read_payload(descriptor: int = 0) -> Json:
    """The object on stdin, or None: for more than MAX_BYTES, no JSON, another value, a terminal, a closed stdin."""
    try:
        if os.isatty(descriptor):
            return None
        content = _read(descriptor)
        value = json.loads(content) if content else None
    except (OSError, *_MISREAD):
        return None
    return value if isinstance(value, dict) else None


def _read(descriptor: int) -> bytes:
    content, drained = bytearray(), 0
    while piece := os.read(descriptor, _PIECE):
        drained += len(piece)
        if drained <= MAX_BYTES:
            content += piece
        if drained > _MAX_DRAINED:
            break
    return bytes(content) if drained <= MAX_BYTES else b""


class HookPayload:
    """The parts of a payload that the contract names; None where the payload does not have them."""

    __slots__ = ("_contract", "_value")

    def __init__(self, contract: Contract, value: Json) -> None:
        self._contract = contract
        self._value = value

    def is_foreign(self) -> bool:
        """Does another client call, which runs this one's hooks? It has an entry, and a contract, of its own."""
        return self._find("foreign") is not None

    @property
    def session(self) -> str | None:
        found = self._find("session")
        return found if isinstance(found, str) and found.strip() else None

    @property
    def folder(self) -> str | None:
        """Where the session works; None for what is no absolute path."""
        found = self._find("cwd")
        return found if isinstance(found, str) and found.startswith("/") and "\0" not in found else None

    @property
    def work_folder(self) -> str:
        """Where there is something to look at: the session's folder, else ours, else the root: either may be gone."""
        if self.folder is not None and os.path.isdir(self.folder):  # noqa: PTH112  # starts faster
            return self.folder
        try:
            return os.getcwd()  # noqa: PTH109  # as above
        except OSError:
            return "/"

    @property
    def tool(self) -> str:
        found = self._find("tool")
        return found if isinstance(found, str) else ""

    @property
    def arguments(self) -> dict[str, Json]:
        """Of the tool; some clients send them as text."""
        found = self._find("input")
        if isinstance(found, str):
            try:
                found = json.loads(found)
            except _MISREAD:
                return {}
        return found if isinstance(found, dict) else {}

    @property
    def result(self) -> Json:
        return self._find("result")

    @property
    def is_subagents(self) -> bool:
        return bool(self._find("subagent"))

    @property
    def start_source(self) -> str:
        found = self._find("start_source")
        return found if isinstance(found, str) else ""

    @property
    def is_continued(self) -> bool:
        """Does the turn that ends go on from an earlier end already? Said as a flag or as a count."""
        found = self._find("continued")
        return bool(found) and isinstance(found, (bool, int))

    def at(self, paths: list[list[str | int]]) -> Json:
        """The first of these paths that leads to a value."""
        for path in paths:
            value = self._value
            for key in path:
                value = _below(value, key)
            if value is not None:
                return value
        return None

    def _find(self, place: str) -> Json:
        return self.at(self._contract[place])


def _below(value: Json, key: str | int) -> Json:
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key)
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return None
