"""What a reader of another system's store says of it: plain records, one for each thing that can be taken over.

All of them hold for every record:

- A `key` is what the source calls the thing, as text, and is unique among the records of its class in that store. By
  system, store id, class and key it is known again when the store is read a second time: so it must come out the same
  each time, whatever else was added to the source meanwhile. At most `MAX_KEY` characters.
- Times are UTC in microseconds since 1970. Where the source has none for a thing that must have one, the reader gives
  the nearest that it knows (of an agent its first message, of a project its first agent).
- Texts are as the source has them, byte for byte. What does not fit here is judged where it is stored, never by the
  reader; a text that is no UTF-8 in the source comes with U+FFFD in the broken places, and a `SourceNote`.
- None means that the source says nothing of it. Then this server's own default stands, or nothing.
"""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import AgentStatus, AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.contacts import LinkStatus
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.messages import Importance, RecipientKind

MAX_KEY = 512
"""Characters of a key, of a system's name and of a store's id."""


class SourceKind(StrEnum):
    """The kinds of things that are counted, in the order in which they are taken over.

    A copy is a message in one recipient's mailbox; an attachment is counted where its message stands.
    """

    PROJECT = "projects"
    AGENT = "agents"
    MESSAGE = "messages"
    COPY = "copies"
    ATTACHMENT = "attachments"
    LEASE = "leases"
    LINK = "links"
    PRODUCT = "products"


MAX_OLDEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStore:
    """Which store is read. `system` is the word behind `am import`: postal, agentmail, claude-mailbox, mcp-agent-mail.

    `store_id` tells two stores of one system apart and is the same whenever the same store is read, also after mail was
    added to it or it was moved: what it says of itself, else a hash of its oldest rows. A path is the worst choice.
    `oldest_mail`: of a copy of another store's mail alone, an archive, keys of its oldest messages, MAX_OLDEST at most.
    """

    system: str
    store_id: str
    oldest_mail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProject:
    """`human_key` is the absolute path by which the source knows the project; it is a project's key here too.

    None where the source knows no projects, or has lost it: then the project goes where the caller says, else into the
    doors' own project. `slug` is what the source calls it; two projects of a source may share one there, then the
    reader gives one record and a `SourceNote`.
    """

    key: str
    human_key: str | None
    slug: str | None
    created_ts: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAgent:
    """One sender or recipient, in the project where it is at home. Names are compared ignoring letter case.

    `name` is as the source writes it. It becomes the agent's name here where it has our form and is free there, else
    the agent gets a made name and `name` is its alias.
    `wire` is the door whose callers speak as this name from now on (the three systems without tokens); None where the
    agent comes in by our own tools.
    `token_hash` is `core.ids.token_hash` of the token that the agent has: its SHA-256. With it the agent goes on with
    the token it knows. The token itself never leaves the reader.
    `status` is what the agent last said of itself; `retired_ts` since when the source counts it as gone.
    `received` and `sent` are the keys of its oldest messages, of a name with a `wire` alone: by them the report says
    whose its earlier mail is here.
    """

    key: str
    project_key: str
    name: str
    created_ts: Micros
    last_active_ts: Micros
    program: str = ""
    model: str = ""
    task: str = ""
    contact_policy: ContactPolicy | None = None
    attachments_policy: AttachmentsPolicy | None = None
    status: AgentStatus | None = None
    retired_ts: Micros | None = None
    token_hash: bytes | None = None
    wire: Door | None = None
    received: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRef:
    """The thread that a message stands in: exactly one of the two is given.

    `message_key`: the thread is named by that message of the same store (its root), and follows it to its new number;
    the root itself has no thread. `name`: a thread by a name of its own, kept as it is. A name of digits alone that
    names no message is a name here too: it is kept with `thread-` before it, since bare numbers are messages.
    """

    message_key: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCopy:
    """One recipient of a message. `read_ts` and `ack_ts` are when, None for not yet; an acknowledged copy without a
    `read_ts` was read when it was acknowledged. Order in the tuple is the order of the recipients.
    """

    agent_key: str
    kind: RecipientKind = RecipientKind.TO
    read_ts: Micros | None = None
    ack_ts: Micros | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAttachment:
    """`content` is the bytes, None where the source names an attachment and no longer has it: then it is counted as
    left out. `name` is its file's name, with or without folders, "" for none; what it is, its bytes say.

    `is_inline`: the source gave it with the body (base64). Base64 that stands in the body itself stays there: the
    reader makes no attachment of it. `sha256` and `size_bytes` are for the way between reader and store, on which
    contents go by themselves: readers leave them out.
    """

    name: str
    content: bytes | None
    is_inline: bool = False
    sha256: str | None = None
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMessage:
    """A message with all its recipients, in the order of `SourceReader.messages`.

    `project_key` is the sender's project and `sender_key` an agent of it; recipients may be of any project.
    `also` are keys of further rows of the source that are this same mail (a copy of it in another project): they are
    counted as found and kept, and a thread may be named by one of them.
    `subject` is None where the system knows none: it is then made of the body, as mail of doors has it.
    `door` is the one by which it came, None for native mail; `external_id` what its users call it there, at most
    `domain.doors.ids.MAX_WIRE_ID` characters.
    """

    key: str
    project_key: str
    sender_key: str
    subject: str | None
    body_md: str
    created_ts: Micros
    recipients: tuple[SourceCopy, ...]
    importance: Importance = Importance.NORMAL
    ack_required: bool = False
    thread: ThreadRef | None = None
    topic: str | None = None
    attachments: tuple[SourceAttachment, ...] = ()
    external_id: str | None = None
    door: Door | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLease:
    """A file lease. `released_ts` None: nobody has ended it; past `expires_ts` it is over all the same.

    `stale_ts`: when the source itself judged its holder gone, None where it did not: then it is history as well.
    """

    key: str
    project_key: str
    agent_key: str
    pattern: str
    exclusive: bool
    reason: str
    created_ts: Micros
    expires_ts: Micros
    released_ts: Micros | None = None
    stale_ts: Micros | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLink:
    """`from_agent_key` may write to `to_agent_key` (approved), asks to (pending), or must not (blocked).

    `expires_ts` None: for good. A blocked link stays a denial whatever its expiry.
    """

    key: str
    from_agent_key: str
    to_agent_key: str
    status: LinkStatus
    reason: str
    created_ts: Micros
    updated_ts: Micros
    expires_ts: Micros | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProduct:
    """Projects that make one thing. `uid` is what names it everywhere, where the source has one."""

    key: str
    name: str
    project_keys: tuple[str, ...]
    created_ts: Micros
    uid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCarried:
    """What a store has and this server does not take over: counted, with the reason in one sentence for a person.

    `kind` is a word of its system ("build slots", "windows"), or a `SourceKind` where rows of that kind are meant.
    """

    kind: str
    count: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNote:
    """What a person should know of the store, in one sentence: nothing is left out by it."""

    text: str


SourceRecord = SourceProject | SourceAgent | SourceMessage | SourceLease | SourceLink | SourceProduct
"""All that is taken over."""
