"""What was at a time, or came after another: what the looks back give."""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedAgent
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.messages import InboxEntry, InlineContents, Message
from mcp_agent_mail.domain.projects import Project


class MessageEvent(StrEnum):
    """What happens to a message, in the order in which it can."""

    SENT = "sent"
    HELD = "held"
    DELIVERED = "delivered"
    REFUSED = "refused"
    READ = "read"
    ACKNOWLEDGED = "acknowledged"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    PURGED = "purged"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAddress:
    """Who an event is about, with the project that agent is of."""

    name: str
    project_id: ProjectId
    project_slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEvent:
    """`agent` is the sender of what was sent or taken back, otherwise whose copy it is; None for a purge, which is the
    server's. `archive` is the slug of the project in whose archive `hexsha` is; both None while Git has yet to get it.

    `superseded_by`: the message for which this copy was withdrawn. `supersedes`: what the message replaces, as it was
    sent.
    """

    ts: Micros
    event: MessageEvent
    agent: AgentAddress | None
    hexsha: str | None
    archive: str | None
    superseded_by: MessageId | None = None
    supersedes: MessageId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageHistory:
    """`events` are the first ones of `total`, as seen from `project`."""

    message: Message
    project: Project
    events: list[RecordedEvent]
    total: int


class ProfileEvent(StrEnum):
    """What a commit did to a profile. UNREADABLE: its file is none of ours there, or was removed."""

    JOINED = "joined"
    CHANGED = "changed"
    RETIRED = "retired"
    RETURNED = "returned"
    MOVED = "moved"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileChange:
    """`profile` is what the agent was from then on; `changed` names what was otherwise before. `hexsha` is None for
    what Git has yet to get.
    """

    ts: Micros
    event: ProfileEvent
    profile: ArchivedAgent | None
    changed: tuple[str, ...]
    hexsha: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHistory:
    """The newest changes, newest first."""

    agent: Agent
    project: Project
    changes: list[ProfileChange]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLease:
    """A lease of former times or of now; of a live one also when its holder last called, and last sent or read mail."""

    lease: Lease
    is_live: bool
    agent_ts: Micros | None = None
    mail_ts: Micros | None = None


class MissingText(StrEnum):
    """Why the text of a purged message is not to be had."""

    NO_ARCHIVE = "archive_missing"
    NOT_IN_ARCHIVE = "not_in_archive"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredText:
    """Of a message that had its text at the time that is looked at, and was purged since at `purged_ts`."""

    purged_ts: Micros
    missing: MissingText | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastInbox:
    """An inbox as it was `at` a time. `bodies` are those that one answer carries; `purged` is of messages whose text
    comes from Git.
    """

    agent: Agent
    project: Project
    at: Micros
    entries: list[InboxEntry]
    bodies: dict[MessageId, str]
    inline: InlineContents
    purged: dict[MessageId, RecoveredText]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDays:
    """What there was on each of the last days, the first of them first; `first_day` counts from 1970-01-01, UTC."""

    first_day: int
    messages: tuple[int, ...]
    commits: tuple[int, ...]
