"""What stands in the files of an archive, as typed values: what rendering was given and parsing gives back.

A value holds just what its file says. What follows from other files (an agent's project, what a reader has read)
does not stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, LeaseId, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.attachments import Attachment
from mcp_agent_mail.domain.doors.ids import WirePlace
from mcp_agent_mail.domain.doors.names import WireName
from mcp_agent_mail.domain.importing.taken_records import ImportUnit
from mcp_agent_mail.domain.leases import EndedBy, LeaseKind
from mcp_agent_mail.domain.messages import NO_TERMS, Importance, ReceiptStep, RecipientKind, Terms
from mcp_agent_mail.domain.products import Product
from mcp_agent_mail.domain.projects import AliasKind, Project


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedAlias:
    """Another name of a project. `created_ts` is None in files from before it was written."""

    name: str
    kind: AliasKind
    created_ts: Micros | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedProject:
    """`archive.json`."""

    version: int
    store_id: str
    project: Project
    aliases: tuple[ArchivedAlias, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedAgent:
    """`agents/<Name>/profile.json`. `aliases` are the names that doors know it by; `is_unclaimed`: doors alone speak of
    it, and nobody as it yet.
    """

    id: int
    project_id: ProjectId
    kind: AgentKind
    name: str
    program: str
    model: str
    task_description: str
    inception_ts: Micros
    profiled_ts: Micros
    retired_ts: Micros | None
    contact_policy: ContactPolicy
    attachments_policy: AttachmentsPolicy
    aliases: tuple[WireName, ...] = ()
    is_unclaimed: bool = False
    retired_by_operator: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRecipient:
    """`name` is as the file has it: `Name`, or `Name@slug` where it is of another project than the archive's."""

    agent_id: AgentId
    name: str
    kind: RecipientKind
    delivery_seq: int | None
    delivered_ts: Micros | None
    held_code: str | None
    status: str | None
    refused_ts: Micros | None
    expired_ts: Micros | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedMail:
    """One copy of a message. Only the sender's outbox copy has its blind recipients."""

    id: MessageId
    project_id: ProjectId
    project_slug: str
    project_key: str
    sender_id: AgentId
    sender: str
    thread_id: str | None
    topic: str | None
    subject: str
    body_md: str
    importance: Importance
    ack_required: bool
    created_ts: Micros
    reply_to: MessageId | None
    is_system: bool
    is_private: bool
    purged_ts: Micros | None
    terms: Terms = NO_TERMS
    wire_place: WirePlace | None = None
    attachments: tuple[Attachment, ...]
    recipients: tuple[ArchivedRecipient, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedReceipt:
    """One line of `receipts/…jsonl`; `is_blind` where it lies in the folder of its agent."""

    message_id: MessageId
    agent_id: AgentId
    agent: str
    step: ReceiptStep
    at: Micros
    is_blind: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedReceipts:
    """A file of receipts: those of one commit, in order. `first_seq` is the outbox number of the first."""

    first_seq: int
    receipts: tuple[ArchivedReceipt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedParty:
    agent_id: AgentId
    name: str
    project_id: ProjectId
    project_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedContact:
    """`contacts/<from>/<to>.json`."""

    id: int
    source: ArchivedParty
    target: ArchivedParty
    status: str
    reason: str
    created_ts: Micros
    updated_ts: Micros
    expires_ts: Micros | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedLease:
    """`file_reservations/…json` or `build_slots/…json`; of a slot `path_pattern` is its name."""

    id: LeaseId
    kind: LeaseKind
    project_key: str
    agent_id: AgentId
    agent: str
    path_pattern: str
    is_folder: bool
    ignore_case: bool
    exclusive: bool
    reason: str
    branch: str | None
    created_ts: Micros
    expires_ts: Micros
    released_ts: Micros | None
    ended_by: EndedBy | None
    evidence: Mapping[str, Any] | None
    fencing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedProductLink:
    """`products/<uid>.json`."""

    product: Product
    project_id: ProjectId
    linked_ts: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedOverdueNotice:
    """`agents/<sender>/overdue/…/id-<message id>.json`: its sender was told. `escalation`: what was done besides."""

    message_id: MessageId
    noted_ts: Micros
    escalation: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedImport:
    """`imports/<block>/<unit>.json`."""

    unit: ImportUnit


Artifact = (
    ArchivedProject
    | ArchivedAgent
    | ArchivedMail
    | ArchivedReceipts
    | ArchivedContact
    | ArchivedLease
    | ArchivedProductLink
    | ArchivedOverdueNotice
    | ArchivedImport
)
