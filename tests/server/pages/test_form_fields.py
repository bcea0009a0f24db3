from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.types import Message, Receive

from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.pages.form_fields import AT_ONCE_BYTES, MAX_FIELDS, UnfitForm, fields_of, read_form
from mcp_agent_mail.server.transport.limits import BodyTooLarge, ClientLeft
from mcp_agent_mail.web.request import Values
from mcp_agent_mail.web.routes import FORM_BYTES, LETTER_BYTES, ROUTES
from tests.server.pages.browsers import SIGN_IN, SIGN_OUT, ServedPages, serve_pages

FORM = {b"content-type": b"application/x-www-form-urlencoded; charset=utf-8"}
MIB = 1024 * 1024


def receiving(*pieces: bytes, leaves: bool = False) -> tuple[Receive, Callable[[], int]]:
    """The pieces of a body, and how many were taken."""
    taken = 0

    def messages() -> Iterator[Message]:
        for number, piece in enumerate(pieces):
            yield {"type": "http.request", "body": piece, "more_body": leaves or number < len(pieces) - 1}
        yield {"type": "http.disconnect"}

    left = messages()

    async def receive() -> Message:
        nonlocal taken
        taken += 1
        return next(left)

    return receive, lambda: taken


async def read(headers: Headers, receive: Receive, *, at_most: int) -> Values:
    return await read_form(headers, receive, at_most=at_most, places=asyncio.Semaphore(1))


async def test_fields_are_read_whatever_pieces_they_come_in() -> None:
    receive, _ = receiving(b"a=1&b=%C3%", b"A9+x&a=2&", b"empty=")

    assert await read(FORM, receive, at_most=100) == {
        "a": ("1", "2"),
        "b": ("é x",),
        "empty": ("",),
    }


@pytest.mark.parametrize("media_type", [b"", b"application/json", b"multipart/form-data; boundary=x"])
async def test_what_is_no_form_is_not_read(media_type: bytes) -> None:
    receive, taken = receiving(b"a=1")

    with pytest.raises(UnfitForm):
        await read({b"content-type": media_type}, receive, at_most=100)
    assert taken() == 0


@pytest.mark.parametrize("declared", [b"101", b"0000101", b"9" * 5_000])
async def test_what_is_said_to_be_too_large_is_not_read(declared: bytes) -> None:
    receive, taken = receiving(b"a=1")

    with pytest.raises(BodyTooLarge):
        await read({**FORM, b"content-length": declared}, receive, at_most=100)
    assert taken() == 0


async def test_what_does_not_say_how_large_it_is_is_read_to_the_bound() -> None:
    receive, taken = receiving(*[b"x" * 60] * 9)

    with pytest.raises(BodyTooLarge):
        await read(FORM, receive, at_most=119)
    assert taken() == 2
    assert await read({**FORM, b"content-length": b"100"}, receiving(b"a=" + b"x" * 98)[0], at_most=100)


async def test_whoever_leaves_is_told_apart() -> None:
    with pytest.raises(ClientLeft):
        await read(FORM, receiving(b"a=1", leaves=True)[0], at_most=100)


@pytest.mark.parametrize("length", [0, AT_ONCE_BYTES])
async def test_many_fields_are_too_many_in_forms_of_any_size(length: int) -> None:
    body = b"&".join(b"a=1" for _ in range(MAX_FIELDS)) + b"x" * length

    form = await read(FORM, receiving(body)[0], at_most=MIB)
    with pytest.raises(UnfitForm):
        await read(FORM, receiving(b"b=1&" + body)[0], at_most=MIB)

    assert len(form["a"]) == MAX_FIELDS


async def test_the_loop_goes_on_while_a_large_form_is_decoded() -> None:
    turns, is_over = 0, False

    async def beside() -> None:
        nonlocal turns
        while not is_over:
            turns += 1
            await asyncio.sleep(0)

    going_on = asyncio.create_task(beside())
    form = await read(FORM, receiving(b"body_md=" + b"%41" * MIB)[0], at_most=LETTER_BYTES)
    seen, is_over = turns, True
    await going_on

    assert form["body_md"][0] == "A" * MIB
    assert seen > 10


def test_each_form_of_the_pages_has_the_bound_that_it_needs() -> None:
    letters = {route.path for route in ROUTES if route.post is not None and route.form_bytes != FORM_BYTES}
    token = urlencode({"csrf": "0" * 64, "token": "~" * 8_192, "back": "/" * 2_000}).replace("~", "%7E")
    marks: list[Any] = [("csrf", "0" * 64), ("act", "acknowledge"), ("back", "/" * 2_000)]
    marks += [("message", str(10**15 + number)) for number in range(MAX_FIELDS - len(marks))]

    assert letters == {"/mail/{project}/message/{message}/reply", "/mail/{project}/overseer/compose"}
    assert len(token) <= FORM_BYTES
    assert len(urlencode(marks)) <= FORM_BYTES
    assert len(fields_of(urlencode(marks))["message"]) == MAX_FIELDS - 3
    assert max(route.form_bytes for route in ROUTES) == LETTER_BYTES


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedPages]:
    async with serve_pages(tmp_path, HTTP_RATE_LIMIT_ENABLED="false") as opened:
        yield opened


def port_of(served: ServedPages) -> int:
    return int(served.url.rpartition(":")[2])


async def answered_before_its_form(served: ServedPages, path: str, length: int, *headers: str) -> str:
    """The status of what is posted there, of whose form nothing is sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(served))
    head = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port_of(served)}", f"Content-Length: {length}", *headers]
    writer.write("\r\n".join([*head, "Content-Type: application/x-www-form-urlencoded", "", ""]).encode())
    try:
        async with asyncio.timeout(60):
            return (await reader.readline()).decode().split(" ")[1]
    finally:
        writer.close()


async def test_a_form_is_judged_by_its_headers_before_it_is_read(served: ServedPages) -> None:
    slug = (await served.call("ensure_project", human_key="/code/app"))["slug"]
    browser = served.browser()
    await browser.sign_in()
    cookie = "Cookie: " + "; ".join(f"{name}={value}" for name, value in browser.client.cookies.items())
    writer = served.browser()
    await writer.sign_in((await served.call("create_issued_token", expires="1d", role="writer"))["token"])
    writers = "Cookie: " + "; ".join(f"{name}={value}" for name, value in writer.client.cookies.items())
    own, compose = f"Origin: {served.url}", f"/mail/{slug}/overseer/compose"

    answers = [
        await answered_before_its_form(served, SIGN_IN, 32 * 1024 + 1, own),
        await answered_before_its_form(served, SIGN_IN, 100),
        await answered_before_its_form(served, SIGN_OUT, 32 * 1024 + 1, own, cookie),
        await answered_before_its_form(served, compose, 3_000_000, own),
        await answered_before_its_form(served, compose, 3_000_000, cookie),
        await answered_before_its_form(served, compose, 3_000_000, cookie, own, "Sec-Fetch-Site: same-site"),
        await answered_before_its_form(served, compose, 5_000_000, cookie, own),
        await answered_before_its_form(served, compose, 32 * 1024 + 1, writers, own),
        await answered_before_its_form(served, "/mail", 100, cookie, own),
    ]

    assert answers == ["413", "403", "413", "401", "403", "403", "413", "413", "405"]


async def test_a_query_of_too_many_parts_is_refused_by_a_page(served: ServedPages) -> None:
    answer = await served.browser().get("/mail?" + "&".join(f"a{number}=1" for number in range(300)))

    assert answer.status_code == 400
    assert "html" in answer.headers["content-type"]
