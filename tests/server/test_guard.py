"""The guard's two doors: what is asked and reported there, and how they refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.guard.events import MAX_EVENTS_AT_ONCE
from mcp_agent_mail.features.guarding.schemas import MAX_PATHS
from mcp_agent_mail.server.assembly import _guard
from mcp_agent_mail.server.dispatch import RequestFacts
from mcp_agent_mail.server.guard import GuardEndpoint
from mcp_agent_mail.server.transport.limits import MAX_BODY_BYTES, BodyTooLarge
from tests.server.whole_app import asking, open_services, open_whole_app, settings_of

CODE = "/code/app"
JSON = {"Content-Type": "application/json"}
FACTS = RequestFacts(credentials=Credentials(via="rpc"), request_id="req-1", opener=None)
EVENT = {
    "event_key": "0" * 32,
    "ts": "2026-01-01T00:00:00Z",
    "project": CODE,
    "action": "warned",
    "hook": "check",
    "agent": "BlueLake",
    "repository": "/code",
    "detail": {"paths": []},
}


class Doors:
    def __init__(self, services: Services, check: httpx.AsyncClient, events: httpx.AsyncClient) -> None:
        self.services = services
        self._clients = {"check": check, "events": events}

    async def post(
        self, door: str, *, json: Any = None, content: bytes | None = None, **headers: str
    ) -> httpx.Response:
        return await self._clients[door].post(f"/guard/{door}", json=json, content=content, headers=headers)

    async def call(self, tool: str, **arguments: object) -> Any:
        return await self.services.tools.run(tool, arguments, Credentials(via="rpc"))


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    """With a project that has BlueLake and RedStone."""
    async with open_services(settings_of(tmp_path)) as (services, _):
        endpoint = _guard(services)
        async with asking(endpoint.check, FACTS) as check, asking(endpoint.record, FACTS) as events:
            opened = Doors(services, check, events)
            await opened.call("ensure_project", human_key=CODE)
            for name in ("BlueLake", "RedStone"):
                await opened.call("register_agent", project_key=CODE, program="p", model="m", name=name)
            yield opened


async def test_a_check_names_what_others_hold_and_how_it_was_asked_for(doors: Doors) -> None:
    await doors.call("file_reservation_paths", project_key=CODE, agent_name="RedStone", paths=["src/**"], reason="why")

    answer = await doors.post("check", json={"project": CODE, "agent": "bluelake", "paths": ["src/%41.py", "docs/a"]})

    value = answer.json()
    (held,) = value["held"]
    assert (answer.status_code, value["agent"], value["held_count"]) == (200, "BlueLake", 1)
    assert (held["path"], held["holder"]["agent"], held["holder"]["reason"]) == ("src/%41.py", "RedStone", "why")


async def test_an_event_sent_twice_is_stored_once(doors: Doors) -> None:
    answers = [(await doors.post("events", json={"events": [EVENT]})).json() for _ in range(2)]

    assert answers == [{"stored": 1, "known": 0}, {"stored": 0, "known": 1}]


async def test_at_both_doors_what_is_no_question_of_the_guard_is_refused(doors: Doors) -> None:
    for door in ("check", "events"):
        form = await doors.post(door, content=b"{}", **{"Content-Type": "text/plain"})
        untyped = await doors.post(door, content=b"{}")
        typed = {"Content-Type": "Application/JSON; charset=utf-8"}
        unfit = [await doors.post(door, content=body, **typed) for body in (b"{", b"[]", b"\xff", b"{}")]

        assert (form.status_code, untyped.status_code) == (415, 415)
        assert {(answer.status_code, answer.json()["error"]["type"]) for answer in unfit} == {(400, "INVALID_INPUT")}
        assert ["JSON" in answer.json()["error"]["message"] for answer in unfit] == [True, True, True, False]


async def test_lists_and_bodies_are_bounded_and_a_project_must_be_known(doors: Doors) -> None:
    paths = await doors.post("check", json={"project": CODE, "paths": [str(number) for number in range(MAX_PATHS + 1)]})
    events = await doors.post("events", json={"events": [{}] * (MAX_EVENTS_AT_ONCE + 1)})
    unknown = await doors.post("check", json={"project": "/code/nobody-knows", "paths": ["a"]})
    with pytest.raises(BodyTooLarge):
        await doors.post("check", content=b" " * (MAX_BODY_BYTES + 1), **JSON)

    assert [answer.json()["error"]["type"] for answer in (paths, events)] == ["INVALID_INPUT"] * 2
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (404, "NOT_FOUND")


async def test_a_bug_is_masked_and_names_its_request(doors: Doors) -> None:
    async def broken() -> Any:
        raise ValueError("secret")

    endpoint = GuardEndpoint(doors.services.guarding, doors.services.resolver, broken)
    async with asking(endpoint.check, FACTS) as client:
        answer = await client.post("/guard/check", json={"project": CODE, "paths": ["a"]})

    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "INTERNAL")
    assert answer.json()["error"]["data"] == {"request_id": "req-1"}
    assert "secret" not in answer.text


async def test_both_doors_are_in_the_application_and_guarded_like_the_tools(tmp_path: Path) -> None:
    paths = ("/guard/check", "/guard/events")
    async with open_whole_app(tmp_path) as app:
        opened = [await app.client.post(path, json={}) for path in paths]
        closed = [
            await app.client.post(path, json={}, headers=header)
            for path in paths
            for header in ({"Host": "evil.example"}, {"Origin": "https://evil.example"})
        ]

    assert [answer.json()["error"]["type"] for answer in opened] == ["INVALID_INPUT"] * 2
    assert [answer.status_code for answer in closed] == [403] * 4
