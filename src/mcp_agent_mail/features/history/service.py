"""Looks back for people: an archive's commits and files, a message's own file, an inbox at a past time, and what mail
was over time. Reads alone: nothing becomes read by them, and nobody active.

Git runs beside the event loop, on few threads and for a bounded time; one archive is looked at once at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from mcp_agent_mail.archive.history import FileHistory, FilePlace, HistoryEntry
from mcp_agent_mail.archive.reading.bounded_reader import TimeBudget
from mcp_agent_mail.archive.reading.browser import ArchiveReader, CommitChange, ShownFile, ShownFolder
from mcp_agent_mail.archive.repository import BRANCH
from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.errors import InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.core.ids import MOST_NUMBER, MessageId
from mcp_agent_mail.domain.archive_format.layout import mail_tail
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION, OLDEST_VERSION
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.identity.readership import READING_MAIL, require_to_read
from mcp_agent_mail.domain.messages import MessageHead, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.history.past_inboxes import GIT_S, NeedsGit, StorePlaces, read_past_inbox
from mcp_agent_mail.features.history.results import PastDays, PastInbox
from mcp_agent_mail.features.history.untold_lines import Untold, change_without, entry_without, find_untold
from mcp_agent_mail.features.messaging.read import InboxListing, SeenMessage, read_inbox, read_message
from mcp_agent_mail.features.messaging.requests import InboxRequest, MessageRequest
from mcp_agent_mail.features.messaging.visibility import open_inbox
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.past_mail import DAY, MailPair
from mcp_agent_mail.store.transaction import View

T = TypeVar("T")

MOST_RAW_BYTES = 16 * 1024 * 1024
MOST_DAYS = 60
MOST_PAIRS = 200
MOST_NAMES = 200

_ACT = "Looking back"
_THREADS = 2
_WITHIN_S = 20.0
"""For one look: its runs of Git, which have GIT_S all together from when it was asked for, end before it. So those who
wait for their turn there are told in that time too.
"""


class NotArchivedYet(NotFound):
    """Git has yet to get the message."""


class RawTooLarge(InvalidInput):
    """The archive's file of a message has more than MOST_RAW_BYTES."""


class NotOpenToAll(PermissionDenied):
    """The archive's file says what some of those do not see who see the message."""


