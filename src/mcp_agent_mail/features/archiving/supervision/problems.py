"""What fails just now in the archives, and in the archiver itself."""

from __future__ import annotations

from dataclasses import dataclass, field

PROBLEMS_KEPT = 100
ARCHIVER = "archiver"


@dataclass(slots=True)
class Problems:
    """By project and part of its archive, `ARCHIVER` for the process itself; the newest is the last."""

    problems: dict[str, str] = field(default_factory=dict)
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
        if not self.problems:
            return None
        what = next(reversed(self.problems))
        others = len(self.problems) - 1
        return f"{what}: {self.problems[what]}{f' ({others} more)' if others else ''}"

    def recover(self, what: str) -> None:
        self.problems.pop(what, None)

    def forget(self) -> None:
        """Drop what an archiver that has ended reported: the next one tries everything again, and reports it."""
        self.problems = {what: why for what, why in self.problems.items() if what == ARCHIVER}
