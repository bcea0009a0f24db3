from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from mcp_agent_mail.server.pages.codings import SMALLEST_BYTES, is_asked_by_own, takes_gzip, zipped
from mcp_agent_mail.web.request import PageAnswer
from tests.server.pages.browsers import SIGN_IN, ServedPages, serve_pages

CODINGS = "gzip, deflate, br, zstd"


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        (b"gzip", True),
        (b"gzip, deflate, br, zstd", True),
        (b"br;q=1.0, GZIP;q=0.2", True),
        (b"*", True),
        (b"gzip ; q = 1", True),
        (b"", False),
        (b"br", False),
        (b"identity", False),
        (b"gzip;q=0", False),
        (b"gzip; q=0.000", False),
        (b"gzipped", False),
        (b",;q,;", False),
    ],
)
def test_gzip_is_sent_to_whoever_takes_it(said: bytes, taken: bool) -> None:
    assert takes_gzip({b"accept-encoding": said}) is taken


def test_who_says_nothing_takes_nothing() -> None:
    assert takes_gzip({}) is False
    assert is_asked_by_own({}) is False


@pytest.mark.parametrize(
    ("site", "own"),
    [(b"none", True), (b"same-origin", True), (b"same-site", False), (b"cross-site", False), (b"", False)],
)
def test_only_the_person_and_our_own_pages_ask_for_what_is_compressed(site: bytes, own: bool) -> None:
    assert is_asked_by_own({b"sec-fetch-site": site}) is own


async def test_text_is_the_same_when_it_is_unpacked() -> None:
    answer = PageAnswer(status=404, body=b"<p>mail</p>" * 1_000, headers=(("x-a", "b"),))

    packed = await zipped(answer, asyncio.Semaphore(1))

    assert gzip.decompress(packed.body) == answer.body
    assert len(packed.body) < len(answer.body) / 10
    assert (packed.status, packed.headers) == (404, (("x-a", "b"), ("content-encoding", "gzip")))


@pytest.mark.parametrize(
    "answer",
    [
        PageAnswer(body=b"a" * (SMALLEST_BYTES - 1)),
        PageAnswer(body=b"a" * SMALLEST_BYTES, media_type="image/png"),
        PageAnswer(status=303, headers=(("location", "/mail"),)),
    ],
)
async def test_what_is_short_or_no_text_stays_as_it_is(answer: PageAnswer) -> None:
    assert await zipped(answer, asyncio.Semaphore(1)) is answer


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedPages]:
    async with serve_pages(tmp_path, HTTP_RATE_LIMIT_ENABLED="false") as opened:
        yield opened


async def _ask(served: ServedPages, path: str, method: str = "GET", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient(base_url=served.url) as client:
        return await client.request(method, path, headers={"accept-encoding": CODINGS, **named})


@pytest.mark.parametrize("path", ["/mail", "/mail/api/unified-inbox", "/mail/nowhere/at/all", SIGN_IN])
async def test_a_page_is_compressed_where_the_person_asks_and_nowhere_else(served: ServedPages, path: str) -> None:
    own = await _ask(served, path, sec_fetch_site="none")
    other = await _ask(served, path, sec_fetch_site="same-site")
    silent = await _ask(served, path)
    plain = await _ask(served, path, sec_fetch_site="none", accept_encoding="identity")

    is_long = len(other.content) >= SMALLEST_BYTES
    assert own.headers.get("content-encoding") == ("gzip" if is_long else None)
    assert [one.headers.get("content-encoding") for one in (other, silent, plain)] == [None] * 3
    assert {one.status_code for one in (own, other, silent, plain)} == {own.status_code}
    assert own.headers["content-security-policy"] == plain.headers["content-security-policy"]
    assert own.headers["cache-control"] == "no-store"


async def test_what_is_asked_without_its_body_says_how_long_that_is(served: ServedPages) -> None:
    whole = await _ask(served, "/mail/search", sec_fetch_site="none")
    head = await _ask(served, "/mail/search", "HEAD", sec_fetch_site="none")

    assert head.headers["content-encoding"] == "gzip"
    assert head.content == b""
    assert int(head.headers["content-length"]) == whole.num_bytes_downloaded


async def test_assets_are_compressed_for_all_but_fonts_for_nobody(served: ServedPages) -> None:
    page = await _ask(served, "/mail")
    style = re.findall(r'href="(/assets/[^"]+frame\.css)"', page.text)[0]
    font = re.findall(r'href="(/assets/[^"]+inter\.woff2)"', page.text)[0]

    packed, plain = await _ask(served, style), await _ask(served, style, accept_encoding="br")
    face = await _ask(served, font)

    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content
    assert packed.num_bytes_downloaded < plain.num_bytes_downloaded / 2
    assert "content-encoding" not in plain.headers
    assert "content-encoding" not in face.headers
    assert packed.headers["vary"] == plain.headers["vary"] == "accept-encoding"
