"""The archives a drain is at work on: when each is tried again, and what the server is told when one cannot be
written: the fact, the hint, and the log's line for what nobody foresaw.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from dataclasses import field

from mcp_agent_mail.archive.lock_holders import LockHolder, named
from mcp_agent_mail.archive.ownership import ArchiveAhead
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.disk_space import is_want_of_room
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.git.process import GitDiskFull, GitFailed
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.protocol import Failed, Recovered, Report

FIRST = SECOND
LAST = 60 * SECOND
_MOST_COUNTED = 10


@dataclass(slots=True)
class Retry:
    """One thing that may fail. `due`: not before this time, which moves with a clock that is set back."""

    due: Micros = Micros(0)
    failures: int = 0
    _seen: Micros = Micros(0)

    def wait(self, now: Micros) -> Micros:
        """Microseconds until it is due. A clock that was set back, by hours or seconds, makes it no longer."""
        if now < self._seen:
            self.due = Micros(self.due - (self._seen - now))
        self._seen = now
        if self.due > now + LAST:
            self.due = now
        return Micros(max(0, self.due - now))

    def fail(self, now: Micros) -> None:
        self._seen = now
        self.due = Micros(now + min(FIRST * 2**self.failures, LAST))
        self.failures = min(self.failures + 1, _MOST_COUNTED)

    def succeed(self) -> bool:
        """Note that it has come through; True when it had failed before."""
        had_failed, self.failures = self.failures > 0, 0
        return had_failed


logger = logging.getLogger("mcp_agent_mail.archiving")

_GIT_SAYS_FULL = (os.strerror(errno.ENOSPC), "Out of diskspace")
_FORESEEN = (AgentMailError, OSError, ValueError, KeyError)
_BUG = (
    "This is a fault of the program: its traceback is in the server's log. "
    "Other archives go on; this one is tried again by itself."
)
_DOCTOR = "It is tried again by itself; if it stays, `am doctor check` says what is wrong."
_FULL = "Free some space on the disk of the archives. It is tried again by itself."


@dataclass(slots=True, kw_only=True, eq=False)
class ArchiveState:
    """The pace of one project. `reported`: everything up to here is in Git and was reported.

    `is_mending`: an earlier process left it in the middle of something; its index is refreshed at once.
    """

    project: Project
    reported: OutboxSeq
    writer: ArchiveWriter | None = None
    commit: Retry = field(default_factory=Retry)
    index: Retry = field(default_factory=Retry)
    work_tree: Retry = field(default_factory=Retry)
    attachments: Retry = field(default_factory=Retry)
    pages: Retry = field(default_factory=Retry)
    is_settling: bool = False
    is_mending: bool = False

    def part(self, retry: Retry) -> str:
        """Which part of the archive `retry` is about, "index" for one; empty for its commits."""
        named = {
            "index": self.index,
            "work tree": self.work_tree,
            "attachments": self.attachments,
            "pages of threads": self.pages,
        }
        return next((name for name, part in named.items() if part is retry), "")


class FailureReporter:
    """Reports what fails, every time, and what works again, once."""

    def __init__(self, report: Callable[[Report], None], clock: Clock) -> None:
        self._report = report
        self._clock = clock

    def fail(self, archive: ArchiveState, retry: Retry, error: Exception) -> None:
        """Report what failed; it is tried again after a growing pause."""
        log_unforeseen(archive.project.slug, error)
        retry.fail(self._clock())
        self._report(
            Failed(
                project=archive.project.slug,
                part=archive.part(retry),
                message=message_of(error),
                hint=hint_of(error),
                is_ahead=isinstance(error, ArchiveAhead),
                lacks_room=isinstance(error, GitDiskFull) or is_want_of_room(error),
            )
        )

    def recover(self, archive: ArchiveState, retry: Retry) -> None:
        if retry.succeed():
            self._report(Recovered(project=archive.project.slug, part=archive.part(retry)))


def message_of(error: Exception) -> str:
    said, kind = str(error), type(error).__name__
    return (said or kind) if isinstance(error, _FORESEEN) else f"{kind}: {said}"


def log_unforeseen(slug: str, error: Exception) -> None:
    """With its traceback, which whoever mends the program needs; nothing of what a disk or Git may do at any time."""
    if not isinstance(error, _FORESEEN):
        logger.error("a fault of the program in the archive of %s", slug, exc_info=error)


def hanging(project: Project, seconds: float, at_work: list[LockHolder]) -> Failed:
    """What the server is told of an archive that has not answered for so many seconds. `at_work`: the Git processes
    that hold its lock.
    """
    kill = f"`kill -9 {' '.join(str(one.pid) for one in at_work)}` ends what hangs, and it is tried again. "
    return Failed(
        project=project.slug,
        message=f"nothing has come back from this archive for {seconds:.0f} s: "
        f"{named(at_work) if at_work else 'Git, or a disk,'} hangs there",
        hint=f"{kill if at_work else ''}Look whether the folder of the archive can be listed (a dead network mount?). "
        "Other archives go on; this one does by itself once it answers.",
    )


def hint_of(error: Exception) -> str:
    """What a person can do about it; it is tried again in any case."""
    if isinstance(error, AgentMailError) and error.hint:
        return error.hint
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _FULL
    if isinstance(error, GitFailed) and any(words in error.message for words in _GIT_SAYS_FULL):
        return _FULL
    if isinstance(error, PermissionError):
        return "Give the server's user the right to write there. It is tried again by itself."
    if isinstance(error, FileNotFoundError) and error.filename == "git":
        return "Install Git, or put it on the server's PATH. It is tried again by itself."
    return _DOCTOR if isinstance(error, _FORESEEN) else _BUG
