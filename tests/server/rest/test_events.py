"""The stream of events over real HTTP: its form, its refusals, its ends; and that no cut loses or repeats a cursor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.delivery.tools import FOLLOW
from mcp_agent_mail.features.delivery.waiters import PLACES_EACH
from mcp_agent_mail.server.dispatch import RequestFacts
from mcp_agent_mail.server.rest.events import COMMENT, PATH, EventsEndpoint
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimits
from tests.server.served_mail import ME, Served, serving

FACTS = RequestFacts(credentials=Credentials(via="rpc"), request_id="req-1", opener=None)


class Reading:
    """One stream as a client reads it: `lines` as they come."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._blocks = self._split()

    async def _split(self) -> AsyncIterator[dict[str, str]]:
        block: dict[str, str] = {}
        async for line in self.answer.aiter_lines():
            if not line:
                yield block
                block = {}
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                block[name] = value

    async def block(self) -> dict[str, str]:
        async with asyncio.timeout(10):
            return await anext(self._blocks)

    async def ended(self) -> bool:
        async with asyncio.timeout(10):
            return await anext(self._blocks, None) is None


@asynccontextmanager
async def reading(
    served: Served, last: str | None = None, *, token: str | None = None, **query: Any
) -> AsyncIterator[Reading]:
    headers = {} if last is None else {"Last-Event-ID": last}
    headers |= {} if token is None else {"X-Agent-Token": token}
    params = {**ME, **query}
    async with served.client.stream("GET", PATH, params=params, headers=headers) as answer:
        assert answer.status_code == 200, (await answer.aread()).decode()
        yield Reading(answer)


async def refused(served: Served, headers: dict[str, str] | None = None, **query: Any) -> tuple[int, str]:
    answer = await served.client.get(PATH, params={**ME, **query}, headers=headers or {})
    return answer.status_code, answer.json()["error"]["type"]


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as opened:
        yield opened


async def test_a_stream_says_when_to_come_back_and_then_each_event_with_its_cursor(served: Served) -> None:
    async with reading(served) as stream:
        start = await stream.block()
        message = await served.send()
        event = await stream.block()
        (delivered,) = await served.feed()

    assert list(start) == ["retry", "id"]
    assert start["retry"] == "1000"
    assert stream.answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert (event["id"], event["event"]) == (str(delivered["cursor"]), "delivered")
    assert json.loads(event["data"]) == delivered
    assert list(delivered) == ["cursor", "event", "message_id", "ts"]
    assert delivered["message_id"] == message


async def test_a_stream_cut_at_each_event_and_resumed_by_its_last_id_gives_every_cursor_once(served: Served) -> None:
    for number in range(4):
        message = await served.send(ack_required=True)
        if number % 2:
            await served.call("acknowledge_message", agent_name="RedStone", message_id=message)
        else:
            await served.call("withdraw_message", sender_name="BlueLake", message_id=message)
    for agent in ("RedStone", "BlueLake"):
        expected = await served.feed(agent)
        got: list[Any] = []
        last = None
        for _ in expected:
            async with reading(served, last, agent_name=agent, after=0) as stream:
                assert "data" not in await stream.block()
                block = await stream.block()
            got.append(json.loads(block["data"]))
            last = block["id"]

        assert got == expected
        assert [one["cursor"] for one in got] == sorted({one["cursor"] for one in got})


async def test_who_is_cut_before_the_first_event_comes_back_to_where_it_began(served: Served) -> None:
    async with reading(served) as stream:
        start = await stream.block()
    message = await served.send()

    async with reading(served, start["id"]) as stream:
        await stream.block()
        event = json.loads((await stream.block())["data"])

    assert (event["event"], event["message_id"]) == ("delivered", message)


async def test_errors_come_as_json_before_a_stream_begins(served: Served) -> None:
    for _ in range(2):
        await served.send()
    await served.store.write(lambda tx: tx.feed.mark(tx.now, Micros(0)))
    await served.store.write(lambda tx: tx.feed.forget(tx.now, tx.now, 10))
    floor = served.services.delivery.feed_tail()

    assert await refused(served, agent_name="NoBody") == (404, "NOT_FOUND")
    assert await refused(served, after=str(floor + 1)) == (400, "CURSOR_AHEAD")
    # What a client has seen last beats what stands in its address.
    assert await refused(served, {"Last-Event-ID": str(floor - 1)}, after=floor) == (410, "CURSOR_EXPIRED")
    assert await refused(served, {"Last-Event-ID": "x"}) == (400, "INVALID_INPUT")
    assert await refused(served, sinc="1") == (400, "INVALID_INPUT")
    assert (await served.client.post(PATH, json=ME)).status_code == 405
    assert served.streams == 0


async def test_a_refusal_names_the_route_and_what_can_be_sent_next(served: Served) -> None:
    # So that a cursor below the oldest is not 0, which is always good.
    await served.send()
    await served.send()
    await served.store.write(lambda tx: tx.feed.mark(tx.now, Micros(0)))
    await served.store.write(lambda tx: tx.feed.forget(tx.now, tx.now, 10))
    floor = served.services.delivery.feed_tail()

    async def error(last: Any = "", **query: Any) -> Any:
        answer = await served.client.get(PATH, params=query, headers={"Last-Event-ID": str(last)})
        return answer.json()["error"]

    nobody = await error()
    stranger = await error(**ME, stranger="1")
    token = await error(**ME, token="s")
    no_number = await error("abc", **ME)
    by_header = await error(floor - 1, **ME)
    by_query = await error(**ME, after=floor - 1)

    assert nobody["message"].startswith(f"GET {PATH} needs project_key and agent_name")
    assert stranger["data"]["accepted"] == ["project_key", "agent_name", "after", "format"]
    assert token["hint"] == "Send the token in the header X-Agent-Token."
    assert no_number["message"].startswith("Last-Event-ID must be a whole number")
    assert no_number["hint"].startswith("Last-Event-ID is 0, or ")
    assert "without Last-Event-ID" in by_header["hint"]
    assert f"after={floor}; after=0 " in by_query["hint"]
    assert by_header["data"] == by_query["data"]


