"""What queries and units of work are given: the nouns of the store over one connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from mcp_agent_mail.core.clock import Clock, Micros, system_clock
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.store.adoption import Adoption
from mcp_agent_mail.store.agents import Agents
from mcp_agent_mail.store.announcements import Announcements
from mcp_agent_mail.store.backfill import Backfill
from mcp_agent_mail.store.contacts import ContactHistory, Contacts
from mcp_agent_mail.store.doors.mailbox_reader import MailboxReader
from mcp_agent_mail.store.doors.pops import Pops
from mcp_agent_mail.store.doors.wire_ids import WireIds
from mcp_agent_mail.store.doors.wire_names import WireNames
from mcp_agent_mail.store.engine.expiry_clock import ExpiryClock
from mcp_agent_mail.store.engine.growth_limit import GrowthLimit
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.engine.sqlite.connection import tell_time
from mcp_agent_mail.store.engine.sqlite.migrate import require_same
from mcp_agent_mail.store.engine.sqlite.schema import open_own
from mcp_agent_mail.store.feed import Feed
from mcp_agent_mail.store.guard_events import GuardEvents
from mcp_agent_mail.store.idempotency import IdempotencyKeys
from mcp_agent_mail.store.importing.imported_records import Imported
from mcp_agent_mail.store.importing.past_records import PastTimes
from mcp_agent_mail.store.importing.unnoticed_changes import unnoticed
from mcp_agent_mail.store.issued_tokens import IssuedTokens
from mcp_agent_mail.store.join_codes import JoinCodes
from mcp_agent_mail.store.ladder import Ladder
from mcp_agent_mail.store.lease_holders import Holders
from mcp_agent_mail.store.leases import Leases
from mcp_agent_mail.store.mail.all_mail import AllMail
from mcp_agent_mail.store.mail.attachments import Attachments
from mcp_agent_mail.store.mail.deliveries import Deliveries
from mcp_agent_mail.store.mail.digests import Digests, LlmSpending
from mcp_agent_mail.store.mail.held_mail import Held
from mcp_agent_mail.store.mail.inboxes import Inboxes, Unread
from mcp_agent_mail.store.mail.messages import Messages
from mcp_agent_mail.store.mail.overdue_acks import Overdue
from mcp_agent_mail.store.mail.owed_acks import OwedCopies
from mcp_agent_mail.store.mail.past_mail import MailHistory
from mcp_agent_mail.store.mail.send_facts import SendFactsReader
from mcp_agent_mail.store.mail.thread_messages import ThreadMessages
from mcp_agent_mail.store.mail.threads import Threads
from mcp_agent_mail.store.meta import Meta
from mcp_agent_mail.store.outbox import Outbox
from mcp_agent_mail.store.oversight.contact_pages import ContactPages
from mcp_agent_mail.store.oversight.project_counts import ProjectCounts
from mcp_agent_mail.store.oversight.siblings import Siblings
from mcp_agent_mail.store.oversight.thread_members import ThreadMembers
from mcp_agent_mail.store.products import Products
from mcp_agent_mail.store.projects import Aliases, Projects
from mcp_agent_mail.store.retention import Retention
from mcp_agent_mail.store.web_sessions import WebSessions
from mcp_agent_mail.store.windows import Windows


class View:
    """The nouns, for reading. Over a read-only connection SQLite refuses every write."""

    now: Micros
    """When this read, or this unit of work, began: one time for all that it says and writes."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._clock = clock
        self.begin()
        tell_time(connection, lambda: self.now)
        self.projects = Projects(connection)
        self.aliases = Aliases(connection)
        self.adoption = Adoption(connection)
        self.products = Products(connection)
        self.project_counts = ProjectCounts(connection)
        self.siblings = Siblings(connection)
        self.thread_members = ThreadMembers(connection)
        self.agents = Agents(connection)
        self.join_codes = JoinCodes(connection)
        self.issued_tokens = IssuedTokens(connection)
        self.web_sessions = WebSessions(connection)
        self.windows = Windows(connection)
        self.messages = Messages(connection)
        self.attachments = Attachments(connection)
        self.threads = Threads(connection)
        self.thread_messages = ThreadMessages(connection)
        self.all_mail = AllMail(connection)
        self.past_mail = MailHistory(connection)
        self.inboxes = Inboxes(connection)
        self.unread = Unread(connection)
        self.send_facts = SendFactsReader(connection)
        self.overdue = Overdue(connection)
        self.owed_acks = OwedCopies(connection)
        self.retention = Retention(connection)
        self.contacts = Contacts(connection)
        self.contact_pages = ContactPages(connection)
        self.held = Held(connection)
        self.ladder = Ladder(connection)
        self.feed = Feed(connection)
        self.deliveries = Deliveries(connection)
        self.announcements = Announcements(connection)
        self.wire_names = WireNames(connection)
        self.wire_ids = WireIds(connection)
        self.pops = Pops(connection)
        self.imported = Imported(connection)
        self.mailboxes = MailboxReader(connection)
        self.acquaintance = ContactHistory(connection)
        self.leases = Leases(connection)
        self.guard_events = GuardEvents(connection)
        self.holders = Holders(connection)
        self.outbox = Outbox(connection)
        self.backfill = Backfill(connection)
        self.idempotency_keys = IdempotencyKeys(connection)
        self.digests = Digests(connection)
        self.llm_spending = LlmSpending(connection)
        self.meta = Meta(connection)

    def begin(self) -> None:
        """Set the time for the read or unit that begins."""
        self.now = self._clock()


@contextmanager
def open_view(path: Path, clock: Clock = system_clock) -> Iterator[View]:
    """One unchanging view of a store, over a connection of its own that cannot write: beside a server or without one.

    Raises StoreRefused for a store of another version, or of another program.
    """
    require_same(path)
    with closing(open_own(path)) as connection:
        connection.execute("BEGIN")
        yield View(connection, clock)


class Tx(View):
    """The nouns inside the writer's transaction. Without a `growth` limit the store may grow for ever.

    `expiries` are told of each copy that is stored with an end.
    """

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        growth: GrowthLimit | None = None,
        expiries: ExpiryClock | None = None,
    ) -> None:
        super().__init__(connection, clock)
        self.past_times = PastTimes(connection)
        self._connection = connection
        self._growth = growth
        self._expiries = expiries
        self._has_looked = False

    def unnoticed(self) -> AbstractContextManager[None]:
        """Within it mail is history that comes in: nobody is woken or told."""
        return unnoticed(self._connection)

    def note_expiry(self, at: Micros) -> None:
        """A copy was stored that expires at `at`."""
        if self._expiries is not None:
            self._expiries.note(at)

    def expire_due(self) -> list[MessageId]:
        """End unread copies whose time has passed, a bounded number; the messages that they are of. See
        `message_events`.
        """
        self._has_looked = True
        return self.ladder.expire_due(self.now)

    def committed(self) -> None:
        """What was done since the last call is on disk: only now may the process rely on it.

        Of a unit or a group that was rolled back the expiries know nothing: what was due still is.
        """
        if self._has_looked and self._expiries is not None:
            self._expiries.reset(self.ladder.earliest_expiry())
        self._has_looked = False

    def require_room(self) -> None:
        """Whatever adds what stays (mail, leases, agents, projects, links) says so with this before it does. Raises
        StoreTooLarge or DiskTooFull.

        What takes away, or only changes what is there, goes on however full the store is: marks, acknowledgements,
        releases, purges, and the notices of `System` that tell of those.
        """
        if self._growth is not None:
            self._growth.require()