class HistoryService:
    """`places` is where the store keeps its archives, `database` its mail. `close` by the looks."""

    def __init__(self, store: Store, *, places: StorePlaces, clock: Clock) -> None:
        self._store = store
        self._places = places
        self._clock = clock
        self.looks = Looks(threads=_THREADS, within_s=_WITHIN_S, subject="an archive")
        self._mail_looks = Looks(threads=_THREADS, within_s=_WITHIN_S, subject="a project")

    def all_looks(self) -> list[Looks]:
        """At archives, and at the mail of projects, which no archive that hangs holds up."""
        return [self.looks, self._mail_looks]

    async def commits(self, caller: Caller, project: Project, *, after: str | None, limit: int) -> list[HistoryEntry]:
        """The newest `limit` commits of a project's archive, or those after this one, newest first; without what they
        say of mail that the caller may not see.
        """
        require_to_read(caller, project, _ACT)
        found = await self._browsed(project, lambda browser: browser.commits(after=after, limit=limit))
        untold = await self._untold(caller, project, [one.hexsha for one in found])
        return [entry_without(one, untold) for one in found]

    async def change(self, caller: Caller, project: Project, hexsha: str) -> CommitChange:
        """A commit; for the operator with files and what changed in them, which tell of blind copies too, for others
        without what it says of mail that they may not see.
        """
        require_to_read(caller, project, _ACT)
        with_files = caller.is_operator
        found = await self._browsed(project, lambda browser: browser.change(hexsha, with_files=with_files))
        return change_without(found, await self._untold(caller, project, [found.entry.hexsha]))

    async def look(self, caller: Caller, project: Project, path: str, *, skip: int = 0) -> ShownFolder | ShownFile:
        """A folder behind its first `skip` entries, or a file, as the archive has it now, for the operator: blind
        copies and private mail lie there.
        """
        require_operator(caller)
        return await self._browsed(project, lambda browser: browser.look(path, skip=skip))

    async def days(self, caller: Caller, project: Project) -> PastDays:
        """How many messages and commits there were on each of the last MOST_DAYS days, UTC."""
        require_to_read(caller, project, _ACT)
        last = self._clock() // DAY
        since = Micros((last - MOST_DAYS + 1) * DAY)
        mail = await self._store.read(lambda view: view.past_mail.days(project.id, since, MOST_DAYS))
        times = await self._browsed(project, lambda browser: browser.times(since))
        messages = {one.day: one.messages for one in mail}
        commits: dict[int, int] = {}
        for ts in times:
            commits[ts // DAY] = commits.get(ts // DAY, 0) + 1
        days = range(last - MOST_DAYS + 1, last + 1)
        return PastDays(
            first_day=days[0],
            messages=tuple(messages.get(day, 0) for day in days),
            commits=tuple(commits.get(day, 0) for day in days),
        )

    async def pairs(self, caller: Caller, project: Project) -> Sequence[MailPair]:
        """Who wrote to whom, most first, without blind copies; at most MOST_PAIRS."""
        require_to_read(caller, project, READING_MAIL)
        return await self._store.read(lambda view: view.past_mail.pairs(project.id, MOST_PAIRS))

    async def carriers(
        self, caller: Caller, project: Project, *, before: MessageId | None, limit: int
    ) -> Sequence[MessageHead]:
        """The project's mail that carries attachments, below the message `before`, newest first."""
        require_to_read(caller, project, READING_MAIL)
        below = MessageId(MOST_NUMBER) if before is None else before
        return await self._store.read(lambda view: view.past_mail.carriers(project.id, below, limit))

    async def names(self, project: Project) -> Sequence[str]:
        """Of the project's agents, last active first."""
        return await self._store.read(lambda view: view.agents.names(project.id, limit=MOST_NAMES))

    async def inbox(self, caller: Caller, request: InboxRequest) -> InboxListing:
        """As `fetch_inbox` lists it, but that it counts as no visit of the agent: its mail is no more handed over, and
        it no more active.
        """
        return await self._store.read(lambda view: read_inbox(view, caller, request))

    async def past_inbox(
        self, caller: Caller, project: Project, agent_name: str, *, at: Micros, limit: int
    ) -> PastInbox:
        """An agent's inbox as it was at a time, for those who may open it. Its archive is looked at only for what the
        store has no more.
        """
        opened = await self._store.read(lambda view: open_inbox(view, caller, agent_name, project.human_key))
        within = TimeBudget(GIT_S)

        def read(*, with_git: bool) -> PastInbox:
            with self._store.view_aside() as view:
                return read_past_inbox(
                    view,
                    opened.agent,
                    opened.project,
                    self._places,
                    at=at,
                    limit=limit,
                    with_git=with_git,
                    within=within,
                )

        try:
            return await self._mail_looks.look(project.slug, lambda: read(with_git=False))
        except NeedsGit:
            return await self.looks.look(str(self._places.archive(project)), lambda: read(with_git=True))

    async def raw_message(self, caller: Caller, project: Project, message_id: MessageId) -> bytes:
        """The file that the sender's archive has of a message, for those who see all that it says. Raises
        UnknownMessage, NotOpenToAll, NotArchivedYet, RawTooLarge.
        """

        def look(view: View) -> tuple[SeenMessage, Project]:
            request = MessageRequest(message_id=message_id, project_key=project.human_key)
            seen = read_message(view, caller, request)
            home = view.projects.find(seen.message.project_id)
            assert home is not None
            return seen, home

        seen, home = await self._store.read(look)
        if not caller.is_operator:
            _require_open(seen)
        message = seen.message
        snapshot = {"created_ts": message.created_ts, "id": message.id, "subject": message.subject}
        versions = range(FORMAT_VERSION, OLDEST_VERSION - 1, -1)
        places = [FilePlace(BRANCH, f"messages/{mail_tail(snapshot, version)}") for version in versions]
        archive = self._places.archive(home)
        within = TimeBudget(GIT_S)
        return await self.looks.look(str(archive), lambda: _read_raw(archive, places, message_id, within))

    async def _untold(self, caller: Caller, project: Project, hexshas: Sequence[str]) -> Untold:
        """Nothing is hidden from the operator."""
        if caller.is_operator:
            return {}
        return await self._store.read(lambda view: find_untold(view, caller, project, hexshas))

    async def _browsed(self, project: Project, look: Callable[[ArchiveReader], T]) -> T:
        path, within = self._places.archive(project), TimeBudget(GIT_S)
        return await self.looks.look(str(path), lambda: look(ArchiveReader(path, within=within)))


def _require_open(seen: SeenMessage) -> None:
    """The file names those whose copies were held, and has the text of what was withdrawn."""
    copies = [one for one in seen.recipients if one.kind != RecipientKind.BCC]
    is_open = all(one.held_code is None and one.withdrawn_seq is None for one in copies)
    if not is_open or seen.message.terms.withdrawn_ts is not None:
        raise NotOpenToAll(
            "The archive's file tells of held or withdrawn copies: it is the operator's to read.",
            hint="Sign in as the operator: am web",
            data={"message_id": seen.message.id},
        )


def _read_raw(archive: Path, places: Sequence[FilePlace], message_id: MessageId, within: TimeBudget) -> bytes:
    files = FileHistory(archive, timeout_s=GIT_S, within=within)
    found = files.find(places)
    if not found:
        raise NotArchivedYet(
            f"The archive has no file of message {message_id} yet.",
            hint="It comes with the next commit, within seconds; `am status` says whether the archive has caught up.",
            data={"message_id": message_id},
        )
    if found[0].size_bytes > MOST_RAW_BYTES:
        raise RawTooLarge(
            f"The archive's file of message {message_id} has {found[0].size_bytes:,} bytes.",
            hint=f"More than {MOST_RAW_BYTES:,} are not shown here: read it in {archive} with git show.",
        )
    return files.read(found[0])
