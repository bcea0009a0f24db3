"""A web page that reaches the server under a name that only looks like the server's: Host, Origin, request target."""

from __future__ import annotations

import asyncio

import pytest

from tests.server.hosted import hosted, toy_app, toy_edge

MALFORMED_HOSTS = [
    "[::1].evil.com",
    "[::1]evil.com",
    "[::1]:80.evil.com",
    "[::1",
    "::1]",
    "[::1%25lo]",
    "[::1%lo]",
    "[[::1]]",
    "[localhost]",
    "user@localhost",
    "evil.com@localhost",
    "localhost@evil.com",
    "localhost:80:80",
    "localhost:8x",
    "localhost:",
    "localhost:99999",
    "localhost:²",
    "localhost,evil.com",
    "localhost, evil.com",
    "localhost evil.com",
    "localhost/evil.com",
    "localhost#evil.com",
    "localhost?evil.com",
    "localhost\\evil.com",
    "localhost..",
    ".",
    ":80",
    "http://localhost",
]
FOREIGN_HOSTS = [
    "evil.com",
    "localhost.evil.com",
    "evil-localhost",
    "[::2]",
    "[::ffff:127.0.0.1]",
    "127.1",
    "0x7f000001",
]
OUR_HOSTS = ["localhost", "LocalHost:1", "localhost.", "localhost.:8765", "127.0.0.1", "[::1]", "[0:0:0:0:0:0:0:1]:1"]
FOREIGN_ORIGINS = [
    "null",
    "http://[::1].evil.com",
    "http://[::1]:80.evil.com",
    "http://localhost@evil.com",
    "http://evil.com@localhost",
    "http://localhost.evil.com",
    "http://localhost/evil",
    "http://localhost, http://evil.com",
    "http://evil.com, http://localhost",
    "http://localhost http://evil.com",
    "http://localhost..",
    "file://localhost",
    "localhost",
    "//localhost",
    "http://",
]


_REST = ("Content-Type: application/json", "Content-Length: 2", "Connection: close")


async def status_of(url: str, *lines: str, target: str = "/rpc/count") -> int:
    """Of one request with these header lines, byte for byte."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = [
        f"POST {target} HTTP/1.1",
        *lines,
        "Content-Type: application/json",
        "Content-Length: 2",
        "Connection: close",
    ]
    writer.write("\r\n".join([*head, "", "{}"]).encode("latin-1"))
    status = int((await reader.readline()).split()[1])
    await reader.read()
    writer.close()
    await writer.wait_closed()
    return status


async def statuses(hosts: list[str], header: str = "Host") -> dict[str, int]:
    async with hosted(toy_app(toy_edge())) as url:
        first = [] if header == "Host" else ["Host: localhost"]
        return {value: await status_of(url, *first, f"{header}: {value}") for value in hosts}


async def test_a_host_that_is_no_host_is_refused_as_malformed() -> None:
    assert await statuses(MALFORMED_HOSTS) == dict.fromkeys(MALFORMED_HOSTS, 400)


async def test_a_host_of_others_is_refused_however_much_it_looks_like_ours() -> None:
    assert await statuses(FOREIGN_HOSTS) == dict.fromkeys(FOREIGN_HOSTS, 403)


async def test_every_words_of_our_own_name_is_served() -> None:
    assert await statuses(OUR_HOSTS) == dict.fromkeys(OUR_HOSTS, 200)


async def test_an_origin_of_others_is_refused_however_much_it_looks_like_ours() -> None:
    assert await statuses(FOREIGN_ORIGINS, "Origin") == dict.fromkeys(FOREIGN_ORIGINS, 403)


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "Origin",
        "Authorization",
        "X-Agent-Token",
        "X-Agent-Window",
        "Content-Type",
        "MCP-Protocol-Version",
        "Mcp-Session-Id",
        "Last-Event-ID",
    ],
)
@pytest.mark.parametrize("order", [1, -1])
async def test_a_header_that_decides_who_calls_and_how_is_refused_when_it_comes_twice(name: str, order: int) -> None:
    good = {"Host": "localhost", "Origin": "http://localhost", "Content-Type": "application/json"}.get(name, "Bearer x")
    pair = [f"{name}: {good}", f"{name.upper()}: {good.replace('localhost', 'evil.com')}"][::order]

    async with hosted(toy_app(toy_edge())) as url:
        first = [] if name == "Host" else ["Host: localhost"]
        assert await status_of(url, *first, *pair) == 400


@pytest.mark.parametrize(
    ("host", "status"), [("evil.com", 400), ("[::1].evil.com", 400), ("localhost:80", 400), ("localhost", 200)]
)
async def test_the_host_of_an_absolute_target_is_that_of_the_header(host: str, status: int) -> None:
    async with hosted(toy_app(toy_edge())) as url:
        assert await status_of(url, "Host: localhost", target=f"http://{host}/rpc/count") == status
