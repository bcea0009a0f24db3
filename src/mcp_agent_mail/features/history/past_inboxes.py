"""An agent's inbox as it was at a time: what had been delivered, what had been read and acknowledged by then."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.history import FileHistory, FilePlace, FoundFile
from mcp_agent_mail.archive.reading.bounded_reader import ArchiveNotFound, ArchiveUnreadable, TimeBudget
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedMail
from mcp_agent_mail.domain.archive_format.layout import mail_tail
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION, OLDEST_VERSION
from mcp_agent_mail.domain.attachments import StoredContent, to_json
from mcp_agent_mail.domain.messages import (
    MAX_BODIES_BYTES,
    InboxEntry,
    InlineContents,
    MessageHead,
    escaped_bytes,
    inline_that_fits,
)
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.protocol import archive_path
from mcp_agent_mail.features.history.results import MissingText, PastInbox, RecoveredText
from mcp_agent_mail.features.messaging.read import load_bodies
from mcp_agent_mail.store.mail.inboxes import InboxPage
from mcp_agent_mail.store.transaction import View

_COMMITS_LOOKED_AT = 20
"""The newest of those that wrote a message: the purge, and before it the last that had the text."""
GIT_S = 10.0
"""For one run of Git; a past inbox may need one or two for each message that was purged. A page's have no more all
together.
"""
_FRONT_BYTES = 4 * 1024 * 1024
"""What may stand above a body: the names of some thousand recipients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlaces:
    """The folder in which a store keeps its archives and its attachments."""

    storage_root: Path

    def archive(self, project: Project) -> Path:
        return archive_path(self.storage_root, project.slug)

    def contents(self) -> AttachmentFiles:
        return AttachmentFiles(self.storage_root / ATTACHMENTS_FOLDER)


class NeedsGit(Exception):
    """A text that was purged since is in Git alone."""


def read_past_inbox(
    view: View,
    agent: Agent,
    project: Project,
    places: StorePlaces,
    *,
    at: Micros,
    limit: int,
    with_git: bool = True,
    within: TimeBudget | None = None,
) -> PastInbox:
    """The newest `limit` of what had been delivered to the agent `at` that time, with bodies, 2 MiB of them at most.
    A message that was purged since has its text from Git; one that was purged by then is the tombstone that it was.
    Raises ArchiveSilent for a Git that hangs, ArchiveReadTooLong for one that needs more than is left of `within`;
    without `with_git` NeedsGit where one would have to be asked.
    """
    to_seq = view.inboxes.seq_until(agent.id, at)
    page = InboxPage(limit=limit, to_seq=to_seq, seen_to_seq=to_seq)
    entries = [_as_of(entry, at) for entry in view.inboxes.page(agent.id, page)]
    purged = _purged_after(view, entries, at)
    if purged and not with_git:
        raise NeedsGit
    bodies = load_bodies(view, (one.head for one in entries if one.head.id not in purged))
    room = MAX_BODIES_BYTES - sum(map(escaped_bytes, bodies.values()))
    texts = _RecoveredTexts(view, agent, project, places, room=room, within=within)
    found = {one.head.id: texts.read(one.head) for one in entries if one.head.id in purged}
    bodies |= {message_id: text.body_md for message_id, text in found.items() if isinstance(text, ArchivedMail)}
    entries = [_with_attachments(one, found.get(one.head.id)) for one in entries]
    return PastInbox(
        agent=agent,
        project=project,
        at=at,
        entries=entries,
        bodies=bodies,
        inline=_inline(places.contents(), [one.head for one in entries], bodies),
        purged={message_id: _recovered(ts, found[message_id]) for message_id, ts in purged.items()},
    )


def _purged_after(view: View, entries: Iterable[InboxEntry], at: Micros) -> dict[MessageId, Micros]:
    """When those were purged that still had their text at the time."""
    purged = {entry.head.id: view.messages.purged_ts(entry.head.id) for entry in entries}
    return {message_id: ts for message_id, ts in purged.items() if ts is not None and ts > at}


def _recovered(purged_ts: Micros, found: ArchivedMail | MissingText | None) -> RecoveredText:
    return RecoveredText(purged_ts=purged_ts, missing=found if isinstance(found, MissingText) else None)


