"""Everything an archive should hold, read from one unchanging view of the store: for checks.

Events still pending are told apart, since Git does not have to know them yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, OutboxSeq, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.layout import Snapshot
from mcp_agent_mail.domain.contacts import Contact
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.domain.importing.taken_records import ImportUnit
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.messages import Message, Receipt, ReceiptStep, Recipient
from mcp_agent_mail.domain.overdue_notices import NotedMessage
from mcp_agent_mail.domain.products import ProductLink
from mcp_agent_mail.domain.project_identity import slug_alias
from mcp_agent_mail.domain.projects import Project, StoredAlias, is_slug
from mcp_agent_mail.store.agents import Agents
from mcp_agent_mail.store.contacts import Contacts
from mcp_agent_mail.store.doors.profiles import profile_of
from mcp_agent_mail.store.doors.wire_names import WireNames
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.engine.sqlite.schema import open_own, require_own_tables
from mcp_agent_mail.store.importing.imported_records import Imported
from mcp_agent_mail.store.leases import Leases
from mcp_agent_mail.store.mail.messages import Messages
from mcp_agent_mail.store.mail.overdue_acks import Overdue
from mcp_agent_mail.store.mail.thread_pages import ThreadPages
from mcp_agent_mail.store.meta import Meta
from mcp_agent_mail.store.outbox import Outbox
from mcp_agent_mail.store.products import Products
from mcp_agent_mail.store.projects import Aliases, Projects

_AT_ONCE = 500
_MESSAGES = "SELECT id FROM messages WHERE id > ? ORDER BY id LIMIT ?"
_AGENTS = "SELECT id FROM agents WHERE id > ? ORDER BY id LIMIT ?"
_PENDING_MAIL = """
    SELECT project_id, message_id FROM outbox INDEXED BY outbox_message
    WHERE message_id BETWEEN ? AND ? AND kind = 'mail' AND commit_id IS NULL
"""
_PENDING_FILES = """
    SELECT DISTINCT json_extract(snapshot, '$.id') FROM outbox INDEXED BY outbox_oldest
    WHERE commit_id IS NULL AND kind = ?
"""
_PENDING_LEASES = """
    SELECT json_extract(snapshot, '$.id'), json_extract(snapshot, '$.lapsed_ts')
    FROM outbox INDEXED BY outbox_oldest WHERE commit_id IS NULL AND kind = ?
"""
_PENDING_BY_PROJECT = """
    SELECT DISTINCT project_id, json_extract(snapshot, '$.id') FROM outbox INDEXED BY outbox_oldest
    WHERE commit_id IS NULL AND kind = ?
"""
_STALE_ALIASES = "SELECT project_id FROM stale_aliases"
_UNQUEUED_NOTICES = "SELECT message_id FROM unqueued_notices"
_CONTENTS = "SELECT DISTINCT sha256 FROM content_messages WHERE sha256 > ? ORDER BY sha256 LIMIT ?"
_KEPT_CONTENTS = """
    SELECT p.sha256, max(p.bytes) FROM project_contents p
    WHERE EXISTS (SELECT 1 FROM content_messages c WHERE c.sha256 = p.sha256)
    GROUP BY p.sha256 ORDER BY p.sha256
"""
_PENDING_REMOVALS = """
    SELECT project_id, json_extract(snapshot, '$.freed') FROM outbox INDEXED BY outbox_oldest
    WHERE commit_id IS NULL AND kind IN ('mail', 'project') AND json_extract(snapshot, '$.freed') IS NOT NULL
"""
_RECEIPTS = """
    SELECT o.project_id, o.commit_id, c.last_seq, o.seq, o.created_ts, o.message_id, o.agent_id, a.name, o.step,
           CASE o.step WHEN 'read' THEN r.read_ts ELSE r.ack_ts END, o.is_blind
    FROM outbox o JOIN agents a ON a.id = o.agent_id JOIN commits c ON c.id = o.commit_id
    LEFT JOIN recipients r ON r.message_id = o.message_id AND r.agent_id = o.agent_id
    WHERE o.kind = 'receipt' AND o.commit_id IS NOT NULL
    ORDER BY o.seq
