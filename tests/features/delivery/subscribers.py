"""Subscriptions over the mail of a harness, wired as a server wires them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.delivery.subscription_counts import MAX_SUBSCRIPTIONS, SubscriptionBounds
from mcp_agent_mail.features.delivery.subscriptions import ResourceStream, Subscriptions
from mcp_agent_mail.features.delivery.watched_resources import watchable_resources
from mcp_agent_mail.notify.bus import CopyBus
from tests.features.delivery.harness import DeliveryHarness

FAR_S = 600.0
"""Longer than a test may take: whoever has been told is not told again in it."""
WITHIN_S = 10.0


def subscriptions_over(
    harness: DeliveryHarness, *, bounds: SubscriptionBounds = MAX_SUBSCRIPTIONS, told_every_s: float = 0.0
) -> Subscriptions:
    store = harness.seeded.store

    async def settle() -> None:
        await store.write(lambda _: None)

    subscriptions = Subscriptions(
        store,
        CopyBus(store.on_copy_change),
        harness.service.waiters,
        settle,
        identify=harness.identities.caller,
        bounds=bounds,
        told_every_s=told_every_s,
        look_again_s=0.0,
    )
    subscriptions.watchable = ResourceTable(
        watchable_resources(harness.resources.specs(), store, harness.identities.caller)
    )
    return subscriptions


@dataclass
class Reading:
    changes: AsyncIterator[str]

    async def next(self) -> str:
        async with asyncio.timeout(WITHIN_S):
            return await anext(self.changes)


@asynccontextmanager
async def reading(stream: ResourceStream, reader: Credentials | None = None) -> AsyncIterator[Reading]:
    """Opened by `reader`, else by whoever subscribed."""
    async with stream.opened(reader=reader):
        yield Reading(stream.changes())
