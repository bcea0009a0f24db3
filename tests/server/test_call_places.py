"""How many calls are at work at once, whichever way they come, and that those who wait are not counted."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_agent_mail.core.concurrency.work_place import give_up_place
from mcp_agent_mail.core.tools import Json, tool
from mcp_agent_mail.server.call_places import CallPlaces, TooManyCalls
from tests.server.hosted import hosted, toy_app
from tests.server.served_mail import ME, Served, serving
from tests.server.test_mcp import JSON_HEADERS

LONG = {**ME, "timeout_s": 50}
FULL = {"at_work": 1, "limit": 1, "retry_after_s": 1}


async def _answer() -> str:
    return "done"


async def test_beyond_the_bound_nothing_of_a_call_is_begun() -> None:
    places = CallPlaces(1)
    with places.at_work():
        with pytest.raises(TooManyCalls):
            await places.run(_answer())
        refused = places.figures()

    assert (refused.at_work, refused.refused) == (1, 1)
    assert await places.run(_answer()) == "done"
    assert (places.figures().at_work, places.figures().most) == (0, 1)


async def test_a_call_that_fails_gives_its_place_back() -> None:
    places = CallPlaces(1)

    async def fail() -> None:
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        await places.run(fail())

    assert places.figures().at_work == 0


async def test_who_waits_gives_its_place_to_others_and_takes_none_again() -> None:
    places, may_end = CallPlaces(1), asyncio.Event()

    async def wait() -> str:
        give_up_place()
        await may_end.wait()
        give_up_place()
        return "waited"

    waiting = asyncio.create_task(places.run(wait()))
    await asyncio.sleep(0)
    with places.at_work():
        may_end.set()
        assert await waiting == "waited"
        assert places.figures().at_work == 1
    assert places.figures().at_work == 0


class Toys:
    """A tool that is at work until it may end."""

    def __init__(self) -> None:
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()
        self.tool = tool(self._work, cluster="toys", title="Work")

    async def _work(self) -> Json:
        """Work."""
        self.begun.set()
        await self.may_end.wait()
        return {"worked": True}


async def test_a_full_house_is_unavailable_in_each_way_and_says_when_to_come_again() -> None:
    toys = Toys()
    app = toy_app(more_tools=(toys.tool,), places=CallPlaces(1))
    async with hosted(app) as url, httpx.AsyncClient(base_url=url, headers=JSON_HEADERS, timeout=60) as client:
        working = asyncio.create_task(client.post("/rpc/_work", json={}))
        await toys.begun.wait()

        by_rpc = await client.post("/rpc/count", json={})
        read = await client.post("/rpc/read_resource", json={"uri": "resource://toys"})
        by_mcp = await _over_mcp(client, "tools/call", {"name": "count", "arguments": {}})
        read_by_mcp = await _over_mcp(client, "resources/read", {"uri": "resource://toys"})
        alive = await client.get("/health/liveness")
        toys.may_end.set()
        worked = await working
        after = await client.post("/rpc/count", json={})

    for refused in (by_rpc, read):
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert (refused.json()["error"]["type"], refused.json()["error"]["data"]) == ("UNAVAILABLE", FULL)
    assert by_mcp["result"]["isError"]
    assert by_mcp["result"]["structuredContent"]["error"]["data"] == FULL
    assert read_by_mcp["error"]["data"]["error"]["data"] == FULL
    assert (alive.status_code, worked.json(), after.status_code) == (200, {"worked": True}, 200)


async def _over_mcp(client: httpx.AsyncClient, method: str, params: dict[str, Any]) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return (await client.post("/mcp", json=message)).json()


async def test_waits_for_mail_take_no_places(tmp_path: Path) -> None:
    async with serving(tmp_path, HTTP_MAX_CALLS="8") as served:
        waits = [asyncio.create_task(served.call("wait_for_messages", **LONG)) for _ in range(10)]
        await served.until_waiting(waits=10)

        message = await served.send()

        assert [one["messages"][0]["id"] for one in await asyncio.gather(*waits)] == [message] * 10


async def test_waits_for_leases_take_no_places(tmp_path: Path) -> None:
    async with serving(tmp_path, HTTP_MAX_CALLS="8") as served:
        wish = {"agent_name": "RedStone", "paths": ["a.py"]}
        (held,) = (await served.call("file_reservation_paths", **{**wish, "agent_name": "BlueLake"}))["granted"]
        waits = [asyncio.create_task(served.call("file_reservation_paths", **wish, wait_seconds=50)) for _ in range(10)]
        await _until_in_line(served, 10)

        await served.call("release_file_reservations", agent_name="BlueLake", paths=["a.py"])
        granted = await asyncio.gather(*waits)

    assert held["path_pattern"] == "a.py"
    assert [one["granted"][0]["path_pattern"] for one in granted] == ["a.py"] * 10


async def _until_in_line(served: Served, count: int) -> None:
    queue = served.services.leases.reservations._reserver._queue
    async with asyncio.timeout(10):
        while len(queue) != count:  # noqa: ASYNC110  # nobody tells a test
            await asyncio.sleep(0.005)


async def test_a_full_queue_of_the_writer_is_unavailable_and_says_when_to_come_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        may_go_on, has_begun = threading.Event(), threading.Event()
        writer = served.store._writer
        writer._max_pending = 1  # instead of 2,000

        def hold(_: object) -> None:
            has_begun.set()
            may_go_on.wait()

        held = asyncio.create_task(writer.write(hold))
        await asyncio.to_thread(has_begun.wait)
        queued = asyncio.create_task(writer.write(lambda _: None))
        await asyncio.sleep(0)
        letter = {"project_key": "/code/app", "sender_name": "BlueLake", "to": ["RedStone"], "subject": "s"}
        try:
            refused = await served.client.post("/rpc/send_message", json={**letter, "body_md": "b"})
        finally:
            may_go_on.set()
            await asyncio.gather(held, queued)
        sent = await served.client.post("/rpc/send_message", json={**letter, "body_md": "b"})

    error = refused.json()["error"]
    assert (refused.status_code, refused.headers["retry-after"], error["type"]) == (503, "1", "UNAVAILABLE")
    assert (error["data"]["retry_after_s"], sent.status_code) == (1, 200)