async def test_in_strict_mode_a_stream_is_its_agents_alone(tmp_path: Path) -> None:
    async with serving(tmp_path, AGENT_AUTH="strict") as served:
        status, code = await refused(served)
        async with reading(served, token=served.tokens["RedStone"]) as stream:
            assert (await stream.block())["retry"] == "1000"
        other = await refused(served, {"X-Agent-Token": served.tokens["BlueLake"]})

    assert (status, code) == (401, "AUTHENTICATION_REQUIRED")
    assert other == (403, "PERMISSION_DENIED")


async def test_a_stream_is_asked_for_as_every_route_is(tmp_path: Path) -> None:
    async with serving(tmp_path, AGENT_AUTH="strict") as served:
        proven = {"X-Agent-Token": served.tokens["RedStone"]}

        async def asked(query: str, more: dict[str, str] | None = None, body: bytes = b"") -> tuple[int, str]:
            request = served.client.build_request(
                "GET", f"{PATH}?{query}", headers={**proven, **(more or {})}, content=body
            )
            answer = await served.client.send(request, stream=True)
            try:
                if answer.status_code == 200:
                    return 200, ""
                return answer.status_code, json.loads(await answer.aread())["error"]["message"]
            finally:
                await answer.aclose()

        me = "project_key=/code/app&agent_name=RedStone"
        told = [
            await asked(f"{me}&registration_token={served.tokens['RedStone']}"),
            await asked("project_key=/code/app&agent_name=BlueLake&agent_name=RedStone"),
            await asked("project_key=/code/app&agent_name=Red%FFStone"),
            await asked(me, body=b"{}"),
            await asked(me, {"Last-Event-ID": "+1"}),
            await asked(me, {"Last-Event-ID": "1_0"}),
        ]
        fits = await asked(f"{me}&profile=core&agent=RedStone", {"Last-Event-ID": "0"})

    assert [status for status, _ in told] == [400] * 6
    wrong = ["from a URL", "more than once", "not UTF-8", "has a body", "Last-Event-ID", "Last-Event-ID"]
    assert [word for word, (_, message) in zip(wrong, told, strict=True) if word not in message] == []
    assert fits == (200, "")


async def test_a_client_that_leaves_frees_its_place(served: Served) -> None:
    async with reading(served) as stream:
        await stream.block()
        assert served.streams == 1

    await served.until_waiting()


async def test_the_sixty_fifth_stream_of_an_agent_is_refused(served: Served) -> None:
    async with AsyncExitStack() as streams:
        for _ in range(PLACES_EACH):
            await streams.enter_async_context(reading(served))

        assert await refused(served) == (503, "UNAVAILABLE")
        assert (await served.call("health_check"))["delivery"]["streams"] == PLACES_EACH
        assert f"mcp_agent_mail_event_streams {float(PLACES_EACH)}" in (await served.client.get("/metrics")).text


async def test_no_more_wait_than_leave_a_quarter_of_the_connections(tmp_path: Path) -> None:
    async with serving(tmp_path, ConnectionLimits(connections=40)) as served:
        assert served.services.delivery.waiters.figures().limit == 30


async def test_a_stop_ends_streams_and_waits_before_it_waits_for_anybody(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, reading(served) as stream:
        await stream.block()
        waiting = asyncio.create_task(
            served.client.post("/rpc/wait_for_messages", json={**ME, "timeout_s": 50}, timeout=60)
        )
        await served.until_waiting(waits=1, streams=1)

        served.services.wake()

        assert await stream.ended()
        answer = await waiting
        assert (answer.status_code, answer.json()["error"]["type"]) == (503, "UNAVAILABLE")


async def test_a_silent_stream_gets_a_comment_now_and_then(served: Served) -> None:
    services = served.services
    endpoint = EventsEndpoint(services.streams, services.identity.caller, comment_every_s=0.01)
    stream = await services.streams.run(FOLLOW, ME, FACTS.credentials)

    with stream.placed() as waiter:
        pieces = endpoint._pieces(stream, waiter, FACTS)
        got = [await anext(pieces) for _ in range(3)]

    assert got[1:] == [COMMENT, COMMENT] == [b":\n", b":\n"]


async def test_a_silent_stream_says_its_id_where_a_look_has_moved_it(served: Served) -> None:
    services = served.services
    endpoint = EventsEndpoint(services.streams, services.identity.caller, comment_every_s=0.01)
    stream = await services.streams.run(FOLLOW, ME, FACTS.credentials)
    with stream.placed() as waiter:
        pieces = endpoint._pieces(stream, waiter, FACTS)
        got = [await anext(pieces), await anext(pieces)]
        await served.send(to=["BlueLake"])
        await services.workers.shared_look.look()
        async with asyncio.timeout(10):
            while (piece := await anext(pieces)) == COMMENT:
                pass
        got.append(piece)
        await served.send(to=["RedStone"])
        async with asyncio.timeout(10):
            while b"event: " not in (piece := await anext(pieces)):
                pass
    tail = services.delivery.feed_tail()

    assert got[1:] == [COMMENT, b"id: %d\n\n" % (tail - 1)]
    assert piece.startswith(b"id: %d\nevent: delivered\n" % tail)
