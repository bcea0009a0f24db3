"""Reads a repository for checks; changes nothing and needs no lock."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mcp_agent_mail.archive.folders import blob_of, facts_of, opened, opened_file
from mcp_agent_mail.archive.git_folder import STATE
from mcp_agent_mail.archive.known_version import CONVERSION_NOTE
from mcp_agent_mail.archive.months import MonthsNote
from mcp_agent_mail.archive.ownership import OutboxPosition, require_fit, version_at
from mcp_agent_mail.archive.repository import BRANCH, READ_UNASKED, ArchiveRepository
from mcp_agent_mail.archive.workspace import require_project
from mcp_agent_mail.core.git.process import Conversation, GitFailed, run_git
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE, OWN_FOLDERS
from mcp_agent_mail.domain.archive_format.versions import (
    FORMAT_VERSION,
    converted_archive_file,
    converted_mail,
    former_folder,
    is_mail_name,
)

_LIMIT_S = 3_600.0
"""For all that Git has, and for what is compared with it meanwhile."""
_HASHES_REMEMBERED = 10_000
_NAMES = "--batch-check=%(objectname)"
_UNREAD = ""
"""Stands for a content that Git has not: the file is larger than any that it may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFile:
    path: str
    blob: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StrangerChange:
    """A commit that is not the archiver's wrote or removed a file that is the archiver's."""

    hexsha: str
    path: str


def git_version() -> str:
    """What Git says it is. Raises OSError when there is none."""
    return run_git("--version").decode().strip()


