"""Keeps the pages of one archive's threads: which are due, when they are written, and what is noted of it.

Pages are written in rounds, at least a minute apart, so that a thread is written once a minute at most however much
mail it gets. A round comes with the next commit of mail, else in a commit of its own; what came in meanwhile is the
next one's. Nothing waits for them: what fails here is told and tried again, and mail goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from mcp_agent_mail.archive.notes.thread_pages import begun_at, has_pages, read_thread_note, write_thread_note
from mcp_agent_mail.archive.repository import SealedCommit
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import MessageId, OutboxSeq
from mcp_agent_mail.domain.archive_format.commit_message import pages_text
from mcp_agent_mail.domain.archive_format.thread_pages import page_path
from mcp_agent_mail.domain.events import EventKind, OutboxEvent
from mcp_agent_mail.features.archiving.archives import ArchiveState, FailureReporter
from mcp_agent_mail.features.archiving.committer_context import CommitterContext
from mcp_agent_mail.features.archiving.protocol import place_in

ROUND_EVERY = 60 * SECOND
MOST_DUE = 1_000
"""Threads of one round. Further ones are looked for when it is over."""

MOST_BYTES = 2 * 1024 * 1024
"""Of pages in one commit, which mail waits for; one page at least."""

_LOOKED_AT_ONCE = 500


class PageRounds:
    """Of one archive. All events up to `_seen` are either told of in pages or their threads are in `_round`, which is
    being written, or in `_due`, for the round after it.
    """

    def __init__(
        self,
        archive: ArchiveState,
        shared: CommitterContext,
        troubles: FailureReporter,
        *,
        report_commit: Callable[[SealedCommit], None],
    ) -> None:
        self._archive = archive
        self._shared = shared
        self._troubles = troubles
        self._report_commit = report_commit
        self._note = begun_at(OutboxSeq(0))
        self._seen = OutboxSeq(0)
        self._due: dict[str, None] = {}
        self._round: list[str] | None = None
        self._round_seq = OutboxSeq(0)
        self._taken = 0
        self._has_pages = False
        self._noted = Micros(0)
        self._last: SealedCommit | None = None

    @property
    def _place(self) -> Path:
        return place_in(self._shared.plan.projects_path, self._archive.project.slug)

    @property
    def are_due(self) -> bool:
        """Is there mail in Git of which the pages do not tell?"""
        return self._round is not None or bool(self._due) or self._seen < self._archive.reported

    @property
    def not_before(self) -> Micros:
        """When the next round may begin: now, after a clock that was set back."""
        return Micros(0 if self._note.at > self._shared.clock() else self._note.at + ROUND_EVERY)

    def open(self) -> None:
        """The archive was opened: go on from what is noted there. Where nothing is and there is no page, pages begin
        with what comes from now on; what pages without a note tell of is not known, so all are due.
        """
        reported = self._archive.reported
        note = read_thread_note(self._place)
        if note is None:
            note = begun_at(OutboxSeq(0) if has_pages(self._place) else reported)
            write_thread_note(self._place, note)
        elif note.written.seq > reported:
            # The branch was set back, or is an older copy: what its pages tell of is not known.
            note = begun_at(OutboxSeq(0))
        self._note, self._seen, self._last = note, note.written.seq, None
        self._due.clear()
        self._round, self._taken = None, 0

    def along_with(self, events: Sequence[OutboxEvent]) -> dict[str, bytes | None]:
        """Pages to be written in the commit of these events; None for one of a thread that has no mail any more. Raises
        nothing: mail goes without them at need.
        """
        if self._archive.pages.wait(self._shared.clock()):
            return {}
        try:
            self._note_events(events)
            if self._shared.clock() >= self.not_before:
                self._begin_round(events[-1].seq)
            pages = self._take()
        except Exception as error:  # noqa: BLE001  # a fault of ours, too, keeps no mail out of Git
            self._taken = 0
            self._troubles.fail(self._archive, self._archive.pages, error)
            return {}
        return pages

    def note_commit(self, sealed: SealedCommit) -> None:
        """What was taken last is in this commit."""
        self._last = sealed
        if self._round is None:
            return
        del self._round[: self._taken]
        self._taken = 0
        if not self._round:
            self._end_round(sealed)
        self._troubles.recover(self._archive, self._archive.pages)

    def note_all_written(self, sealed: SealedCommit) -> None:
        """This commit has all pages as they are now."""
        self._due.clear()
        self._round, self._taken, self._last = None, 0, sealed
        self._seen = sealed.last_seq
        self._note = begun_at(OutboxSeq(0)).after(sealed.last_seq, sealed.hexsha, self._shared.clock())
        write_thread_note(self._place, self._note)

    def step(self) -> float | None:
        """Write what is due, some of it at once; seconds until there is more to do, None until mail comes."""
        if self._archive.writer is None or not self.are_due:
            return None
        now = self._shared.clock()
        due = self._archive.commit.due if self._round is not None else self.not_before
        wait = max(due - now, self._archive.pages.wait(now))
        if wait > 0:
            return min(wait, ROUND_EVERY) / SECOND
        is_more = self._write()
        return max(self._archive.commit.due - now, self._archive.pages.wait(now), 0) / SECOND if is_more else None

    def finish(self, until: Micros) -> None:
        """Write all that is due, without pauses, for so long; the next start goes on with what is left."""
        while self._archive.writer is not None and self.are_due and self._shared.clock() < until:
            self._write()
            if self._archive.pages.failures:
                return
        if self._last is not None and not self.are_due and self._note.written.seq < self._seen:
            self._note_written(self._seen, self._last, self._note.at)

    def _write(self) -> bool:
        """Write the next of what is due, in a commit of its own; whether there is more."""
        writer = self._archive.writer
        assert writer is not None
        try:
            self._begin_round(self._archive.reported)
            pages = self._take()
            changed = writer.changed(pages)
            if changed:
                text = pages_text(len(changed), self._archive.reported)
                now = self._shared.clock()
                sealed: SealedCommit | None = writer.commit(changed, text, now)
                # The pace is that of all commits.
                self._archive.commit.due = Micros(max(self._archive.commit.due, now + self._shared.plan.interval))
            else:
                # Whoever wrote them was ended before it could say so.
                sealed = self._last or writer.newest_sealed()
            assert sealed is not None, "events were reported, so there is a commit"
            if sealed is not self._last:
                self._report_commit(sealed)
            self.note_commit(sealed)
        except Exception as error:  # noqa: BLE001  # a fault of ours, too, is this archive's alone
            self._taken = 0
            self._troubles.fail(self._archive, self._archive.pages, error)
        return self.are_due

    def _note_events(self, events: Sequence[OutboxEvent]) -> None:
        """Whose threads are due because of events that are about to be committed. Where there are too many, or some
        before them were not looked at, they are looked for when the next round begins.
        """
        if self._seen != self._archive.reported or len(self._due) + len(events) > MOST_DUE:
            return
        self._add([MessageId(event.snapshot["id"]) for event in events if event.kind is EventKind.MAIL])
        self._seen = events[-1].seq

    def _begin_round(self, up_to: OutboxSeq) -> None:
        if self._round is not None:
            return
        while self._seen < up_to and len(self._due) < MOST_DUE:
            with self._shared.pages() as pages:
                found, seen = pages.mail_since(self._archive.project.id, self._seen, up_to, limit=_LOOKED_AT_ONCE)
            self._add(found)
            self._seen = seen
        if self._due or self._seen < up_to or not 0 <= self._shared.clock() - self._noted < ROUND_EVERY:
            self._round, self._round_seq, self._due = list(self._due), self._seen, {}
            self._has_pages = bool(self._round)

    def _add(self, message_ids: Sequence[MessageId]) -> None:
        if message_ids:
            with self._shared.pages() as pages:
                self._due.update(dict.fromkeys(pages.about(self._archive.project.id, message_ids)))

    def _take(self) -> dict[str, bytes | None]:
        """The next pages of the round, as the store has them now; None where all mail of a thread was withdrawn."""
        taken: dict[str, bytes | None] = {}
        size = self._taken = 0
        for thread_id in self._round or ():
            with self._shared.pages() as pages:
                page = pages.render(self._archive.project.id, thread_id)
            if page is not None and taken and size + len(page) > MOST_BYTES:
                break
            self._taken += 1
            taken[page_path(thread_id)] = page
            size += len(page or b"")
        return taken

    def _end_round(self, sealed: SealedCommit) -> None:
        """Noted of a round without pages too, now and then: what is looked at after a stop stays short."""
        self._round = None
        self._noted = self._shared.clock()
        self._note_written(self._round_seq, sealed, self._noted if self._has_pages else self._note.at)

    def _note_written(self, seq: OutboxSeq, sealed: SealedCommit, at: Micros) -> None:
        self._note = self._note.after(seq, sealed.hexsha, at)
        write_thread_note(self._place, self._note)
