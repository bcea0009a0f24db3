"""What of mail is given away: these fields and no others. All text in them is redacted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.threads import thread_of


class SharedPreset(StrEnum):
    """`strict` gives neither bodies nor attachments, and nothing of them to a search."""

    STANDARD = "standard"
    STRICT = "strict"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAgent:
    """An agent that sent or got some of the mail. `task` is what it said it works on."""

    name: str
    program: str
    model: str
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAttachment:
    """`sha256` names the content as it is kept here; what is given away may be other bytes."""

    sha256: str
    name: str
    media_type: str
    bytes: int
    width: int | None
    height: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMessage:
    """A message without its body. `to` and `cc` are whom it came to. `reply_to` is None unless that is given away too;
    `attachments` are empty under `strict`.
    """

    id: MessageId
    project: str
    sender: str
    to: Sequence[str]
    cc: Sequence[str]
    subject: str
    importance: str
    asks_ack: bool
    thread: str | None
    topic: str | None
    created_ts: Micros
    reply_to: MessageId | None
    attachments: Sequence[SharedAttachment]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedProject:
    """`slug` is its name as part of an address, within what is given away alone. Messages stand oldest first."""

    slug: str
    name: str
    agents: Sequence[SharedAgent]
    messages: Sequence[SharedMessage]

    @property
    def threads(self) -> Mapping[str, Sequence[SharedMessage]]:
        """By thread its messages, oldest first, with the one that it is named by; what began last comes last."""
        found: dict[str, list[SharedMessage]] = {}
        for message in self.messages:
            found.setdefault(thread_of(message.id, message.thread), []).append(message)
        # What nobody answered is no thread.
        return {name: messages for name, messages in found.items() if messages[-1].thread is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMail:
    preset: SharedPreset
    projects: Sequence[SharedProject]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedContent:
    """What of an attachment is given away: `content` under an ending that no browser runs; None with `why_left` where
    it is not.
    """

    content: bytes | None = None
    extension: str = ""
    is_image: bool = False
    why_left: str = ""
