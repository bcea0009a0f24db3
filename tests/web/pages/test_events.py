"""The stream of events over real HTTP: what comes, for whom, and when it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.web_sessions import OpenedBy, SessionGrant
from mcp_agent_mail.features.oversight.events import MAX_STREAMS, PLACES_FOR_SIGNED_IN, EventStream
from mcp_agent_mail.web.cookies import SESSION_COOKIE, cookie_name
from tests.server.served_mail import Served, serving
from tests.server.whole_app import OPERATOR

EVENTS = "/mail/events"


async def _lines(answer: httpx.Response) -> AsyncIterator[str]:
    async for line in answer.aiter_lines():
        yield line


async def _until(lines: AsyncIterator[str], start: str) -> str:
    async with asyncio.timeout(20):
        async for line in lines:
            if line.startswith(start):
                return line
    raise AssertionError(start)


async def test_new_mail_is_told_by_numbers_and_a_return_goes_on_behind_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        async with served.client.stream("GET", EVENTS) as answer:
            lines = _lines(answer)
            await _until(lines, "event: begin")
            number = await served.send(subject="SECRETSUBJECT")
            last = await _until(lines, "id: ")
            event, data = await _until(lines, "event: "), await _until(lines, "data: ")
        headers = {"last-event-id": last.removeprefix("id: ")}
        async with served.client.stream("GET", EVENTS, headers=headers) as answer:
            lines = _lines(answer)
            await _until(lines, "event: begin")
            behind = await _until(lines, "event: ")

    assert event == "event: mail"
    assert data == f'data: {{"kind":"mail","id":{number},"project_id":1}}'
    assert behind == "event: receipt"


async def test_a_page_says_behind_which_event_it_was_made(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        page = (await served.client.get("/mail")).text
        after = page.partition('data-after="')[2].partition('"')[0]
        number = await served.send(subject="Between the page and its stream")
        async with served.client.stream("GET", EVENTS, params={"after": after}) as answer:
            lines = _lines(answer)
            await _until(lines, "event: begin")
            told = await _until(lines, "event: "), await _until(lines, "data: ")

    assert told == ("event: mail", f'data: {{"kind":"mail","id":{number},"project_id":1}}')


async def test_silence_is_no_silence_to_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventStream.pages, "__kwdefaults__", {"silence_s": 0.05})
    async with serving(tmp_path) as served, served.client.stream("GET", EVENTS) as answer:
        assert await _until(_lines(answer), "event: beat")


async def test_the_stream_ends_with_its_session(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        sessions = served.services.pages.sessions
        opened = await sessions.open(SessionGrant(by=OpenedBy.LINK, role=Role.OPERATOR))
        cookie = {"cookie": f"{cookie_name(SESSION_COOKIE, served.client.base_url.port or 0)}={opened.secret}"}
        async with served.client.stream("GET", EVENTS, headers={**cookie}) as answer:
            lines = _lines(answer)
            await _until(lines, "event: begin")
            await sessions.end(opened.session.id)
            async with asyncio.timeout(20):
                rest = [line async for line in lines]

    assert all(not line.startswith("event:") for line in rest)
    assert served.services.pages.events.count == 0


async def test_whoever_leaves_gives_its_place_back_and_headers_alone_take_none(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        for _ in range(2):
            async with served.client.stream("GET", EVENTS) as answer:
                await _until(_lines(answer), "event: begin")
        headers_alone = await served.client.head(EVENTS)
        async with asyncio.timeout(20):
            while served.services.pages.events.count:  # noqa: ASYNC110  # nobody tells of it
                await asyncio.sleep(0.01)

    assert headers_alone.status_code == 200
    assert headers_alone.headers["content-type"].startswith("text/event-stream")


async def test_one_stream_too_many_is_a_page_that_says_when_to_come_back(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        await _fill(served)
        answer = await served.client.get(EVENTS)

    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "10"


async def test_whoever_only_looks_leaves_places_for_others(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        anybody = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
        hub = served.services.pages.events
        for number in range(MAX_STREAMS - PLACES_FOR_SIGNED_IN):
            await hub.open(anybody, payer=f"address {number}")
        answer = await served.client.get(EVENTS)
        await hub.open(Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN))

    assert answer.status_code == 503


async def _fill(served: Served) -> None:
    caller = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
    for _ in range(MAX_STREAMS):
        await served.services.pages.events.open(caller)


async def test_of_held_mail_anybody_is_told_nothing_and_the_operator_its_number(tmp_path: Path) -> None:
    operator = {"authorization": f"Bearer {OPERATOR}"}
    async with serving(tmp_path) as served:
        await served.call("set_contact_policy", agent_name="RedStone", policy="contacts_only")
        await served.call("register_agent", name="GreenField", program="p", model="m")
        async with (
            served.client.stream("GET", EVENTS) as anybodys,
            served.client.stream("GET", EVENTS, headers=operator) as operators,
        ):
            lines, all_lines = _lines(anybodys), _lines(operators)
            for each in (lines, all_lines):
                await _until(each, "event: begin")
            held = await served.send()
            shown = await served.send(to=["GreenField"])
            to_anybody, to_the_operator = [await _numbers(each, shown) for each in (lines, all_lines)]

    assert held not in to_anybody
    assert held in to_the_operator


async def _numbers(lines: AsyncIterator[str], last: int) -> list[int]:
    """Of all messages that are told, as far as this one."""
    numbers: list[int] = []
    while last not in numbers:
        if (await _until(lines, "event: ")).removeprefix("event: ") in ("mail", "receipt", "held"):
            numbers.append(json.loads((await _until(lines, "data: ")).removeprefix("data: "))["id"])
    return numbers


async def test_where_a_browser_says_both_the_last_event_that_it_heard_counts(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        async with served.client.stream("GET", EVENTS) as answer:
            lines = _lines(answer)
            await _until(lines, "event: begin")
            await served.send()
            first, second = [(await _until(lines, "id: ")).removeprefix("id: ") for _ in range(2)]
        behind = []
        for asked, header in ((first, ""), ("", first), (second, first), ("nothing", first)):
            given = {"params": {"after": asked}, "headers": {"last-event-id": header}}
            async with served.client.stream("GET", EVENTS, **given) as answer:  # type: ignore[arg-type]
                lines = _lines(answer)
                await _until(lines, "event: begin")
                behind.append((await _until(lines, "id: ")).removeprefix("id: "))

    assert behind == [second] * 4
