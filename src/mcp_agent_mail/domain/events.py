"""What the archive is told: one event per artifact change, stored in the outbox with an immutable snapshot.

The snapshot holds everything its files need, so that the archive's child process renders them
without a look at tables that may have moved on. Snapshots are JSON objects; the keys below are
part of the archive format and may only be added to.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, OutboxSeq, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass


class EventKind(StrEnum):
    PROJECT = "project"  # -> archive.json
    PROFILE = "profile"  # -> agents/<Name>/profile.json
    MAIL = "mail"  # -> messages/…, agents/<Name>/outbox/…, agents/<Name>/inbox/…
    RECEIPT = "receipt"  # -> one line of receipts/…jsonl, for the archive of the recipient's project
    CONTACT = "contact"  # -> contacts/<from>/<to>.json
    PRODUCT = "product"  # -> products/<uid>.json, in the archive of a project that is part of it
    OVERDUE = "overdue"  # -> agents/<Name>/overdue/…json, in the archive of the sender's project
    IMPORT = "import"  # -> imports/…json, in the archive of a project into which a unit of an import wrote
    RESERVATION = "reservation"  # -> file_reservations/…json, moved when it ends
    SLOT = "slot"  # -> build_slots/…json, likewise
    ADOPTION = "adoption"  # -> everything that says something else now, in a commit of its own that joins the histories


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event about to enter the outbox. `agent_*` is who acted (None: the server)."""

    project_id: ProjectId
    kind: EventKind
    agent_id: AgentId | None
    message_id: MessageId | None
    snapshot: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEvent:
    """A pending outbox row as the drain reads it, oldest first. `agent_id` is who acted (None: the server)."""

    seq: OutboxSeq
    project_id: ProjectId
    project_slug: str
    kind: EventKind
    agent_id: AgentId | None
    created_ts: Micros
    snapshot: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneEvent:
    """An outbox row whose snapshot is gone, since a commit holds what it told. `step` is a receipt's, `is_blind` one's
    for a blind copy.
    """

    seq: OutboxSeq
    kind: EventKind
    agent_id: AgentId | None
    message_id: MessageId | None
    step: str | None
    is_blind: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """What a project's archive was told of a message, by `agent_id` (None: the server, that it was purged). `step` is a
    receipt's; `hexsha` None while Git has yet to get it.
    """

    project_id: ProjectId
    kind: EventKind
    agent_id: AgentId | None
    step: str | None
    hexsha: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What the archive still owes: events not yet in Git, and the age of the oldest (0 when there is none)."""

    pending_events: int
    oldest_pending_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveCommit:
    """A commit the archive made: it holds every event of the project up to `last_seq` not held before."""

    project_id: ProjectId
    hexsha: str
    summary: str
    authored_ts: Micros
    last_seq: OutboxSeq
