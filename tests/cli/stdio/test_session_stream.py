"""The stdio proxy passes on what a session is told by itself, over a restart too."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters

from tests.cli.stdio_clients import COMMAND, Household
from tests.server.subscribers import ERAS, HANDSHAKE, MODERN, Subscriber, following

PROJECT = "/srv/shop"
INBOX = "resource://inbox/RedStone"


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Household]:
    with Household(tmp_path) as household:
        with household.client() as client:
            client.open()
            client.tool("ensure_project", human_key=PROJECT)
            for name in ("BlueLake", "RedStone"):
                registering = {"project_key": PROJECT, "name": name, "program": "p", "model": "m"}
                client.ask("tools/call", name="register_agent", arguments=registering)
        yield household


def _send(household: Household) -> None:
    """By another client, which starts a server where there is none."""
    with household.client() as client:
        client.open()
        sent = client.tool(
            "send_message",
            project_key=PROJECT,
            sender_name="BlueLake",
            to=["RedStone"],
            subject="s",
            body_md="b",
        )
        assert sent["deliveries"]


@asynccontextmanager
async def subscribed(household: Household, era: str) -> AsyncIterator[Subscriber]:
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=household.environment, cwd=household.home)
    async with following(server, era, [INBOX]) as subscriber:
        yield subscriber


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_on_stdio_is_told_of_what_it_subscribed_to(household: Household, era: str) -> None:
    async with subscribed(household, era) as subscriber:
        await asyncio.to_thread(_send, household)

        assert await subscriber.next() == INBOX


@pytest.mark.parametrize(
    ("era", "stop"), [(HANDSHAKE, signal.SIGTERM), (HANDSHAKE, signal.SIGKILL), (MODERN, signal.SIGKILL)]
)
async def test_it_goes_on_with_the_next_server_and_says_that_all_may_have_changed(
    household: Household, era: str, stop: signal.Signals
) -> None:
    async with subscribed(household, era) as subscriber:
        await asyncio.to_thread(_send, household)
        before = await subscriber.next()
        await asyncio.to_thread(household.stop_server, stop)
        # Another client needs a server, and so there is one.
        await asyncio.to_thread(_send, household)
        missed = await subscriber.next()
        await asyncio.to_thread(_send, household)
        after = await subscriber.next()

    assert (before, missed, after) == (INBOX,) * 3


async def test_a_stop_ends_what_the_modern_era_subscribed_to(household: Household) -> None:
    async with subscribed(household, MODERN) as subscriber:
        await asyncio.to_thread(household.stop_server, signal.SIGTERM)

        async with asyncio.timeout(10):
            await subscriber.ended.wait()
