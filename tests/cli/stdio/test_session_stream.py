"""The stdio proxy passes on what a session is told by itself, over a restart too."""

from __future__ import annotations

import asyncio
import json
import queue
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters

from mcp_agent_mail.cli.stdio import session_stream
from mcp_agent_mail.cli.stdio.session_stream import SUBSCRIBE, SessionStream
from tests.cli.scripted_server import Scripted, ScriptedServer, answer, events
from tests.cli.stdio.test_upstream import upstream_of
from tests.cli.stdio_clients import COMMAND, Household
from tests.server.subscribers import ERAS, HANDSHAKE, MODERN, Subscriber, following

PROJECT = "/srv/shop"
INBOX = "resource://inbox/RedStone"
BLUES = "resource://inbox/BlueLake"
UPDATED = "notifications/resources/updated"


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


def _send(household: Household, sender: str = "BlueLake", to: str = "RedStone") -> None:
    """By another client, which starts a server where there is none."""
    with household.client() as client:
        client.open()
        sent = client.tool(
            "send_message",
            project_key=PROJECT,
            sender_name=sender,
            to=[to],
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


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGKILL])
def test_who_first_subscribes_after_a_restart_is_subscribed_in_a_session_of_the_next_server(
    household: Household, stop: signal.Signals
) -> None:
    with household.client() as client:
        client.open()
        household.stop_server(stop)
        _send(household)
        assert client.ask(SUBSCRIBE, uri=INBOX)["result"] == {}
        _send(household)
        told = client.read()

    assert (told["method"], told["params"]["uri"]) == (UPDATED, INBOX)


async def test_who_subscribes_to_more_before_the_stream_goes_on_is_told_of_all_of_it(household: Household) -> None:
    async with subscribed(household, HANDSHAKE) as subscriber:
        await asyncio.to_thread(_send, household)
        told = [await subscriber.next()]
        await asyncio.to_thread(household.stop_server, signal.SIGKILL)
        await asyncio.to_thread(_send, household)
        await subscriber.subscribe(BLUES)
        told.append(await subscriber.next())
        await asyncio.to_thread(_send, household, "RedStone", "BlueLake")
        while told[-1] != BLUES:
            told.append(await subscriber.next())

    assert told[:2] == [INBOX, INBOX]


class _Told:
    """A session with a scripted server, and what its client is told."""

    def __init__(self, root: Path, server: ScriptedServer) -> None:
        self.lines: queue.Queue[bytes] = queue.Queue()
        upstream = upstream_of(root, AGENT_MAIL_URL=server.url)
        self.stream = SessionStream(upstream, self.lines.put)
        connection = upstream.connect()
        response = upstream.send(connection, "POST", b"{}", {})
        self.stream.begin(b"{}", response, response.read())
        connection.close()

    def subscribe(self, uri: str) -> None:
        self.stream.note({"method": SUBSCRIBE, "params": {"uri": uri}}, b'{"result": {}}')

    def next(self) -> str:
        return str(json.loads(self.lines.get(timeout=30))["params"]["uri"])


def _opened(session: str = "one") -> Scripted:
    return Scripted(body=b'{"result": {"protocolVersion": "2025-11-25"}}', headers={"Mcp-Session-Id": session})


def _updated(uri: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": uri}}


def test_a_stream_that_broke_off_in_a_session_that_goes_on_may_have_missed_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_stream, "FIRST_WAIT_S", 0.0)
    with ScriptedServer(_opened(), events(_updated(BLUES)), events(_updated(BLUES))) as server:
        client = _Told(tmp_path, server)
        client.subscribe(INBOX)
        told = [client.next() for _ in range(3)]
        client.stream.end()

    assert told == [BLUES, INBOX, BLUES], "of the first stream nothing was missed"


def test_what_the_server_refuses_in_the_next_session_is_not_told_after_a_break_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_stream, "FIRST_WAIT_S", 0.0)
    unknown = answer({}, status=404)
    renewed = [_opened("two"), answer({}), answer({"error": {}}), answer({"result": {}})]
    with ScriptedServer(_opened(), unknown, *renewed, events(), events(_updated(BLUES))) as server:
        client = _Told(tmp_path, server)
        client.stream._uris[INBOX] = True
        client.subscribe("resource://message/7")
        told = [client.next() for _ in range(3)]
        client.stream.end()

    assert told == ["resource://message/7", "resource://message/7", BLUES]
