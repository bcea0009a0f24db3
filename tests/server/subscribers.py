"""The official client in both eras, subscribed to resources of a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import mcp_types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

WITHIN_S = 30
HANDSHAKE, MODERN = "legacy", "2026-07-28"
ERAS = (HANDSHAKE, MODERN)


@dataclass
class Subscriber:
    """`told` are the URIs of its notifications, as they came."""

    client: Client
    told: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def subscribe(self, uri: str) -> None:
        """By the request of the handshake era: the client's own method warns of it."""
        params = mcp_types.SubscribeRequestParams(uri=uri)
        await self.client.session.send_request(mcp_types.SubscribeRequest(params=params), mcp_types.EmptyResult)

    async def unsubscribe(self, uri: str) -> None:
        params = mcp_types.UnsubscribeRequestParams(uri=uri)
        await self.client.session.send_request(mcp_types.UnsubscribeRequest(params=params), mcp_types.EmptyResult)

    async def next(self) -> str:
        async with asyncio.timeout(WITHIN_S):
            return await self.told.get()


@asynccontextmanager
async def subscribed(
    base_url: str, era: str, uris: Sequence[str], headers: Mapping[str, str] | None = None, query: str = ""
) -> AsyncIterator[Subscriber]:
    """A client over HTTP."""
    async with httpx2.AsyncClient(headers=dict(headers or {}), timeout=60) as http_client:
        transport = streamable_http_client(f"{base_url}/mcp{query}", http_client=http_client)
        async with following(transport, era, uris) as subscriber:
            yield subscriber


@asynccontextmanager
async def following(
    server: Any, era: str, uris: Sequence[str]
) -> AsyncIterator[Subscriber]:  # Any: as the client has it
    """A client that is told of these; by the handshake era on its session's stream, else on one of its own."""
    told: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        # In the modern era it hears them too, beside the stream.
        if era == HANDSHAKE and isinstance(message, mcp_types.ResourceUpdatedNotification):
            told.put_nowait(str(message.params.uri))

    async with Client(server, mode=era, message_handler=hear, cache=None) as client:
        subscriber = Subscriber(client, told)
        if era == HANDSHAKE:
            for uri in uris:
                await subscriber.subscribe(uri)
            yield subscriber
            return
        async with client.listen(resource_subscriptions=list(uris)) as stream:

            async def follow() -> None:
                async for event in stream:
                    told.put_nowait(event.uri)  # type: ignore[union-attr]  # nothing else was asked for
                subscriber.ended.set()

            task = asyncio.create_task(follow())
            try:
                yield subscriber
            finally:
                task.cancel()
                await asyncio.wait([task])
