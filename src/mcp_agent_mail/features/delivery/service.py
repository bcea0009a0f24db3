"""Delivery: the use cases. What became of messages, the feeds that tell of it, and taking messages back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, Identify
from mcp_agent_mail.domain.presence import SessionEvent, SessionName
from mcp_agent_mail.features.delivery.feed import FeedPage, read_feed
from mcp_agent_mail.features.delivery.hooks.announcements import HookAnnouncements, HookAnswer
from mcp_agent_mail.features.delivery.presence import (
    HeardSession,
    Presences,
    require_heard,
    require_listener,
    without_gone,
)
from mcp_agent_mail.features.delivery.requests import (
    FeedRequest,
    FollowRequest,
    HeartbeatRequest,
    HookClaimRequest,
    HookEventRequest,
    StatusRequest,
    WaitRequest,
    WithdrawRequest,
)
from mcp_agent_mail.features.delivery.status import MessageStatus, read_status
from mcp_agent_mail.features.delivery.stream import FeedStream
from mcp_agent_mail.features.delivery.wait import FoundMail, look_for_mail, wait_for_mail
from mcp_agent_mail.features.delivery.waiters import Waiters
from mcp_agent_mail.features.delivery.withdraw import Withdrawal, withdraw
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.delivery_hooks import NoteHanded, note_nothing
from mcp_agent_mail.store.database import Store


class DeliveryService:
    """`note_activity` is told of every agent that acts, `note_handed` of what is in answers, `presence` of every
    session that a hook tells of; `waiters` are all who wait in this process.
    """

    def __init__(
        self,
        store: Store,
        waiters: Waiters,
        *,
        note_activity: Callable[[Agent], None],
        presence: Presences,
        note_handed: NoteHanded = note_nothing,
    ) -> None:
        self._store = store
        self.waiters = waiters
        self._note_activity = note_activity
        self._note_handed = note_handed
        self._presence = presence
        self._announcements = HookAnnouncements(store, presence)

    async def status(self, caller: Caller, request: StatusRequest) -> MessageStatus:
        """What became of each copy that the caller may know of."""
        found = await self._store.read(lambda view: read_status(view, caller, request))
        if request.agent_name is not None and found.reader is not None and not caller.is_operator:
            self._note_activity(found.reader.agent)
        presences = {copy.agent_id: self._presence.of(copy.agent_id) for copy in found.copies}
        return replace(found, presences=await self._store.read(lambda view: without_gone(view, presences)))

    async def feed(self, caller: Caller, request: FeedRequest) -> FeedPage:
        """A page of an agent's feed. Takes nothing from it."""
        page = await self._store.read(lambda view: read_feed(view, caller, request))
        if not caller.is_operator:
            self._note_activity(page.mailbox.agent)
        return page

    async def wait(self, identify: Identify, request: WaitRequest) -> FoundMail:
        """Mail, or none when the time is over. Takes nothing: who asks again with the same cursor gets it again. Who
        may read no more while it waits is refused, and gets no mail.

        What is there is answered at once, however many wait. Raises NoPlaceToWait, WaitingEnds at a stop, and
        AgentRetired for an agent that no more mail comes for.
        """
        caller = await identify()
        found = await self._store.read(lambda view: look_for_mail(view, caller, request))
        if not caller.is_operator:
            self._note_activity(found.mailbox.agent)
        if not found.entries:
            found = await wait_for_mail(self._store, self.waiters, identify, found, request)
        self._note_handed(found.caller, found.mailbox.agent, found.shown)
        return found

    async def follow(self, caller: Caller, request: FollowRequest) -> FeedStream:
        """The agent's feed from a cursor on, or from now. Raises ForgottenCursor and FeedCursorAhead, and
        AgentRetired as `wait` does.
        """
        first = FeedRequest(
            project_key=request.project_key,
            agent_name=request.agent_name,
            after=request.after or 0,
            limit=1,
            position_now=request.after is None,
        )
        await self.waiters.hear()
        page = await self.feed(caller, first)
        require_listener(page.mailbox)
        cursor = page.next_cursor if request.after is None else request.after or page.ends.floor
        return FeedStream(self._store, self.waiters, caller, page.mailbox, request, cursor)

    def feed_tail(self) -> int:
        """The last number that was given out."""
        return self._store.read_now(lambda view: view.feed.ends()).tail

    async def withdraw(self, caller: Caller, request: WithdrawRequest) -> Withdrawal:
        """Take back a message of the sender's; a repeat gives the first time."""
        done = await self._store.write(lambda tx: withdraw(tx, caller, request))
        self._note_activity(done.actor.agent)
        return done

    async def heartbeat(self, caller: Caller, request: HeartbeatRequest) -> HeardSession:
        """Note what a client's hook tells of one of the agent's sessions. Writes nothing. The operator is not the
        agent: by its word nobody listens.
        """
        actor = await self._store.read(lambda view: require_heard(view, caller, request))
        if caller.is_operator:
            return HeardSession(actor=actor, listening_until=None)
        return self._hear(actor, SessionName(request.session, caller.is_verified), request.event)

    def _hear(self, actor: Actor, name: SessionName, event: SessionEvent) -> HeardSession:
        """The one way in which a hook is heard."""
        self._note_activity(actor.agent)
        until = self._presence.hear(actor.agent.id, name, event)
        return HeardSession(actor=actor, listening_until=until)

    async def hook_event(self, caller: Caller, request: HookEventRequest) -> tuple[HeardSession, HookAnswer]:
        """A heartbeat, and what the hook may tell of the agent's mail. The operator's word counts as the agent's: it
        is its user's, whose client runs the hook.
        """
        announced = await self._announcements.tell(caller, request)
        heartbeat = request.heartbeat
        # A sub-agent that ends leaves its session at work.
        event = SessionEvent.TOOL if request.subagent and heartbeat.event is SessionEvent.END else heartbeat.event
        name = SessionName(heartbeat.session, caller.is_verified)
        return self._hear(announced.actor, name, event), announced

    async def hook_told(self, caller: Caller, request: HookClaimRequest) -> int:
        """The hook has printed what it was given: how many messages that hands over."""
        return await self._announcements.confirm(caller, request)
