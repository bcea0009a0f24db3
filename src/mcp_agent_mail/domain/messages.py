"""Messages, their recipients, and the reading state and receipts of each recipient; and what a subject and a body must
be to be sent, and how many bodies fit into one answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.attachments import Attachment, StoredContent, from_json
from mcp_agent_mail.domain.doors.ids import NewWirePlace, WirePlace
from mcp_agent_mail.domain.projects import Project

MAX_SUBJECT = 512
MOST_BODY_BYTES = 3 * 1024 * 1024
"""As long as MESSAGE_BODY_MAX_BYTES can let a body be."""

MAX_NAMED_RECIPIENTS = 500
MAX_BROADCAST_RECIPIENTS = 5_000
ACTIVE_WITHIN_DAYS = 30
"""Whom a broadcast, or a group, takes for active."""
MAX_BODIES_BYTES = 2 * 1024 * 1024
"""What one answer carries of bodies, as JSON writes them. Beyond, an item says `body_omitted`."""
MOST_NEWER = 100
LONGEST_ESCAPE = 6
"""A control character of one byte stands in JSON as six."""

Bodies = dict[MessageId, str]
"""The bodies that one answer carries; a listed message without one was left out for size."""
InlineContents = Mapping[MessageId, Mapping[str, str]]
"""By message what one answer carries of its inline attachments: base64 by SHA-256. What has no room is absent."""
NO_INLINE: InlineContents = MappingProxyType({})

_BREAKS = re.compile("\r\n|[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


class Importance(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"

    @property
    def is_urgent(self) -> bool:
        """What `urgent_only` keeps: high and urgent."""
        return self in (Importance.HIGH, Importance.URGENT)


class RecipientKind(StrEnum):
    TO = "to"
    CC = "cc"
    BCC = "bcc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How long a message is of use, which earlier one it replaces, and when and why its sender withdrew it."""

    valid_until: Micros | None = None
    supersedes: MessageId | None = None
    withdrawn_ts: Micros | None = None
    withdrawn_reason: str | None = None


