"""What a command ends with where it does not do what it was asked: its words, and its exit code."""

from __future__ import annotations

REFUSED, OUTSIDE = 1, 2

OUTSIDE_TMUX = "agentmail must run inside a tmux session"
NO_TMUX = "not running inside a tmux session"
NO_GIT = "not in a git repository: not in a git repository"
NO_RECIPIENT = "recipient not found"


class Failure(Exception):
    """Its text stands behind `error: `; `usage` is a line below it."""

    def __init__(self, words: str, code: int = REFUSED, *, usage: str = "") -> None:
        super().__init__(words)
        self.code = code
        self.usage = usage

    @property
    def lines(self) -> str:
        """As it is printed."""
        return f"error: {self}\n" + (f"usage: {self.usage}\n" if self.usage else "")
