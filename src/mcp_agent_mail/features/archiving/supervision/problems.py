"""What fails just now in the archives, and in the archiver itself."""

from __future__ import annotations

from dataclasses import field

from mcp_agent_mail.core.lazy.dataclass import dataclass

PROBLEMS_KEPT = 100
ARCHIVER = "archiver"


@dataclass(slots=True)
class Problems:
    """By project and part of its archive, `ARCHIVER` for the process itself; the newest is the last. `standing` are
    those that were found before there was an archiver, and that none can end.
    """

    problems: dict[str, str] = field(default_factory=dict)
    standing: dict[str, str] = field(default_factory=dict)
    last_error: str | None = None
    restarts: int = 0

    def fail(self, what: str, message: str) -> None:
        """The newest of this kind counts. Beyond PROBLEMS_KEPT kinds a new one is only the last error."""
        self.last_error = f"{what}: {message}"
        known = self.problems.pop(what, None)
        if known is not None or len(self.problems) < PROBLEMS_KEPT:
            self.problems[what] = message

    def newest(self) -> str | None:
        """The newest problem on one line, with how many others there are; None when nothing is wrong."""
        shown = self.all()
        if not shown:
            return None
        what = next(reversed(shown))
        others = len(shown) - 1
        return f"{what}: {shown[what]}{f' ({others} more)' if others else ''}"

    def all(self) -> dict[str, str]:
        """Those that stand come first; of one project what its archiver says counts."""
        return {**self.standing, **self.problems}

    def stand(self, what: str, message: str) -> None:
        """This one stays for as long as the server runs. Of PROBLEMS_KEPT at most."""
        if len(self.standing) < PROBLEMS_KEPT:
            self.standing[what] = message

    def recover(self, what: str) -> None:
        self.problems.pop(what, None)

    def forget(self) -> None:
        """Drop what an archiver that has ended reported: the next one tries everything again, and reports it."""
        self.problems = {what: why for what, why in self.problems.items() if what == ARCHIVER}