NO_TERMS = Terms()


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A stored message. Its sender's and projects' names are resolved, so that it can be shown as it is.

    With a `purged_ts` it is a tombstone, and `body_md` says so.

    A private one is no project's mail: only its sender and its recipients see it. `thread_id` and `topic` are
    None when it has none. `project_*` is the sender's project. `wire_place` is where it came in, if by a door.
    """

    id: MessageId
    project_id: ProjectId
    project_slug: str
    project_key: str
    sender_id: AgentId
    sender_name: str
    thread_id: str | None
    topic: str | None
    subject: str
    body_md: str
    importance: Importance
    ack_required: bool
    created_ts: Micros
    reply_to: MessageId | None
    is_system: bool
    is_private: bool = False
    purged_ts: Micros | None = None
    attachments: tuple[Attachment, ...] = ()
    terms: Terms = NO_TERMS
    wire_place: WirePlace | None = None


# Lists make these by the thousand on the event loop, and a tuple costs a fifth of a frozen dataclass.
class MessageHead(NamedTuple):
    """A message as lists show it: without its body, of which only the length is known. `attachments` are JSON as
    `domain.attachments.from_json` reads it, None for none.
    """

    id: MessageId
    project_id: ProjectId
    project_slug: str
    sender_name: str
    thread_id: str | None
    topic: str | None
    subject: str
    importance: str
    ack_required: bool
    created_ts: Micros
    reply_to: MessageId | None
    is_system: bool
    body_bytes: int
    attachments: str | None = None
    valid_until: Micros | None = None
    supersedes: MessageId | None = None


class Standing(NamedTuple):
    """What has become of a message for one reader: its own copy has expired, its sender withdrew it and why, a later
    one replaces it.
    """

    expired_ts: Micros | None = None
    withdrawn_ts: Micros | None = None
    withdrawn_reason: str | None = None
    superseded_by: MessageId | None = None


GOOD = Standing()
"""Of a message that holds as it was sent."""


class InboxEntry(NamedTuple):
    """One delivered message in one agent's inbox, with that agent's own reading state.

    `since_ts`: since when it is there, by the clock alone; `delivered_ts` follows the order of the inbox, and is later
    where a clock was ahead. `withdrawn_ts` and `superseded_by` are of what was read before. `newer_from_sender`: later
    ones of its sender in the same inbox, counted as far as `MOST_NEWER`.
    """

    head: MessageHead
    kind: str
    delivery_seq: int
    delivered_ts: Micros
    read_ts: Micros | None
    ack_ts: Micros | None
    expired_ts: Micros | None
    withdrawn_ts: Micros | None
    withdrawn_reason: str | None
    superseded_by: MessageId | None
    newer_from_sender: int
    since_ts: Micros


class Addressee(NamedTuple):
    """Whom a message is addressed to, as lists show it. `state`: delivered, held, refused, withdrawn or expired;
    `is_superseded`: a later message replaced this copy.
    """

    name: str
    project_id: ProjectId
    project_slug: str
    kind: str
    state: str
    is_superseded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """One recipient of a stored message with its reading state; `delivery_seq` is the inbox order, None for a copy that
    is held, or has left the inbox: then `withdrawn_seq` is what it was.

    `held_code` says why it was held, also after it was delivered; `refused_ts` when it went back to the sender,
    `expired_ts` when it expired unread.
    """

    message_id: MessageId
    agent_id: AgentId
    project_id: ProjectId
    project_slug: str
    name: str
    kind: RecipientKind
    position: int
    delivery_seq: int | None
    delivered_ts: Micros | None
    read_ts: Micros | None
    ack_ts: Micros | None
    last_active_ts: Micros
    held_code: str | None = None
    refused_ts: Micros | None = None
    withdrawn_seq: int | None = None
    expired_ts: Micros | None = None

    @property
    def number(self) -> int | None:
        """The number that its delivery had, also after it has left the inbox; None for what was never delivered."""
        return self.withdrawn_seq if self.delivery_seq is None else self.delivery_seq

    @property
    def status(self) -> str:
        """What became of the copy before it was read or withdrawn: delivered, held, or refused."""
        if self.number is not None:
            return "delivered"
        return "held" if self.refused_ts is None else "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message about to be stored, from `sender` of `project`, which has proven to be it where it `is_verified`."""

    sender: Agent
    project: Project
    thread_id: str | None
    topic: str | None
    subject: str
    body_md: str
    importance: Importance
    ack_required: bool
    reply_to: MessageId | None
    is_system: bool = False
    is_private: bool = False
    is_verified: bool = False
    attachments: tuple[Attachment, ...] = ()
    terms: Terms = NO_TERMS
    wire_place: NewWirePlace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecipient:
    """An agent that is to get a message, with its project; with a `held_code` only once it has approved the sender."""

    agent: Agent
    project: Project
    kind: RecipientKind
    held_code: str | None = None


class UnfitSubject(InvalidInput):
    """A subject that is blank, too long, or holds control characters."""


class BodyTooLong(InvalidInput):
    """A body beyond MESSAGE_BODY_MAX_BYTES."""


def parse_subject(text: str) -> str:
    """One line: line breaks and tabs become blanks, outer blanks go. Other control characters are refused."""
    subject = _BREAKS.sub(" ", text).strip()
    if not subject:
        raise UnfitSubject("subject is blank.", hint="Give subject a value.", data={"parameter": "subject"})
    if _CONTROL.search(subject):
        raise UnfitSubject("subject holds a control character.", hint="Remove it.", data={"parameter": "subject"})
    if len(subject) > MAX_SUBJECT:
        raise UnfitSubject(
            f"subject has {len(subject)} characters; at most {MAX_SUBJECT} are accepted.",
            hint="Shorten it: nothing is ever cut for you. The body takes the rest.",
            data={"parameter": "subject", "max_length": MAX_SUBJECT},
        )
    return subject


