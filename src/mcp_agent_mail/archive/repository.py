"""One project's repository: where it lies, how it is set up, and what its history has sealed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.git import (
    DEFAULT_TIMEOUT_S,
    Conversation,
    GitJob,
    run_git,
    start_git,
    stream_git,
    talk_to_git,
)
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.commit_text import SEQ_TRAILER

BRANCH = "refs/heads/main"
TIP = ("for-each-ref", "--format=%(objectname)", BRANCH)

# What a person's own Git in the work tree must know too; our calls pass the rest themselves.
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
\thooksPath = /dev/null
\tautocrlf = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[fastimport]
\tunpackLimit = 0
"""
_SEALED_FORMAT = f"%H%x1f%ct%x1f%s%x1f%(trailers:key={SEQ_TRAILER},valueonly,separator=%x2C)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedCommit:
    """A commit of ours: with it everything up to `last_seq` is in the archive."""

    hexsha: str
    subject: str
    committed_ts: Micros
    last_seq: OutboxSeq


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRun:
    """How Git is run: `lock_fds` (the archive lock) stay open in every process that writes, none takes longer."""

    lock_fds: Sequence[int] = ()
    timeout_s: float = DEFAULT_TIMEOUT_S


PLAIN_RUN = GitRun()


class Repository:
    """Git on one archive."""

    def __init__(self, path: Path, *, run: GitRun = PLAIN_RUN) -> None:
        self.path = path
        self.git_path = path / ".git"
        self._lock_fds = run.lock_fds
        self._timeout_s = run.timeout_s
        # Named, never discovered: in a folder without `.git`, Git would take the next one above it.
        self._place = (f"--git-dir={self.git_path}", f"--work-tree={path}")

    def git(
        self, *arguments: str, stdin: bytes = b"", config: Sequence[str] = (), timeout_s: float | None = None
    ) -> bytes:
        return run_git(
            *self._place,
            *arguments,
            stdin=stdin,
            config=config,
            timeout_s=self._timeout_s if timeout_s is None else timeout_s,
            keep_fds=self._lock_fds,
        )

    @property
    def timeout_s(self) -> float:
        return self._timeout_s

    def start(
        self,
        *arguments: str,
        stdin: bytes = b"",
        config: Sequence[str] = (),
        is_locked: bool = True,
        index_path: Path | None = None,
    ) -> GitJob:
        """Start a command that may take long; with `is_locked` the archive counts as locked until it has ended."""
        keep_fds = self._lock_fds if is_locked else ()
        return start_git(*self._place, *arguments, stdin=stdin, config=config, keep_fds=keep_fds, index_path=index_path)

    def talk(
        self, *arguments: str, config: Sequence[str] = (), timeout_s: float | None = None
    ) -> AbstractContextManager[Conversation]:
        """A command that is told more once it has answered."""
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        return talk_to_git(*self._place, *arguments, config=config, timeout_s=limit_s, keep_fds=self._lock_fds)

    def exists(self) -> bool:
        return all((self.git_path / name).exists() for name in ("HEAD", "objects", "refs"))

    def tip(self) -> str | None:
        """The commit the branch points to; None before the first."""
        return self.git(*TIP).decode().strip() or None

    def is_checked_out(self) -> bool:
        """Is our branch what the work tree shows? A person may have switched to another."""
        return (self.git_path / "HEAD").read_text().strip() == f"ref: {BRANCH}"

    def create(self) -> None:
        """Set up an empty repository. It is built beside its place: it is there whole and on disk, or not at all."""
        building = self.path / ".git.new"
        shutil.rmtree(building, ignore_errors=True)
        self.path.mkdir(parents=True, exist_ok=True)
        branch = BRANCH.rpartition("/")[2]
        run_git("init", "--quiet", "--bare", f"--initial-branch={branch}", "--template=", str(building))
        (building / "config").write_text(_CONFIG)
        for place, _, files in os.walk(building, topdown=False):
            for name in files:
                sync(Path(place, name))
            sync(Path(place))
        building.replace(self.git_path)
        # The folder of all archives may be new too.
        for folder in (self.path, self.path.parent, self.path.parent.parent):
            sync(folder)

    def records(self, *arguments: str, timeout_s: float | None = None) -> Iterator[str]:
        """The fields that a reading command prints with `-z`, as they come. `timeout_s` includes the reader's time."""
        with stream_git(*self._place, *arguments, timeout_s=timeout_s) as stdout:
            yield from _records(stdout)

    def sealed(self, revisions: str = BRANCH) -> Iterator[SealedCommit]:
        """Our commits, newest first. A person's own commits have no trailer and are passed over."""
        log = ("log", "--no-show-signature", "-z", f"--format={_SEALED_FORMAT}", revisions, "--")
        for record in self.records(*log, timeout_s=self._timeout_s):
            hexsha, seconds, subject, trailer = record.split("\x1f")
            if trailer.isdigit():
                yield SealedCommit(
                    hexsha=hexsha,
                    subject=subject,
                    committed_ts=Micros(int(seconds) * SECOND),
                    last_seq=OutboxSeq(int(trailer)),
                )

    def sealed_after(self, seq: OutboxSeq) -> list[SealedCommit]:
        """Our commits that hold events above `seq`, oldest first."""
        found: list[SealedCommit] = []
        for commit in self.sealed():
            if commit.last_seq <= seq:
                break
            found.append(commit)
        return found[::-1]


def sync(path: Path) -> None:
    """Put a file, or the names in a folder, on disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _records(stdout: IO[bytes]) -> Iterator[str]:
    rest = b""
    while chunk := stdout.read1(4096):  # type: ignore[attr-defined]  # Popen's pipe is a BufferedReader
        *records, rest = (rest + chunk).split(b"\0")
        yield from (record.decode("utf-8", "surrogateescape") for record in records)
    if rest:
        yield rest.decode("utf-8", "surrogateescape")