class Inspection:
    def __init__(self, path: Path) -> None:
        self._repository = ArchiveRepository(path, only_git=True)
        self._hashed: dict[tuple[int, int, int, int], str] = {}
        self._kept = None if path.is_symlink() else MonthsNote(path / STATE).read()
        self._is_converting = not path.is_symlink() and (path / CONVERSION_NOTE).exists()
        self._asking: ExitStack | None = None
        self._asked: Conversation | None = None

    @property
    def path(self) -> Path:
        return self._repository.path

    def exists(self) -> bool:
        return self._repository.exists()

    def require_fit(self, store_id: str, claim: OutboxPosition) -> None:
        """Raise ArchiveRefused when the archive is another store's, lacks what was in it, or is ahead."""
        require_fit(self._repository, store_id, claim)

    def require_place(self) -> None:
        """Raise ArchiveRefused when the directory that holds the archive's files is gone."""
        if self._repository.work_tree != self._repository.path:
            require_project(self._repository.path, self._repository.work_tree)

    def is_on_branch(self, hexsha: str) -> bool:
        """Is this commit part of the branch's history? False too when it is gone."""
        try:
            self._repository.git("merge-base", "--is-ancestor", hexsha, BRANCH)
        except GitFailed:
            return False
        return True

    def has_commit(self, hexsha: str) -> bool:
        """Whether the repository still has this commit, on the branch or not. Its files may be damaged all the same."""
        try:
            self._repository.git("cat-file", "-e", f"{hexsha}^{{commit}}")
        except GitFailed:
            return False
        return True

    def version(self, hexsha: str) -> int:
        """The version of the format that a commit is in; this program's where that cannot be told."""
        if not self.exists():
            return FORMAT_VERSION
        try:
            return version_at(self._repository, hexsha)
        except GitFailed:  # Whoever compares it says what is wrong there.
            return FORMAT_VERSION

    def files(self, hexsha: str) -> Iterator[TreeFile]:
        """Every file of a commit, sorted by the bytes of its path."""
        for entry in self._repository.records("ls-tree", "-r", "-z", hexsha, timeout_s=_LIMIT_S):
            facts, _, path = entry.partition("\t")
            yield TreeFile(path=path, blob=facts.rpartition(" ")[2])

    def stranger_changes(self, since: str) -> Iterator[StrangerChange]:
        """What others' commits after `since` did to our files, newest first."""
        ours = {commit.hexsha for commit in self._repository.sealed(f"{since}..{BRANCH}")}
        for hexsha in self._repository.git("rev-list", "--no-merges", f"{since}..{BRANCH}").decode().split():
            if hexsha not in ours:
                places = (ARCHIVE_FILE, *OWN_FOLDERS)
                listing = ("diff-tree", "-r", "-z", "--no-commit-id", "--name-only", hexsha, "--", *places)
                for path in self._repository.records(*listing):
                    yield StrangerChange(hexsha=hexsha, path=path)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Meanwhile one Git answers for all files that `work_tree_differs` asks it about, once there is one."""
        with ExitStack() as stack:
            self._asking = stack
            try:
                yield
            finally:
                self._asking = self._asked = None

    def work_tree_differs(self, file: TreeFile) -> str | None:
        """How the file people see differs from Git: missing or different; None when it does not.

        A file of a month that was put away need not be there, and one of an archive that is being converted may lie
        where it lay before.
        """
        found = self._found(file)
        if found is None and self._kept is not None and not self._kept.hold(file.path):
            return None
        if found == file.blob or self._at_tip(file.path) == found:
            return None
        return "missing" if found is None else "different"

    def _found(self, file: TreeFile) -> str | None:
        """Git's name for what lies in the work tree."""
        found: str | None = None
        with suppress(OSError):
            found = self._blob_on_disk(file)
        if found != file.blob and self._is_converting:
            with suppress(OSError, ValueError):
                found = self._blob_before(file) or found
        return found

    def sha256_of(self, blob: str) -> str:
        """Of a content that Git has, read piece by piece. Raises GitFailed."""
        hashed = hashlib.sha256()
        self._repository.tell_blob(blob, hashed.update)
        return hashed.hexdigest()

    def is_checked_out(self) -> bool:
        return self._repository.is_checked_out()

    def fsck(self) -> str | None:
        """What `git fsck --strict` finds wrong; None when nothing is."""
        return self._fsck()

    def fsck_objects(self) -> str | None:
        """As `fsck`, of the objects alone: the index of the work tree can be made anew."""
        return self._fsck(BRANCH) if self._repository.tip() is not None else None

    def _fsck(self, *heads: str) -> str | None:
        # Asked about a head, Git leaves the index alone; packs it reads from end to end all the same.
        try:
            self._repository.git("fsck", "--strict", "--no-dangling", "--no-progress", *heads, timeout_s=_LIMIT_S)
        except GitFailed as failed:
            return failed.message
        return None

    def _blob_on_disk(self, file: TreeFile) -> str:
        facts = facts_of(self._repository.work_tree, file.path)
        key = (facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size)
        if key not in self._hashed:
            if not self._may_be(file, facts.st_size):
                return _UNREAD
            # Copies of one mail are one inode; neighbours in the listing are not, so remember many.
            if len(self._hashed) >= _HASHES_REMEMBERED:
                self._hashed.clear()
            self._hashed[key] = blob_of(self._repository.work_tree, file.path, size=facts.st_size)
        return self._hashed[key]

    def _may_be(self, file: TreeFile, size: int) -> bool:
        """Is a file of so many bytes worth reading? Others can make one as large as they like."""
        if size <= READ_UNASKED:
            return True
        blobs = {file.blob, self._at_tip(file.path) or file.blob}
        with suppress(GitFailed):
            return any(size == self._repository.size_of(blob) for blob in blobs)
        return False

    def _blob_before(self, file: TreeFile) -> str | None:
        """What the file is as of this version, where it still is as it was in the version before."""
        folder, _, name = file.path.rpartition("/")
        former = "" if file.path == ARCHIVE_FILE else former_folder(folder)
        if former is None:
            return None
        with opened(self._repository.work_tree, former) as fd, opened_file(fd, name) as former_file:
            size = os.fstat(former_file).st_size
            # What becomes of it is never smaller.
            if size > READ_UNASKED and size > self._repository.size_of(file.blob):
                return None
            content = os.pread(former_file, size, 0)
        if file.path == ARCHIVE_FILE:
            return blob_id(converted_archive_file(content))
        return blob_id(converted_mail(content) if is_mail_name(os.fsencode(name)) else content)

    def _at_tip(self, path: str) -> str | None:
        """The file may have been written again since the commit that is looked at."""
        if self._asking is None or "\n" in path:
            try:
                return self._repository.git("rev-parse", "--verify", "--quiet", f"{BRANCH}:{path}").decode().strip()
            except GitFailed:
                return None
        if self._asked is None:
            batch = self._repository.talk("cat-file", _NAMES, timeout_s=_LIMIT_S)
            self._asked = self._asking.enter_context(batch)
        self._asked.say(f"{BRANCH}:{path}\n".encode("utf-8", "surrogateescape"))
        answer = self._asked.hear()
        # Of what is missing the path is said again, in whatever bytes it has.
        return None if answer.endswith(b" missing") or not answer else answer.decode("ascii")
