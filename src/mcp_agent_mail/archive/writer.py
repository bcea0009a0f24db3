"""Writes one project's archive: a batch of files becomes one commit and the files people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.archive.fast_import import NewCommit, Signature, import_commit
from mcp_agent_mail.archive.index import refresh_index
from mcp_agent_mail.archive.ownership import Claim, require_fit
from mcp_agent_mail.archive.packs import Repack, count_packs, start_repack
from mcp_agent_mail.archive.recovery import remove_leftovers, remove_torn_index, restore_recent_files
from mcp_agent_mail.archive.repository import Repository, SealedCommit, sync
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint, Reach
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.commit_text import CommitText

MANY_PACKS = 50
"""Every batch is one pack, and every Git command opens them all."""

_STATE = Path(".git/agent-mail")
_OPEN_NOTE = _STATE / "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveOwner:
    """Whose archives these are, and who signs for mixed batches."""

    store_id: str
    author_name: str
    author_email: str


def is_unfinished(path: Path) -> bool:
    """Did whoever wrote this archive last stop in the middle of something?"""
    return (path / _OPEN_NOTE).exists()


class ArchiveWriter:
    """Opening makes the repository ready: created, or checked to be ours, and mended after an unclean stop.

    Raises ArchiveRefused for a repository that must not be written to. Whoever uses it holds the archive lock.
    """

    def __init__(
        self, path: Path, owner: ArchiveOwner, claim: Claim, *, reach: Reach, lock_fds: Sequence[int] = ()
    ) -> None:
        self._repository = Repository(path, lock_fds=lock_fds)
        self._owner = owner
        self._reach = reach
        state = path / _STATE
        self._open_note = path / _OPEN_NOTE
        self._index_note = state / "indexed"
        self._tree = WorkTree(path, state)
        require_fit(self._repository, owner.store_id, claim)
        if not self._repository.exists():
            self._repository.create()
        self._tip = self._repository.tip()
        state.mkdir(exist_ok=True)
        if self._open_note.exists():
            self._mend()
        self._is_noted = False
        self._needs_refresh = self._tip is not None
        self._place = self._look_at_place()

    @property
    def is_empty(self) -> bool:
        """No commit yet: the first one must bring `archive.json`."""
        return self._tip is None

    @property
    def is_in_place(self) -> bool:
        """Is the repository that was opened still the one that lies there? A person may have moved it."""
        return self._look_at_place() == self._place

    @property
    def needs_refresh(self) -> bool:
        return self._needs_refresh

    def sealed_after(self, seq: OutboxSeq) -> list[SealedCommit]:
        """Commits made earlier that hold events above `seq`, oldest first, now surely on disk."""
        if self.is_empty:
            return []
        found = self._repository.sealed_after(seq)
        if found:
            self._sync_folders()
        return found

    def commit(self, files: Mapping[str, bytes], text: CommitText, at: Micros) -> SealedCommit:
        """One commit with these files, in Git and on disk when this returns."""
        self._note_open()
        self._reach(FailPoint.BEFORE_IMPORT)
        committer = Signature(name=self._owner.author_name, email=self._owner.author_email)
        author = committer if text.author is None else Signature(name=text.author, email=self._owner.author_email)
        new = NewCommit(files=files, message=text.message, author=author, committer=committer, at=at)
        self._tip = import_commit(self._repository, new, onto_tip=not self.is_empty)
        self._needs_refresh = True
        self._reach(FailPoint.AFTER_IMPORT)
        self._sync_folders()
        # In the work tree of another branch they would stand in the way of switching back.
        if self._repository.is_checked_out():
            self._tree.write(files)
        return SealedCommit(
            hexsha=self._tip,
            subject=text.subject,
            committed_ts=Micros(at // SECOND * SECOND),
            last_seq=text.last_seq,
        )

    def refresh(self) -> None:
        """When idle: the index follows the branch and the files are put on disk; then nothing here is unfinished."""
        tip = self._repository.tip()
        if tip is not None:
            self._reach(FailPoint.INDEX_REFRESH)
            refresh_index(self._repository, tip, self._index_note)
        self._sync_what_people_see()
        self._needs_refresh = False
        self._open_note.unlink(missing_ok=True)
        self._is_noted = False

    def start_repack(self, *, even_if_few: bool = False) -> Repack | None:
        """Begin to join packs, beside further commits. None when there are few, or few enough for their sizes."""
        if not even_if_few and count_packs(self._repository) < MANY_PACKS:
            return None
        return start_repack(self._repository, self._reach)

    def _look_at_place(self) -> tuple[int, int] | None:
        try:
            facts = self._repository.git_path.stat()
        except OSError:
            return None
        return facts.st_dev, facts.st_ino

    def _mend(self) -> None:
        remove_leftovers(self._repository)
        remove_torn_index(self._repository)
        # What the index holds now is not known: the next refresh compares all of it.
        self._index_note.unlink(missing_ok=True)
        if self._tip is not None:
            restore_recent_files(self._repository, self._tree, self._tip)

    def _note_open(self) -> None:
        """From here on a stop is unclean until the next refresh. On disk before what it warns of can be."""
        if not self._is_noted:
            self._open_note.touch()
            sync(self._open_note.parent)
            sync(self._repository.git_path)
            self._is_noted = True

    def _sync_what_people_see(self) -> None:
        """Before the note of an unclean stop goes: a loss of power must not tear what nobody would mend then."""
        self._tree.sync()
        for path in (self._repository.git_path / "index", self._index_note):
            with suppress(FileNotFoundError):
                sync(path)
                sync(path.parent)

    def _sync_folders(self) -> None:
        """Git never syncs folders: without this a synced branch can point to a pack whose name is lost."""
        sync(self._repository.git_path / "objects" / "pack")
        with suppress(FileNotFoundError):  # All branches may be packed by a person's `git gc`.
            sync(self._repository.git_path / "refs" / "heads")
