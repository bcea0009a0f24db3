"""Delivery: the use cases. What became of messages, the feeds that tell of it, and taking messages back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.delivery.feed import FeedPage, read_feed
from mcp_agent_mail.features.delivery.presence import HeardSession, Presences, require_heard
from mcp_agent_mail.features.delivery.requests import FeedRequest, HeartbeatRequest, StatusRequest, WithdrawRequest
from mcp_agent_mail.features.delivery.status import MessageStatus, read_status
from mcp_agent_mail.features.delivery.withdraw import Withdrawal, withdraw
from mcp_agent_mail.store.database import Store


class DeliveryService:
    """`note_activity` is told of every agent that acts, `presence` of every session that a hook tells of."""

    def __init__(self, store: Store, *, note_activity: Callable[[Agent], None], presence: Presences) -> None:
        self._store = store
        self._note_activity = note_activity
        self._presence = presence

    async def status(self, caller: Caller, request: StatusRequest) -> MessageStatus:
        """What became of each copy that the caller may know of."""
        found = await self._store.read(lambda view: read_status(view, caller, request))
        if request.agent_name is not None and found.reader is not None and not caller.is_operator:
            self._note_activity(found.reader.agent)
        return replace(found, presences={copy.agent_id: self._presence.of(copy.agent_id) for copy in found.copies})

    async def feed(self, caller: Caller, request: FeedRequest) -> FeedPage:
        """A page of an agent's feed. Takes nothing from it."""
        page = await self._store.read(lambda view: read_feed(view, caller, request))
        if not caller.is_operator:
            self._note_activity(page.mailbox.agent)
        return page

    async def withdraw(self, caller: Caller, request: WithdrawRequest) -> Withdrawal:
        """Take back a message of the sender's; a repeat gives the first time."""
        done = await self._store.write(lambda tx: withdraw(tx, caller, request))
        self._note_activity(done.actor.agent)
        return done

    async def heartbeat(self, caller: Caller, request: HeartbeatRequest) -> HeardSession:
        """Note what a client's hook tells of one of the agent's sessions. Writes nothing."""
        actor = await self._store.read(lambda view: require_heard(view, caller, request))
        if not caller.is_operator:
            self._note_activity(actor.agent)
        until = self._presence.hear(actor.agent.id, request.session, request.event)
        return HeardSession(actor=actor, listening_until=until)