def reply_subject(original: str, prefix: str) -> str:
    """`prefix` before the original's subject, once: not again if it is there already in any letter case.

    A subject that has no room for the prefix stays as it is, because a subject is never cut.
    """
    lead = _BREAKS.sub(" ", prefix).strip()
    rest = original[len(lead) :]
    is_there = original.lower().startswith(lead.lower()) and not (lead[-1:].isalnum() and rest[:1].isalnum())
    if is_there:
        return original
    subject = f"{lead} {original}"
    return original if len(subject) > MAX_SUBJECT else parse_subject(subject)


def require_body_fits(body_md: str, max_bytes: int, *, called: str = "body_md") -> None:
    """Raise BodyTooLong for a body of more than `max_bytes` bytes in UTF-8. `called`: the parameter that it came in."""
    if len(body_md) * 4 <= max_bytes:
        return
    size = len(body_md.encode())
    if size > max_bytes:
        raise BodyTooLong(
            f"{called} has {size} bytes; at most {max_bytes} are accepted.",
            hint="Send the essence and say in which file the rest stands.",
            data={"parameter": called, "bytes": size, "max_bytes": max_bytes},
        )


def bodies_that_fit(heads: Iterable[MessageHead]) -> list[MessageId]:
    """The messages whose bodies are read for one answer: in order, each that still fits into `MAX_BODIES_BYTES`."""
    room = MAX_BODIES_BYTES
    chosen: list[MessageId] = []
    for head in heads:
        if head.body_bytes <= room:
            room -= head.body_bytes
            chosen.append(head.id)
    return chosen


def bodies_that_fit_escaped(bodies: Mapping[MessageId, str]) -> dict[MessageId, str]:
    """Those of `bodies` that one answer carries, in their order: escapes make a text up to six times as long."""
    if sum(map(len, bodies.values())) * LONGEST_ESCAPE <= MAX_BODIES_BYTES:
        return dict(bodies)
    room = MAX_BODIES_BYTES
    chosen: dict[MessageId, str] = {}
    for message_id, body in bodies.items():
        size = escaped_bytes(body)
        if size <= room:
            room -= size
            chosen[message_id] = body
    return chosen


def attachments_of(shown: MessageHead | Message) -> tuple[Attachment, ...]:
    return from_json(shown.attachments) if isinstance(shown, MessageHead) else shown.attachments


def inline_that_fits(
    shown: Iterable[MessageHead | Message], bodies: Mapping[MessageId, str]
) -> dict[MessageId, list[StoredContent]]:
    """The inline contents that one answer carries: in order, each that as base64 still fits into `MAX_BODIES_BYTES`
    beside these bodies.
    """
    carrying = [one for one in shown if one.attachments]
    if not carrying:
        return {}
    room = MAX_BODIES_BYTES - sum(map(escaped_bytes, bodies.values()))
    chosen: dict[MessageId, list[StoredContent]] = {}
    for message in carrying:
        for one in attachments_of(message):
            size = (one.content.bytes + 2) // 3 * 4
            if one.is_inline and size <= room:
                room -= size
                chosen.setdefault(message.id, []).append(one.content)
    return chosen


def escaped_bytes(text: str) -> int:
    """The length of a text as JSON writes it, less its quotation marks."""
    return len(json.dumps(text, ensure_ascii=False).encode()) - len('""')


class ReceiptStep(StrEnum):
    READ = "read"
    ACKNOWLEDGED = "acknowledged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """`agent` made `step` true for `message_id` at `at`; the first time stands for good.

    `is_blind`: for a blind copy. It is told where the copy lies, and nowhere else. `is_private`: for mail that is no
    project's, of which no commit speaks.
    """

    message_id: MessageId
    agent_id: AgentId
    agent: str
    step: ReceiptStep
    at: Micros
    is_blind: bool = False
    is_private: bool = False
