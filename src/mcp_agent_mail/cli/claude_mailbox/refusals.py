"""How a command ends that did not do what it was to do: one line for people, and an exit code."""

from __future__ import annotations

REFUSED = 1
UNREACHABLE = 2
TIMEOUT = 3


class CommandRefused(Exception):
    """Its text is the line."""

    def __init__(self, line: str, code: int = REFUSED) -> None:
        super().__init__(line)
        self.code = code


class NoMailboxServer(CommandRefused):
    """No server of ours answers."""

    def __init__(self, line: str) -> None:
        super().__init__(line, UNREACHABLE)
