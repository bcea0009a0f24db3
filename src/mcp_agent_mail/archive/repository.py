"""One project's repository: where it lies, how it is set up, and what its history has sealed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO

from mcp_agent_mail.archive.folders import blob_of, facts_of
from mcp_agent_mail.archive.git_folder import begin_git_folder, real_work_tree_of, said_in
from mcp_agent_mail.core.clock import Micros, from_seconds
from mcp_agent_mail.core.file_sync import sync_path, sync_tree
from mcp_agent_mail.core.git.environment import GitPlace
from mcp_agent_mail.core.git.process import (
    DEFAULT_TIMEOUT_S,
    Conversation,
    GitFailed,
    GitJob,
    run_git,
    start_git,
    stream_git,
    talk_to_git,
)
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.commit_message import SEQ_TRAILER
from mcp_agent_mail.domain.archive_format.parse.commit_message import number_of

BRANCH = "refs/heads/main"
BUILDING = ".git.new"
"""Beside `.git`, where it is built until it is whole."""
READ_UNASKED = 1 << 20
"""Bytes of a file that is read before Git is asked how large it should be."""

LONGEST_RECORD = 8 << 20
"""Of what Git tells at once: a commit with its message, a path."""
_PACKED_REFS_BYTES = 16 << 20
BIG_FILES = "core.bigFileThreshold=1m"
"""What is larger goes through Git in pieces, and is not told as a change of something else."""
TIP = ("for-each-ref", "--format=%(objectname)", BRANCH)

# A person's subject may hold any character, so it comes last.
_SEALED_FORMAT = f"%H%x1f%ct%x1f%(trailers:key={SEQ_TRAILER},valueonly,separator=%x2C)%x1f%s"


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedCommit:
    """A commit of ours: with it everything up to `last_seq` is in the archive."""

    hexsha: str
    subject: str
    committed_ts: Micros
    last_seq: OutboxSeq


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRun:
    """How Git is run: `lock_fds` (the archive's lock) stay open in every process that writes, none takes longer than
    `timeout_s`; `is_foreign` as a place is.
    """

    lock_fds: Sequence[int] = ()
    timeout_s: float = DEFAULT_TIMEOUT_S
    is_foreign: bool = False


PLAIN_RUN = GitRun()


class GitContentTooLarge(GitFailed):
    """A content has more bytes than are read of such a one. None of it was read."""

    def __init__(self, name: str, size: int, most: int) -> None:
        super().__init__(f"{name} has {size:,} bytes in Git; of such a content at most {most:,} are read.")
        self.size = size


def require_most(name: str, size: int, most: int) -> None:
    """Raise GitContentTooLarge where `size` is more than the `most` bytes that are read of it."""
    if size > most:
        raise GitContentTooLarge(name, size, most)


class ArchiveRepository:
    """Git on one archive, at `path` in the store; its files lie in `work_tree`.

    `only_git`: for questions about what Git holds. They are answered while the place of the files is gone too, where
    Git itself would refuse to start.
    """

    def __init__(self, path: Path, *, run: GitRun = PLAIN_RUN, only_git: bool = False) -> None:
        self.path = path
        self.git_path = path / ".git"
        self._lock_fds = run.lock_fds
        self._timeout_s = run.timeout_s
        self._only_git = only_git
        self._is_foreign = run.is_foreign

    @cached_property
    def work_tree(self) -> Path:
        """Raises NotOurGitFolder where a note that should tell is no note of ours."""
        return real_work_tree_of(self.path)

    @cached_property
    def _place(self) -> GitPlace:
        # Named, never discovered: in a folder without `.git`, Git would take the next one above it.
        work_tree = self.path if self._only_git else self.work_tree
        return GitPlace(git_dir=self.git_path, work_tree=work_tree, is_foreign=self._is_foreign)

    def git(
        self, *arguments: str, stdin: bytes = b"", config: Sequence[str] = (), timeout_s: float | None = None
    ) -> bytes:
        """What Git printed. Raises as `run_git` does; `timeout_s` is the archive's own unless given."""
        return run_git(
            *arguments,
            stdin=stdin,
            config=config,
            timeout_s=self._timeout_s if timeout_s is None else timeout_s,
            keep_fds=self._lock_fds,
            place=self._place,
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
        borrowed: Sequence[Path] = (),
    ) -> GitJob:
        """Start a command that may take long; with `is_locked` the archive counts as locked until it has ended.

        `index_path`: an index of its own. `borrowed`: folders of objects that are read beside the repository's.
        """
        keep_fds = self._lock_fds if is_locked else ()
        place = replace(self._place, index=index_path, borrowed=tuple(borrowed))
        return start_git(*arguments, stdin=stdin, config=config, keep_fds=keep_fds, place=place)

    def talk(
        self, *arguments: str, config: Sequence[str] = (), timeout_s: float | None = None
    ) -> AbstractContextManager[Conversation]:
        """Run a Git command that is told more once it has answered; the archive counts as locked until it has ended."""
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        return talk_to_git(*arguments, config=config, timeout_s=limit_s, keep_fds=self._lock_fds, place=self._place)

    def exists(self) -> bool:
        """Whether a repository lies here. A link does not count: it leads to an archive of former times outside of the
        store, and nothing is read there.
        """
        return not self.path.is_symlink() and all(
            (self.git_path / name).exists() for name in ("HEAD", "objects", "refs")
        )

    def tip(self) -> str | None:
        """The commit the branch points to; None before the first."""
        return self.git(*TIP).decode().strip() or None

    def identity(self) -> tuple[int, int] | None:
        """Which folder of which file system the Git directory is; None where none is. Another one has another."""
        try:
            facts = self.git_path.stat()
        except OSError:
            return None
        return facts.st_dev, facts.st_ino

    def sync_folders(self) -> None:
        """Git never syncs folders: without this a synced branch can point to a pack whose name is lost."""
        sync_path(self.git_path / "objects" / "pack")
        with suppress(FileNotFoundError):  # All branches may be packed by a person's `git gc`.
            sync_path(self.git_path / "refs" / "heads")

    def stands_at(self, hexsha: str | None) -> bool:
        """Is this the branch's newest commit? Read as Git writes it, which costs nothing; if not, Git is asked."""
        with suppress(OSError):
            if self.written_tip() == hexsha:
                return True
        return self.tip() == hexsha

    def written_tip(self) -> str:
        """What Git's own files say of the branch's newest commit, without Git; empty where they say nothing."""
        if (said := said_in(self.git_path / BRANCH)) is not None:
            return said.removesuffix("\n")
        # A person's `git gc` packs the branches.
        lines = (said_in(self.git_path / "packed-refs", _PACKED_REFS_BYTES) or "").split("\n")
        return next((line.partition(" ")[0] for line in lines if line.endswith(f" {BRANCH}")), "")

    def is_checked_out(self) -> bool:
        """Is our branch what the work tree shows? A person may have switched to another."""
        return (said_in(self.git_path / "HEAD") or "").strip() == f"ref: {BRANCH}"

    def create(self, work_tree: Path | None = None) -> None:
        """Set up an empty repository, with its files in `work_tree` or beside it.

        It is built beside its place: it is there whole and on disk, or not at all.
        """
        building = self.path / BUILDING
        shutil.rmtree(building, ignore_errors=True)
        self.path.mkdir(parents=True, exist_ok=True)
        branch = BRANCH.rpartition("/")[2]
        run_git("init", "--quiet", "--bare", f"--initial-branch={branch}", "--template=", str(building))
        begin_git_folder(building, self.path, work_tree or self.path)
        sync_tree(building)
        building.replace(self.git_path)
        # The folder of all archives may be new too.
        for folder in (self.path, self.path.parent, self.path.parent.parent):
            sync_path(folder)
        for known in ("work_tree", "_place"):
            self.__dict__.pop(known, None)

    def blobs_at(self, commit: str, paths: Iterable[str]) -> list[str | None]:
        """What a commit has at each path, None where nothing. No path may have a line end in it."""
        asked = "".join(f"{commit}:{path}\n" for path in paths).encode("utf-8", "surrogateescape")
        answers = self.git("cat-file", "--batch-check=%(objectname)", stdin=asked).split(b"\n")[:-1]
        # Of what is missing the path is said again, in whatever bytes it has.
        return [None if answer.endswith(b" missing") else answer.decode("ascii") for answer in answers]

    def size_of(self, blob: str) -> int:
        """Bytes of a content that Git has. Raises GitFailed."""
        return int(self.git("cat-file", "-s", blob))

    def content(self, name: str, most: int) -> bytes:
        """What Git has by this name, without a line end. Raises GitFailed; GitContentTooLarge, which is one, for more
        than `most` bytes, of which none is read.
        """
        with self.talk("cat-file", "--batch", config=(BIG_FILES,)) as objects:
            objects.say(f"{name}\n".encode("utf-8", "surrogateescape"))
            size = objects.hear().rpartition(b" ")[2]
            if not size.isdigit():
                raise GitFailed(f"Git does not have {name}, which the archive needs.")
            require_most(name, int(size), most)
            content = objects.hear_bytes(int(size))
            if len(content) != int(size):
                raise GitFailed(f"Git does not have all of {name}, which the archive needs.")
            objects.hear_bytes(1)
            return content

    def tell_blob(self, blob: str, say: Callable[[bytes], object]) -> None:
        """Say a content that Git has, piece by piece. Raises GitFailed."""
        with self.talk("cat-file", "--batch") as objects:
            objects.say(f"{blob}\n".encode())
            size = objects.hear().rpartition(b" ")[2]
            left = int(size) if size.isdigit() else 0
            while chunk := objects.hear_bytes(min(READ_UNASKED, left)):
                left -= len(chunk)
                say(chunk)
        if left or not size.isdigit():
            raise GitFailed(f"Git does not have all of {blob}, which the archive needs.")

    def shows(self, path: str, blob: str) -> bool:
        """Does the file that people see at `path` hold this content? A large one is read only where it is as large as
        the content is.
        """
        try:
            size = facts_of(self.work_tree, path).st_size
            if size > READ_UNASKED and size != self.size_of(blob):
                return False
            return blob_of(self.work_tree, path, size=size) == blob
        except OSError:
            return False

    def records(self, *arguments: str, timeout_s: float | None = None) -> Generator[str]:
        """The fields that a reading command prints with `-z`, as they come. The limit includes the reader's time."""
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        with stream_git(*arguments, timeout_s=limit_s, place=self._place) as stdout:
            yield from _records(stdout)

    def beginning(self, *arguments: str, most: int, timeout_s: float) -> tuple[bytes, bool]:
        """The first `most` bytes that a reading command prints, and whether that is all."""
        with stream_git(*arguments, config=(BIG_FILES,), timeout_s=timeout_s, place=self._place) as stdout:
            said = stdout.read(most + 1)
            # Whoever leaves with something unread ends the command.
            return said[:most], len(said) <= most

    def sealed(self, revisions: str = BRANCH, *, is_own: bool = False) -> Iterator[SealedCommit]:
        """Our commits, newest first. A person's own commits have no trailer and are passed over.

        `is_own`: without the history of archives that this one has adopted.
        """
        own = ("--first-parent",) if is_own else ()
        log = ("log", "--no-show-signature", "-z", f"--format={_SEALED_FORMAT}", *own, revisions, "--")
        for record in self.records(*log):
            hexsha, seconds, trailer, subject = record.split("\x1f", 3)
            last_seq = number_of(trailer)
            if last_seq is not None:
                yield SealedCommit(
                    hexsha=hexsha,
                    subject=subject,
                    committed_ts=from_seconds(int(seconds)),
                    last_seq=OutboxSeq(last_seq),
                )

    def sealed_after(self, seq: OutboxSeq) -> list[SealedCommit]:
        """Our commits that hold events above `seq`, oldest first."""
        found: list[SealedCommit] = []
        for commit in self.sealed():
            if commit.last_seq <= seq:
                break
            found.append(commit)
        return found[::-1]


def _records(stdout: IO[bytes]) -> Iterator[str]:
    rest = b""
    while chunk := stdout.read1(1 << 16):  # type: ignore[attr-defined]  # Popen's pipe is a BufferedReader
        *records, rest = (rest + chunk).split(b"\0")
        if len(rest) > LONGEST_RECORD:
            raise GitFailed(f"What Git tells has no end: {rest[:100]!r}")
        yield from (record.decode("utf-8", "surrogateescape") for record in records)
    if rest:
        yield rest.decode("utf-8", "surrogateescape")