"""
_NEWEST_MAIL = "SELECT max(created_ts) FROM messages"
_COUNTS = "SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM agents)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedReceipt:
    """A receipt in Git, in the batch of commit `commit_id` that ends with `last_seq`. Time 0: the store has lost it."""

    project_id: ProjectId
    commit_id: int
    last_seq: OutboxSeq
    seq: OutboxSeq
    created_ts: Micros
    receipt: Receipt


class Artifacts:
    """One read transaction: whatever is written meanwhile, all answers belong together."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._messages = Messages(connection)
        self._agents = Agents(connection)
        self._wire_names = WireNames(connection)
        self._projects = Projects(connection)
        self._leases = Leases(connection)
        self._contacts = Contacts(connection)
        self._products = Products(connection)
        self._imported = Imported(connection)
        self._aliases = Aliases(connection)
        self._overdue = Overdue(connection)
        self.outbox = Outbox(connection)
        self.pages = ThreadPages(connection)
        self._meta = Meta(connection)
        self.store_id = self._meta.store_id()
        self.schema_version = self._meta.schema_version()

    def projects(self) -> Iterator[Project]:
        """All projects, those set aside too, by id; read in pages."""
        after = 0
        while page := self._projects.list_(include_archived=True, limit=_AT_ONCE, after_id=after):
            yield from page
            after = page[-1].id

    def knows(self, slug: str) -> bool:
        """Is it the slug of a project, or of one that has become part of another? Whatever a folder is called."""
        return is_slug(slug) and self._is_taken(slug)

    def _is_taken(self, slug: str) -> bool:
        return self.find_project(slug) is not None or self._aliases.find(slug_alias(slug)) is not None

    def find_project(self, slug: str) -> Project | None:
        return self._projects.find_by_slug(slug)

    def aliases(self, project: Project) -> list[StoredAlias]:
        """The aliases that stand in the project's own file."""
        return self._aliases.archived(project.id)

    def newest_mail(self) -> Micros | None:
        """When the newest message was sent."""
        (newest,) = self._connection.execute(_NEWEST_MAIL).fetchone()
        return None if newest is None else Micros(newest)

    def counts(self) -> tuple[int, int]:
        """How many messages there are, and how many agents."""
        messages, agents = self._connection.execute(_COUNTS).fetchone()
        return messages, agents

    def has_lost_tokens(self) -> bool:
        """Was it made of archives alone, and has an agent of that time got no token since?"""
        return self._meta.has_lost_tokens()

    def agents(self) -> Iterator[Agent]:
        """The agents of all projects, retired ones too, by id; one at a time."""
        for agent_id in self._ids(_AGENTS):
            agent = self._agents.find(AgentId(agent_id))
            assert agent is not None, agent_id
            yield agent

    def profile(self, agent: Agent) -> Snapshot:
        """What the agent's file is made of."""
        return profile_of(self._agents, self._wire_names, agent)

    def pending_profiles(self) -> set[int]:
        """Ids of agents whose profile is about to be written again."""
        return self._pending_files(EventKind.PROFILE)

    def pending_projects(self) -> set[int]:
        """Ids of projects whose own file is about to be written again."""
        stale = {number for (number,) in self._connection.execute(_STALE_ALIASES)}
        return self._pending_files(EventKind.PROJECT) | stale

    def overdue_notices(self) -> Iterator[NotedMessage]:
        yield from self._overdue.each_noted()

    def pending_notices(self) -> set[int]:
        """Messages whose overdue notice is about to be written, or to be queued."""
        unqueued = {number for (number,) in self._connection.execute(_UNQUEUED_NOTICES)}
        return self._pending_files(EventKind.OVERDUE) | unqueued

    def leases(self, project: Project, kind: LeaseKind) -> Iterator[Lease]:
        return self._leases.each(project.id, kind)

    def pending_leases(self, kind: EventKind) -> dict[int, set[Micros]]:
        """Ids of leases whose file is about to be written again or moved, with the times of ends taken back."""
        found: dict[int, set[Micros]] = {}
        for lease_id, lapsed_ts in self._connection.execute(_PENDING_LEASES, (kind.value,)):
            found.setdefault(lease_id, set()).update(() if lapsed_ts is None else (Micros(lapsed_ts),))
        return found

    def contacts(self) -> Iterator[Contact]:
        yield from self._contacts.each()

    def pending_contacts(self) -> set[tuple[int, int]]:
        """Project and id of links whose file is about to be written again there."""
        return self._pending_by_project(EventKind.CONTACT)

    def product_links(self) -> Iterator[ProductLink]:
        yield from self._products.each_link()

    def pending_products(self) -> set[tuple[int, int]]:
        """Project and id of products whose file is about to be written there."""
        return self._pending_by_project(EventKind.PRODUCT)

    def imports(self) -> Iterator[ImportUnit]:
        yield from self._imported.each()

    def pending_imports(self) -> set[tuple[int, int]]:
        """Project and number of units of imports whose file is about to be written there."""
        return self._pending_by_project(EventKind.IMPORT)

    def messages(self) -> Iterator[tuple[Message, list[Recipient], set[int]]]:
        """Each message with its recipients and the ids of projects whose archive does not have it yet, or not yet as it
        is now.
        """
        pending: dict[int, set[int]] = {}
        last = 0
        for message_id in self._ids(_MESSAGES):
            if message_id > last:
                last = message_id + _AT_ONCE
                pending = self._pending_mail(message_id, last)
            message = self._messages.find(MessageId(message_id))
            assert message is not None, message_id
            yield message, self._messages.recipients(message.id), pending.get(message_id, set())

    def contents(self) -> Iterator[str]:
        """The SHA-256 of everything that mail carries, in their order."""
        after = ""
        while rows := self._connection.execute(_CONTENTS, (after, _AT_ONCE)).fetchall():
            yield from (sha256 for (sha256,) in rows)
            (after,) = rows[-1]

    def content_sizes(self) -> Iterator[tuple[str, int]]:
        """The SHA-256 of what archives are to have of all that mail carries, in their order, with its bytes."""
        yield from self._connection.execute(_KEPT_CONTENTS)

    def pending_removals(self) -> Iterator[tuple[ProjectId, str]]:
        """Paths, by project, of what its archive may still have and is about to keep no longer."""
        for project_id, paths in self._connection.execute(_PENDING_REMOVALS):
            for path in json.loads(paths):
                yield ProjectId(project_id), path

    def receipts(self) -> Iterator[SealedReceipt]:
        """The receipts that are in Git, in the order they were queued."""
        for row in self._connection.execute(_RECEIPTS):
            project_id, commit_id, last_seq, seq, created_ts, message_id, agent_id, name, step, at, is_blind = row
            receipt = Receipt(
                message_id=MessageId(message_id),
                agent_id=AgentId(agent_id),
                agent=name,
                step=ReceiptStep(step),
                at=Micros(0 if at is None else at),
                is_blind=bool(is_blind),
            )
            yield SealedReceipt(
                project_id=ProjectId(project_id),
                commit_id=commit_id,
                last_seq=OutboxSeq(last_seq),
                seq=OutboxSeq(seq),
                created_ts=Micros(created_ts),
                receipt=receipt,
            )

    def _ids(self, sql: str) -> Iterator[int]:
        after = 0
        while rows := self._connection.execute(sql, (after, _AT_ONCE)).fetchall():
            for (number,) in rows:
                yield number
            (after,) = rows[-1]

    def _pending_mail(self, first: int, last: int) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for project_id, message_id in self._connection.execute(_PENDING_MAIL, (first, last)):
            found.setdefault(message_id, set()).add(project_id)
        return found

    def _pending_by_project(self, kind: EventKind) -> set[tuple[int, int]]:
        return set(self._connection.execute(_PENDING_BY_PROJECT, (kind.value,)))

    def _pending_files(self, kind: EventKind) -> set[int]:
        return {number for (number,) in self._connection.execute(_PENDING_FILES, (kind.value,))}


def read_store_id(path: Path) -> str:
    """Of a store that may have parts that are not this program's: of those nothing is read. Raises ForeignParts."""
    with closing(open_reading(path)) as connection:
        connection.execute("BEGIN")
        require_own_tables(connection, path, ("meta",))
        return Meta(connection).store_id()


@contextmanager
def open_artifacts(path: Path) -> Iterator[Artifacts]:
    """One unchanging view of the store over a connection of its own, beside a running server or without one.

    Raises StoreRefused, before it reads anything, for what is not this program's own.
    """
    with closing(open_own(path)) as connection:
        connection.execute("BEGIN")
        yield Artifacts(connection)
