"""How an archive's history is read: by runs of Git that change nothing, need no lock, and end within a time: each
within its own, and all that one answer needs within the answer's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from mcp_agent_mail.archive.ownership import require_in_store
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.concurrency.looks import FIRST_SILENCE_S, LookSilent
from mcp_agent_mail.core.errors import NotFound, Unavailable
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass

_RETRY_AFTER_S = 60
_SLOW_AGAIN_S = 10
_FACTS = "--batch-check=%(objectname) %(objecttype) %(objectsize)"


class ArchiveNotFound(NotFound):
    """The project has no archive at this place, or no commit in it yet."""


class ArchiveUnreadable(Unavailable):
    """There is a history, and Git fails to read it, or says what nobody can read."""


class ArchiveSilent(LookSilent):
    """Git did not end within its time, and was ended."""


class ArchiveReadTooLong(Unavailable):
    """Git answers, or others are before it, and all together it took longer than one answer may."""


class TimeBudget:
    """So long may all Git runs take that one answer needs, from when this is made: waits for a turn count too."""

    def __init__(self, seconds: float, *, elapsed: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._elapsed = elapsed
        self._deadline = elapsed() + seconds

    def left_s(self) -> float:
        """Below zero once it is over."""
        return self._deadline - self._elapsed()


@dataclass(frozen=True, slots=True, kw_only=True)
class GitObject:
    """`kind` is `blob`, `tree`, `commit` or `tag`."""

    name: str
    kind: str
    size_bytes: int


class BoundedReader:
    """Of the archive at `path`; `timeout_s` is each run's, `within` all runs', with those of others that share it. All
    of it is called within `told`.
    """

    def __init__(self, path: Path, *, timeout_s: float, within: TimeBudget | None = None) -> None:
        self._path = path
        self._repository = ArchiveRepository(path, only_git=True)
        self._timeout_s = timeout_s
        self._within = within
        self._given_s = timeout_s
        """The newest run's."""

    @contextmanager
    def told(self) -> Iterator[None]:
        """Raises ArchiveRefused for what is no archive of ours, ArchiveNotFound where no history is, and for what Git
        cannot read within ArchiveUnreadable, ArchiveSilent where it does not end, or ArchiveReadTooLong where the time
        for all runs is over.
        """
        try:
            require_in_store(self._repository)
            yield
        except (GitFailed, ValueError, OSError) as unreadable:
            raise self._why_not(unreadable) from unreadable

    def _why_not(self, unreadable: Exception) -> NotFound | Unavailable:
        """Without Git: it may be what fails."""
        data: dict[str, object] = {"path": str(self._path)}
        if isinstance(unreadable, GitFailed) and unreadable.data.get("code", 0) is None:
            if self._given_s < self._timeout_s / 2:
                # What was left of the time tells nothing of this run.
                return self._slow()
            return ArchiveSilent(
                f"Git did not answer within {self._given_s:.3g} s for {self._path}.",
                hint="Nothing else is affected. See whether `git log` answers there: its disk may hang.",
                data={**data, "retry_after_s": round(FIRST_SILENCE_S)},
            )
        if not self._repository.exists() or not self._repository.written_tip():
            return ArchiveNotFound(
                f"There is no readable history in {self._path}.",
                hint="`am status` says whether the archive has caught up; `am doctor verify` says what is wrong.",
                data=data,
            )
        return ArchiveUnreadable(
            f"{_told(unreadable)} of {self._path}.",
            hint="Try again in 60 s; `am doctor verify` says what is wrong with the archive.",
            data={**data, "retry_after_s": _RETRY_AFTER_S},
        )

    def _slow(self) -> ArchiveReadTooLong:
        assert self._within is not None
        return ArchiveReadTooLong(
            f"Git is slow for {self._path}: what was asked of it was not done within {self._within.seconds:g} s.",
            hint=f"Load the page again in {_SLOW_AGAIN_S} s. See how long `git log` takes there: its disk may be slow, "
            "or much else runs. Nothing else is affected.",
            data={"path": str(self._path), "retry_after_s": _SLOW_AGAIN_S},
        )

    def _for_one_run(self) -> float:
        """Seconds. Raises ArchiveReadTooLong."""
        left_s = self._timeout_s if self._within is None else self._within.left_s()
        if left_s <= 0:
            raise self._slow()
        self._given_s = min(self._timeout_s, left_s)
        return self._given_s

    def log(self, *options: str, form: str, most: int) -> Generator[str]:
        """What `form` makes of the first `most` commits, newest first. `options` end in a revision, or in its paths."""
        log = ("log", "-z", "--no-show-signature", "--encoding=UTF-8", f"--max-count={most}", f"--format={form}")
        yield from self.records(*log, *options)

    def records(self, *arguments: str) -> Generator[str]:
        """The fields that a reading command prints with `-z`, as they come. Whoever leaves early closes it."""
        with closing(self._repository.records(*arguments, timeout_s=self._for_one_run())) as records:
            yield from records

    def beginning(self, *arguments: str, most: int) -> tuple[bytes, bool]:
        """The first `most` bytes that a reading command prints, and whether that is all."""
        return self._repository.beginning(*arguments, most=most, timeout_s=self._for_one_run())

    def objects(self, names: Sequence[str]) -> list[GitObject | None]:
        """What each of `names` is, None where Git has nothing. No name may have a line end in it."""
        told = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
        answers = self._repository.git("cat-file", _FACTS, stdin=told, timeout_s=self._for_one_run()).split(b"\n")[:-1]
        return [_object_in(answer) for _, answer in zip(names, answers, strict=True)]

    def blob(self, name: str) -> bytes:
        """The whole content: look at its size first."""
        return self._repository.git("cat-file", "blob", name, timeout_s=self._for_one_run())


def _told(unreadable: Exception) -> str:
    if isinstance(unreadable, GitFailed):
        return f"Git could not read the history (`git {unreadable.data['command']}` ended with an error)"
    if isinstance(unreadable, OSError):
        return f"Git cannot be run ({unreadable.strerror}): nobody can read the history"
    return "What Git says cannot be read, as the history"


def _object_in(answer: bytes) -> GitObject | None:
    words = answer.decode("ascii", "replace").split(" ")
    # Of what is missing the name is said again.
    if len(words) != 3 or not words[2].isdecimal():
        return None
    return GitObject(name=words[0], kind=words[1], size_bytes=int(words[2]))