def _as_of(entry: InboxEntry, at: Micros) -> InboxEntry:
    return entry._replace(
        read_ts=_until(entry.read_ts, at),
        ack_ts=_until(entry.ack_ts, at),
        expired_ts=_until(entry.expired_ts, at),
        withdrawn_ts=_until(entry.withdrawn_ts, at),
        superseded_by=None,
    )


def _until(ts: Micros | None, at: Micros) -> Micros | None:
    return None if ts is None or ts > at else ts


def _with_attachments(entry: InboxEntry, text: ArchivedMail | MissingText | None) -> InboxEntry:
    """A purge takes what a message carried; Git knows."""
    if not isinstance(text, ArchivedMail):
        return entry
    return entry._replace(head=entry.head._replace(attachments=to_json(text.attachments)))


class _RecoveredTexts:
    """Texts of messages from the history of the sender's archive, else of the reader's; `room` bytes of them."""

    def __init__(
        self,
        view: View,
        agent: Agent,
        project: Project,
        places: StorePlaces,
        *,
        room: int,
        within: TimeBudget | None = None,
    ) -> None:
        self._view = view
        self._agent = agent
        self._project = project
        self._places = places
        self._room = room
        self._within = within

    def read(self, head: MessageHead) -> ArchivedMail | MissingText | None:
        """None where there is no room for it any more."""
        missing = MissingText.NOT_IN_ARCHIVE
        for project, folder in self._archives(head):
            try:
                mail = self._read_from(project, folder, head)
            except (ArchiveNotFound, ArchiveUnreadable, ArchiveRefused):
                missing = MissingText.NO_ARCHIVE
                continue
            if mail is not MissingText.NOT_IN_ARCHIVE:
                return mail
        return missing

    def _archives(self, head: MessageHead) -> Sequence[tuple[Project, str]]:
        sender = self._view.projects.find(head.project_id)
        assert sender is not None
        canonical = (sender, "messages")
        own = (self._project, f"agents/{self._agent.name}/inbox")
        return (canonical,) if sender.id == self._project.id else (canonical, own)

    def _read_from(self, project: Project, folder: str, head: MessageHead) -> ArchivedMail | MissingText | None:
        commits = self._view.outbox.commits_of_mail(project.id, head.id, _COMMITS_LOOKED_AT)
        snapshot = {"created_ts": head.created_ts, "id": head.id, "subject": head.subject}
        versions = {f"{folder}/{mail_tail(snapshot, one)}": one for one in range(OLDEST_VERSION, FORMAT_VERSION + 1)}
        files = FileHistory(self._places.archive(project), timeout_s=GIT_S, within=self._within)
        for file in files.find([FilePlace(hexsha, path) for hexsha in commits for path in versions]):
            if file.size_bytes > self._room + _FRONT_BYTES:
                return None
            mail = _parsed(file, files.read(file), versions[file.place.path])
            if mail is not None and mail.purged_ts is None:
                return self._within_room(mail)
        return MissingText.NOT_IN_ARCHIVE

    def _within_room(self, mail: ArchivedMail) -> ArchivedMail | None:
        size = escaped_bytes(mail.body_md)
        if size > self._room:
            return None
        self._room -= size
        return mail


def _parsed(file: FoundFile, content: bytes, version: int) -> ArchivedMail | None:
    # In a thread: a start needs none of what reads files of archives.
    from mcp_agent_mail.domain.archive_format.parse.files import UnreadableArtifact, parse_file  # noqa: PLC0415

    try:
        mail = parse_file(file.place.path, content, version)
    except UnreadableArtifact:
        return None
    return mail if isinstance(mail, ArchivedMail) else None


def _inline(files: AttachmentFiles, heads: Sequence[MessageHead], bodies: dict[MessageId, str]) -> InlineContents:
    wanted = inline_that_fits(heads, bodies)
    return {message_id: _encoded(files, contents) for message_id, contents in wanted.items()}


def _encoded(files: AttachmentFiles, contents: Iterable[StoredContent]) -> dict[str, str]:
    """What is gone, or is not what it was, is left out."""
    found = {}
    for content in contents:
        with suppress(OSError), files.open(content.sha256) as file:
            data = file.read(content.bytes + 1)
            if len(data) == content.bytes:
                found[content.sha256] = b64encode(data).decode()
    return found
