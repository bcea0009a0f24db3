"""Tells webhooks of deliveries, after their commit and beside everything else.

The bus names whose mail has changed; what was delivered since is read from the store, so that a word that comes twice
or late says nothing twice. What waits to be told lies in memory alone: it begins with the start and ends with the stop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.concurrency.keeper import STOP_WITHIN_S, Keeper
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.signals import NewDelivery, webhook_body
from mcp_agent_mail.notify.bus import MailBus
from mcp_agent_mail.notify.webhook_call import WebhookCaller, WebhookFailed, WebhookPlace
from mcp_agent_mail.notify.webhook_queue import QueuedCall, WebhookQueue

logger = logging.getLogger("mcp_agent_mail.webhooks")

MOST_WAITING = 10_000
"""Calls of all webhooks together: each has its share, so that one that is down takes nobody else's."""
AT_ONCE = 8
"""Calls of one webhook under way."""
AGENTS_AT_ONCE = 100
DELIVERIES_AT_ONCE = 200
"""Of one agent in one read."""
MOST_POSITIONS = 10_000
"""Agents whose place is remembered one by one, before one place for all takes theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverySource:
    """What the store tells. `tail` is the last number given out, and whatever was committed up to there has been told
    by the bus, or can be read, when it answers. `after` are the deliveries of each agent behind a number, at most so
    many, and the tail as of the same instant. `agents_after` are agents of all projects by id.
    """

    store_id: Callable[[], Awaitable[str]]
    tail: Callable[[], Awaitable[int]]
    after: Callable[[Mapping[AgentId, int], int], Awaitable[tuple[dict[AgentId, list[NewDelivery]], int]]]
    agents_after: Callable[[int, int], Awaitable[list[AgentId]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookFigures:
    """Since the start, of all together. `last_error` is what ended the work on all of them last, until that goes on
    again; else of the first webhook, by its place in the setting, whose calls have failed since one was answered.
    """

    webhooks: int
    told_at: Micros | None
    waiting: int
    told: int
    failed: int
    dropped: int
    last_error: str | None


@dataclass(eq=False, slots=True, kw_only=True)
class _Webhook:
    """`number` is its place in the setting, from 1."""

    number: int
    place: WebhookPlace
    queue: WebhookQueue
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    error: str | None = None


class Webhooks:
    """`start()` on the running loop, `await stop()` while the store is still open. `floor`: what was delivered up to
    this number is not told. It may be older than the start: a server takes mail a moment before it starts this.
    """

    def __init__(
        self,
        source: DeliverySource,
        bus: MailBus,
        caller: WebhookCaller,
        places: Sequence[WebhookPlace],
        *,
        floor: int,
        clock: Clock,
        elapsed: Callable[[], float] = time.monotonic,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._source = source
        self._bus = bus
        self._caller = caller
        share = max(1, most_waiting // len(places))
        self._webhooks = [
            _Webhook(number=number, place=place, queue=WebhookQueue(limit=share))
            for number, place in enumerate(places, 1)
        ]
        self._clock = clock
        self._elapsed = elapsed
        self.keeper = Keeper("webhooks", self._keep_on, clock=clock)
        self._woken = asyncio.Event()
        self._pending: set[AgentId] = set()
        self._store_id = ""
        self._has_begun = False
        self._floor = floor
        """How far everybody's deliveries are told; `_positions` are of those who are further."""
        self._positions: dict[AgentId, int] = {}
        self._has_ended = False
        self._told_at: Micros | None = None

    def start(self) -> None:
        """Tell of what was delivered since the floor, and is from now on."""
        self._bus.subscribe(self.note)
        self.keeper.start()

    async def stop(self, within_s: float = STOP_WITHIN_S) -> None:
        """After what is due was tried, for so long. The rest is given up, and logged. Nothing when it was never
        started.
        """
        if not self.keeper.is_running:
            return
        self.keeper.stopping.set()
        self._woken.set()
        await self.keeper.stop(within_s)
        self._caller.close()
        self._bus.unsubscribe(self.note)
        if left := sum(len(webhook.queue) for webhook in self._webhooks):
            logger.warning("calls of webhooks were given up at the stop", extra={"facts": {"calls": left}})

    def note(self, agents: frozenset[AgentId]) -> None:
        """Look for their deliveries. The set is bounded by the agents there are."""
        self._pending |= agents
        self._woken.set()

    def figures(self) -> WebhookFigures:
        """How the webhooks fare at this moment, for health and the metrics."""
        counts = [webhook.queue.counts for webhook in self._webhooks]
        errors = (f"webhook {one.number}: {one.error}" for one in self._webhooks if one.error is not None)
        return WebhookFigures(
            webhooks=len(self._webhooks),
            told_at=self._told_at,
            waiting=sum(len(webhook.queue) for webhook in self._webhooks),
            told=sum(one.told for one in counts),
            failed=sum(one.failed for one in counts),
            dropped=sum(one.dropped for one in counts),
            last_error=self.keeper.error or next(errors, None),
        )

    async def catch_up(self) -> None:
        """Queue what was delivered to all who are noted. Raises what a sick store raises, and forgets none of them."""
        while self._pending:
            some = sorted(self._pending)[:AGENTS_AT_ONCE]
            self._pending.difference_update(some)
            try:
                await self._look_at(some)
            except BaseException:
                self._pending.update(some)
                raise
            await asyncio.sleep(0)

    async def _look_at(self, some: Sequence[AgentId]) -> None:
        places = {agent: self._positions.get(agent, self._floor) for agent in some}
        found, tail = await self._source.after(places, DELIVERIES_AT_ONCE)
        for agent, deliveries in found.items():
            if len(deliveries) < DELIVERIES_AT_ONCE:
                self._positions[agent] = tail
            else:
                self._positions[agent] = deliveries[-1].delivery_seq
                self._pending.add(agent)
        self._queue([delivery for deliveries in found.values() for delivery in deliveries])

    def _queue(self, deliveries: list[NewDelivery]) -> None:
        now_s = self._elapsed()
        for delivery in sorted(deliveries, key=lambda one: one.delivery_seq):
            body = webhook_body(delivery, store_id=self._store_id)
            for webhook in self._webhooks:
                webhook.queue.add(body, now_s)
        if deliveries:
            self._wake()

    async def _keep_on(self) -> None:
        """One task looks at the store, one serves each webhook, one makes each call: what one of them raises ends all,
        and all begin anew.
        """
        await self._begin()
        try:
            async with asyncio.TaskGroup() as group:
                for webhook in self._webhooks:
                    group.create_task(self._serve(webhook, group), name=f"webhook-{webhook.number}")
                group.create_task(self._read_on(), name="webhook-deliveries")
        except ExceptionGroup as several:
            raise several.exceptions[0] from None  # As the keeper knows it: a sick store is no bug.

    async def _begin(self) -> None:
        """Once: who got mail between the floor and the first word of the bus is not known, so everybody is noted."""
        if self._has_begun:
            return
        self._store_id = await self._source.store_id()
        if await self._source.tail() > self._floor:
            last = 0
            while found := await self._source.agents_after(last, AGENTS_AT_ONCE):
                self._pending.update(found)
                last = found[-1]
                await asyncio.sleep(0)
        self._has_begun = True

    async def _read_on(self) -> None:
        while not self.keeper.is_stopping:
            await self.catch_up()
            await self._forget_positions()
            self.keeper.worked()
            await self._woken.wait()
            self._woken.clear()
        await self.catch_up()
        self._has_ended = True
        self._wake()

    async def _forget_positions(self) -> None:
        """One place for all who have been looked at up to there."""
        if len(self._positions) <= MOST_POSITIONS:
            return
        tail = await self._source.tail()
        await self.catch_up()
        self._floor = tail
        self._positions = {agent: at for agent, at in self._positions.items() if at > tail}

    async def _serve(self, webhook: _Webhook, group: asyncio.TaskGroup) -> None:
        """A call that ends makes room for the next one: a slow one holds up none but itself."""
        queue = webhook.queue
        queue.begin_anew()
        while True:
            webhook.woken.clear()
            for call in queue.take(self._elapsed(), AT_ONCE - queue.under_way):
                group.create_task(self._call(webhook, call), name=f"webhook-{webhook.number}-call")
            if self._has_ended and not queue.under_way:
                return
            due_s = queue.next_due_s() if queue.under_way < AT_ONCE else None
            with suppress(TimeoutError):
                await asyncio.wait_for(webhook.woken.wait(), None if due_s is None else due_s - self._elapsed())

    async def _call(self, webhook: _Webhook, call: QueuedCall) -> None:
        try:
            await self._caller.call(webhook.place, call.body, self._clock() // SECOND)
        except WebhookFailed as failed:
            webhook.queue.failed(call, self._elapsed())
            self._note_failure(webhook, failed)
        else:
            webhook.queue.told(call)
            webhook.error = None
            self._told_at = self._clock()
        webhook.woken.set()

    def _note_failure(self, webhook: _Webhook, failed: WebhookFailed) -> None:
        """Logged once for each change; the log may name the host."""
        if webhook.error == failed.message:
            return
        webhook.error = failed.message
        facts = {"webhook": webhook.number, "host": webhook.place.shown_host, "error": failed.message}
        logger.warning("a webhook failed; it is tried again", extra={"facts": facts})

    def _wake(self) -> None:
        for webhook in self._webhooks:
            webhook.woken.set()
