"""Writes one project's archive: a batch of files becomes one commit and the files people read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from mcp_agent_mail.archive.contents import NO_CONTENTS, Contents, MissingContents, without_known, without_same
from mcp_agent_mail.archive.conversion import Conversion
from mcp_agent_mail.archive.fast_import import NewCommit, Signature, import_commit, import_large
from mcp_agent_mail.archive.git_folder import STATE, make_ours
from mcp_agent_mail.archive.index import follow_branch
from mcp_agent_mail.archive.months import KeptMonths, MonthsNote, Thinning, count_month, is_in_force, months_around
from mcp_agent_mail.archive.ownership import (
    ArchiveOwner,
    OutboxPosition,
    Written,
    require_fit,
    require_same,
    version_at,
    written_in,
)
from mcp_agent_mail.archive.packs import Repack, count_packs, start_repack
from mcp_agent_mail.archive.recovery import (
    BLOCKED_NOTE,
    LACKED_NOTE,
    OpenNote,
    clear_up,
    remove_leftovers,
    restore_files,
    restore_named,
    restore_recent_files,
)
from mcp_agent_mail.archive.repository import PLAIN_RUN, TIP, ArchiveRepository, GitRun, SealedCommit
from mcp_agent_mail.archive.rewrite import LIMIT_S as REWRITE_LIMIT_S
from mcp_agent_mail.archive.rewrite import Render, Rewrite, bring_history, forget_joining
from mcp_agent_mail.archive.sizes import ArchiveFigures, figures_of
from mcp_agent_mail.archive.steps import InSteps, Steps, Syncing, sync_each
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.attachments import Content
from mcp_agent_mail.domain.archive_format.commit_message import CommitText, attachments_text, conversion_text
from mcp_agent_mail.domain.archive_format.months import month_of
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION

MANY_PACKS = 50
"""Every batch is one pack, and every Git command opens them all."""

_PATIENCE = 5
"""Beside commits, at low priority, a step may take so many times as long as Git may elsewhere."""


class ArchiveWriter:
    """Opening makes the repository ready: created, or checked to be ours, and mended after an unclean stop.

    Raises ArchiveRefused for a repository that must not be written to. Whoever uses it holds the lock of this archive.
    """

    def __init__(
        self,
        path: Path,
        owner: ArchiveOwner,
        claim: OutboxPosition,
        *,
        fault_hook: FaultHook,
        git_run: GitRun = PLAIN_RUN,
        contents: Contents = NO_CONTENTS,
    ) -> None:
        self._repository = ArchiveRepository(path, run=git_run)
        self._step_limit_s = _PATIENCE * self._repository.timeout_s
        self._contents = contents
        self._owner = owner
        self._fault_hook = fault_hook
        state = path / STATE
        self._open = OpenNote(self._repository)
        self._blocked_note = path / BLOCKED_NOTE
        self._index_note = state / "indexed"
        self._months_note = MonthsNote(state)
        self._kept = self._months_note.read()
        # On the file system of the files, and out of their way.
        scratch = state if self._repository.work_tree == path else self._repository.work_tree
        self._tree = WorkTree(self._repository.work_tree, scratch, self._shows)
        self._files = 0
        self._was_cut_off = False
        if self._repository.exists():
            make_ours(path)
        require_fit(self._repository, owner.store_id, claim)
        if not self._repository.exists():
            self._repository.create()
        self._tip = self._repository.tip()
        state.mkdir(exist_ok=True)
        self.lacked = MissingContents(path / LACKED_NOTE)
        version = FORMAT_VERSION if self._tip is None else version_at(self._repository, self._tip)
        self.conversion = Conversion(self._repository, self._tree, version, self._tip, fault_hook)
        if self._tip is not None and (self._blocked_note.exists() or self._tree.is_empty()):
            self._show_all()
        if self._open.stands:
            self._mend()
        self._open = OpenNote(self._repository)
        self.needs_refresh = self._tip is not None
        self._changes = 0
        self.is_refreshing = False
        self._place = self._repository.identity()
        self.packs = count_packs(self._repository)

    @property
    def store_id(self) -> str:
        return self._owner.store_id

    @property
    def version(self) -> int:
        """The version of the format that the archive is in, and that is written to it."""
        return self.conversion.version

    @property
    def is_empty(self) -> bool:
        """Whether there is no commit yet: the first one must bring `archive.json`."""
        return self._tip is None

    @property
    def is_in_place(self) -> bool:
        """Whether the archive opened still lies there, its branch where we left it: a person may have moved either."""
        return self._repository.identity() == self._place and self._repository.stands_at(self._tip)

    @property
    def has_blocked(self) -> bool:
        """Files that Git has and people cannot see, because something else stands in their place."""
        return bool(self._tree.blocked)

    def write_blocked(self) -> None:
        """Write the blocked files again. Raises WorkTreeBlocked for the first that something is still in the way of."""
        paths = sorted(self._tree.blocked)
        self._tree.blocked.clear()
        if paths:
            self._note_change()
            restore_named(self._repository, self._tree, paths if self._repository.is_checked_out() else ())
            self._tree.sync(self._step_limit_s)
        self._note_blocked()
        self._tree.require_unblocked()

    def sealed_after(self, seq: OutboxSeq) -> list[SealedCommit]:
        """Commits made earlier that hold events above `seq`, oldest first, now surely on disk."""
        if self.is_empty:
            return []
        found = self._repository.sealed_after(seq)
        if found:
            self._repository.sync_folders()
        return found

    def newest_sealed(self) -> SealedCommit | None:
        """The newest commit of ours that the branch has."""
        return None if self.is_empty else next(self._repository.sealed(), None)

    def changed(self, files: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
        """Those of them that the branch has with another content, or not at all; None for what is to go."""
        return without_same(self._repository, self._tip, files)

    def require_same(self, sealed: SealedCommit, written: Written) -> None:
        """Raise ArchiveAhead unless this commit is of those events."""
        require_same(self._repository, sealed, written)

    def version_of(self, sealed: SealedCommit) -> int:
        """The version of the format that this commit was written in."""
        return written_in(self._repository, sealed.hexsha)

    def commit(self, files: Mapping[str, Content | None], text: CommitText, at: Micros) -> SealedCommit:
        """One commit with these files, in Git and on disk when this returns; `lacked` are those that cannot be had."""
        self._note_change()
        author = self._committer if text.author is None else replace(self._committer, name=text.author)
        files = without_known(self._repository, self._tip, files)
        new = NewCommit(files=files, message=text.message, author=author, committer=self._committer, at=at)
        source, lacking = self._contents, self.lacked.note
        self._advance(lambda: import_commit(self._repository, new, onto=self._tip, contents=source, lacking=lacking))
        self._note_late_files(files)
        files = {path: file for path, file in files.items() if path not in self.lacked.newest}
        self.lacked.remove(files)
        # In the work tree of another branch they would stand in the way of switching back.
        if self._repository.is_checked_out():
            self._tree.write(files, source)
            self._note_blocked()
        return self._sealed(text, at)

    def bring_lacked(self, last_seq: OutboxSeq, at: Micros) -> SealedCommit | None:
        """Commit what was lacked and can be had by now; its commit, if that is anything. What still cannot stays in
        `lacked`.
        """
        files = self.lacked.files
        self.lacked.remove(files.keys() - without_known(self._repository, self._tip, files))
        found = {path: content for path, content in self.lacked.files.items() if self._contents.has(content)}
        return self.commit(found, attachments_text(len(found), last_seq), at) if found else None

    def rewrite(self, render: Render, text: CommitText, at: Micros, *, source: Path | None = None) -> SealedCommit:
        """One commit that makes our files what `render` puts, and joins the history of the archive at `source`."""
        self._note_change()
        changes = Rewrite(self._repository, render, is_empty=self.is_empty)

        def import_changes() -> str:
            joined = None if source is None else bring_history(self._repository, source)
            owner = self._committer
            new = NewCommit(message=text.message, author=owner, committer=owner, at=at, joined=joined)
            return import_large(
                self._repository,
                new,
                changes.fill,
                onto=self._tip,
                timeout_s=REWRITE_LIMIT_S,
                contents=self._contents,
                lacking=self.lacked.note,
            )

        self._advance(import_changes)
        self._thin_again()
        if self._repository.is_checked_out():
            changes.show(self._tree, self._contents, self.lacked.newest)
            self._note_blocked()
        forget_joining(self._repository)
        return self._sealed(text, at)

    def _advance(self, importer: Callable[[], str]) -> None:
        """Let a commit be imported, which gives its id, and be on disk."""
        self._fault_hook(FailPoint.BEFORE_IMPORT)
        self._tip = importer()
        self.packs += 1
        self._fault_hook(FailPoint.AFTER_IMPORT)
        self._repository.sync_folders()

    @property
    def _committer(self) -> Signature:
        return Signature(name=self._owner.author_name, email=self._owner.author_email)

    def _sealed(self, text: CommitText, at: Micros) -> SealedCommit:
        assert self._tip is not None
        seconds = Micros(at // SECOND * SECOND)
        return SealedCommit(hexsha=self._tip, subject=text.subject, committed_ts=seconds, last_seq=text.last_seq)

    def convert(self, last_seq: OutboxSeq, at: Micros) -> SealedCommit | None:
        """Do the next part of what brings the archive to this version of the format; its commit, if that was it.

        Each part is short; `conversion` says whether there are more. What a crash interrupts is gone on with.
        """
        conversion, tip = self.conversion, self._tip
        if conversion.is_half_done:
            self._note_change()
            conversion.show()
            self._note_blocked()
            return None
        assert tip is not None, "a new archive is of this version"
        if not conversion.prepare(tip):
            return None
        text = conversion_text(conversion.version, last_seq)
        self._note_change()
        new = conversion.begin(tip, text, self._committer, at)
        self._advance(lambda: import_commit(self._repository, new, onto=tip))
        self._thin_again()
        # The difference is every file: the next refresh lets Git build the index anew, which takes no memory of ours.
        self._index_note.unlink(missing_ok=True)
        conversion.note_committed()
        return self._sealed(text, at)

    def start_refresh(self) -> InSteps:
        """Begin to bring the index to the branch and the files on disk. Commits may go on beside it, thinning may not.

        If no commit came meanwhile nothing here is unfinished then. Whatever ends it early leaves it to the next one.
        """
        self._fault_hook(FailPoint.INDEX_REFRESH)
        self._open.write(self._tip)
        return InSteps("refresh the index", self._refresh(), step_limit_s=self._step_limit_s)

    def _refresh(self) -> Steps[None]:
        changes = self._changes
        self.is_refreshing = True
        try:
            tip = (yield self._repository.start(*TIP)).decode().strip()
            if tip:
                yield from self._follow(tip)
            yield from self._tree.sync_beside()
            yield Syncing(self._sync_notes)
        finally:
            self.is_refreshing = False
        self._fault_hook(FailPoint.INDEX_REFRESHED)
        if self._kept is not None and self._kept.unsynced and self._kept.cone:
            self._kept = replace(self._kept, unsynced=())
            self._months_note.write(self._kept)
        if self._changes == changes:
            self.conversion.note_version(self._tip)
            self.needs_refresh = False
            self._open.remove()

    def _follow(self, tip: str) -> Steps[None]:
        if not (self._repository.git_path / "index").exists():
            self._thin_again()
        if self._repository.is_checked_out():
            self._files = yield from follow_branch(self._repository, tip, self._index_note, self._fault_hook)

    def start_repack(self, *, even_if_few: bool = False) -> Repack | None:
        """Begin to join packs, beside further commits. None when there are few, or few enough for their sizes."""
        self.packs = count_packs(self._repository)
        if not even_if_few and self.packs < MANY_PACKS:
            return None
        return start_repack(self._repository, self._fault_hook)

    @property
    def has_many_packs(self) -> bool:
        return self.packs >= MANY_PACKS

    def months_to_show(self, now: Micros, max_files: int, *, extra: str | None = None) -> KeptMonths | None:
        """The months that are to lie in the work tree from now on; None when what lies there is right.

        All do until the branch has more than `max_files` files. `extra` is to lie there in any case.
        Looks at the branch as of the last refresh.
        """
        kept = self._kept
        if not self._repository.is_checked_out() or (kept is None and self._files <= max_files):
            return None
        wanted = KeptMonths(months=months_around(now), extra=kept.extra if kept else ())
        wanted = wanted if extra is None else wanted.with_extra(extra)
        is_right = kept is not None and (kept.months, kept.extra) == (wanted.months, wanted.extra)
        return None if is_right and kept is not None and is_in_force(self._repository, kept) else wanted

    def count_month(self, month: str) -> int:
        """How many files the branch has of a month. Raises UnknownMonth for none."""
        return count_month(self._repository, month, is_empty=self.is_empty)

    def start_thinning(self, kept: KeptMonths) -> Thinning:
        """Let the work tree show `kept` and no other month. No refresh may run beside it; commits may."""
        self._note_change()
        self._kept = kept.after(self._kept)
        return Thinning(self._repository, self._months_note, self._kept, self._fault_hook)

    def end_thinning(self, *, is_done: bool) -> None:
        """The thinning has ended, done or not: note what the work tree shows. A refresh has to follow either way."""
        self._kept = self._months_note.read()
        self._tree.note_all()
        if not is_done:
            remove_leftovers(self._repository)
            self._index_note.unlink(missing_ok=True)
        elif self._was_cut_off and self._kept is not None:
            months = self._kept.unsynced
            restore_files(self._repository, self._tree, lambda path: month_of(path) in months)
            self._was_cut_off = False

    def figures(self) -> ArchiveFigures:
        """How large the archive is on disk now; its files are those of the last refresh."""
        self.packs = count_packs(self._repository)
        return figures_of(self._repository, packs=self.packs, files=self._files, is_thinned=self._kept is not None)

    def _shows(self, path: str) -> bool:
        return self._kept is None or self._kept.hold(path)

    def _note_late_files(self, files: Iterable[str]) -> None:
        """Files of a month that was put away: Git has to put them away too, once it has them in its index."""
        if not all(map(self._shows, files)):
            self._thin_again()

    def _thin_again(self) -> None:
        if self._kept is not None and self._kept.cone:
            self._kept = replace(self._kept, cone="")
            self._months_note.write(self._kept)

    def _mend(self) -> None:
        clear_up(self._repository, self._tree, self._open)
        # What the index holds now is not known: the next refresh compares all of it.
        self._index_note.unlink(missing_ok=True)
        self._was_cut_off = self._kept is not None and bool(self._kept.unsynced)
        self._thin_again()
        if self._tip is not None:
            restore_recent_files(self._repository, self._tree, self._tip, self._open.tip())
            # Of commits that were made long ago: after another loss of power nobody would look at them again.
            self._tree.sync(self._step_limit_s)

    def _show_all(self) -> None:
        """Somebody removed the folder, or put something in the way of files: they are written again as Git has them."""
        if self._repository.is_checked_out():
            self._open.write(self._tip)
            # Whatever ends this early: whoever opens it next does it again.
            self._blocked_note.touch()
            sync_each([self._blocked_note.parent])
            restore_files(self._repository, self._tree, self._shows)
            self._tree.sync(self._step_limit_s)
            self._index_note.unlink(missing_ok=True)
            self._note_blocked()

    def _note_blocked(self) -> None:
        if self.has_blocked:
            self._blocked_note.touch()
        else:
            self._blocked_note.unlink(missing_ok=True)

    def _note_change(self) -> None:
        """Before anything changes that only a refresh makes whole."""
        self._open.write(self._tip)
        self.needs_refresh = True
        self._changes += 1

    def _sync_notes(self) -> None:
        """The names of the index and of what is noted about it; the files themselves are on disk already."""
        sync_each([self._index_note, self._index_note.parent, self._repository.git_path])
