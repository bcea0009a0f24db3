"""What callers ask of delivery, parsed but not yet judged."""

from __future__ import annotations

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.hooks.announcements import MAX_ITEMS, ImportanceBound
from mcp_agent_mail.domain.presence import SessionEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRequest:
    """`agent_name` is who asks; None: whoever the call is proven to come from, else any reader of the project."""

    project_key: str
    message_id: MessageId
    agent_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawRequest:
    project_key: str
    sender_name: str
    message_id: MessageId
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRequest:
    """What happened behind the cursor `after`; 0 is the oldest that is kept. `position_now`: nothing but where the feed
    ends.
    """

    project_key: str
    agent_name: str
    after: int = 0
    limit: int = 100
    position_now: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRequest:
    """Without `after_cursor` unread mail is waited for, however old; 0 is the oldest cursor that is kept. With `tells`
    what a hook would tell of the mail is asked for too.
    """

    project_key: str
    agent_name: str
    after_cursor: int | None = None
    timeout_s: int = 25
    urgent_only: bool = False
    thread_id: str | None = None
    tells: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowRequest:
    """`after` None: from now on; 0 is the oldest cursor that is kept."""

    project_key: str
    agent_name: str
    after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    """What a client's hook tells of one session, which it gives a name of its own."""

    project_key: str
    agent_name: str
    session: str
    event: SessionEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEventRequest:
    """A heartbeat, and what of the agent's mail the hook can tell just now: by `least` (None: nothing) up to `limit`
    messages. `stop`: the event is before a tool call, which can be refused. `can_refuse`: the client can refuse tool
    calls, so that mail which asks to stop waits for one. `reprime`: the session begins, or has lost what it knew.
    `subagent`: the event is a sub-agent's, which is told nothing, and proves nothing of its session.
    """

    heartbeat: HeartbeatRequest
    least: ImportanceBound | None = None
    limit: int = MAX_ITEMS
    stop: bool = False
    can_refuse: bool = False
    reprime: bool = False
    subagent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HookClaimRequest:
    """The hook of the session has printed what it was given by `claim`."""

    project_key: str
    agent_name: str
    session: str
    claim: str
