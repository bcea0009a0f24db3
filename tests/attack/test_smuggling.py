"""An attacker behind a proxy that reads a request otherwise than we do: no second one is ever served out of a body.

Each is sent on a socket of its own, with a whole request where the two readings part. What two readers could
take for two things is refused, and the connection ends with it.
"""

from __future__ import annotations

import pytest

from tests.attack.test_unread_requests import ALIVE, say, status_of
from tests.server.hosted import hosted, toy_app

SMUGGLED = b"GET /health/liveness HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
POST = b"POST /rpc/count HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"
NO_MORE = b"0\r\n\r\n"
ONE = b"2\r\n{}\r\n" + NO_MORE
PARTED = {
    "CL.TE": CHUNKED + b"Content-Length: %d\r\n\r\n" % len(NO_MORE + SMUGGLED) + NO_MORE + SMUGGLED,
    "TE.CL": POST
    + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(SMUGGLED)
    + SMUGGLED
    + b"\r\n"
    + NO_MORE,
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 90\r\n\r\n{}" + SMUGGLED,
    "the same length twice": POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" + SMUGGLED,
    "a list of lengths": POST + b"Content-Length: 2, 2\r\n\r\n{}" + SMUGGLED,
    "a length with a sign": POST + b"Content-Length: +2\r\n\r\n{}" + SMUGGLED,
    "a length below zero": POST + b"Content-Length: -1\r\n\r\n" + SMUGGLED,
    "a length in hexadecimal": POST + b"Content-Length: 0x2\r\n\r\n{}" + SMUGGLED,
    "a length beyond 64 bits": POST + b"Content-Length: 18446744073709551618\r\n\r\n{}" + SMUGGLED,
    "lines that end in LF": POST.replace(b"\r\n", b"\n") + b"Content-Length: 2\n\n{}" + SMUGGLED,
    "a header that ends in LF": POST + b"X-One: more\nContent-Length: 2\r\n\r\n{}" + SMUGGLED,
    "a head that ends in LF": POST + b"Content-Length: 2\r\n\n{}" + SMUGGLED,
    "CR alone in a header": POST + b"X-One: more\rContent-Length: 2\r\n\r\n{}" + SMUGGLED,
    "a folded header": POST + b"X-One: more\r\n and more\r\nContent-Length: 2\r\n\r\n{}" + SMUGGLED,
    "a folded coding": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + NO_MORE + SMUGGLED,
    "a blank before the first header": POST.replace(b"Host", b" Host") + b"Content-Length: 2\r\n\r\n{}" + SMUGGLED,
    "a blank before the colon of a length": POST + b"Content-Length : 2\r\n\r\n{}" + SMUGGLED,
    "a blank before the colon of a coding": POST + b"Transfer-Encoding : chunked\r\n\r\n" + NO_MORE + SMUGGLED,
    "a coding behind a vertical tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + NO_MORE + SMUGGLED,
    "chunked twice": CHUNKED + b"Transfer-Encoding: chunked\r\n\r\n" + NO_MORE + SMUGGLED,
    "chunked before another coding": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n" + NO_MORE + SMUGGLED,
    "identity with a length": POST + b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}" + SMUGGLED,
    "NUL in a value": POST + b"X-One: mo\0re\r\nContent-Length: 2\r\n\r\n{}" + SMUGGLED,
    "NUL in a name": POST + b"X-O\0ne: more\r\nContent-Length: 2\r\n\r\n{}" + SMUGGLED,
    "NUL in the target": POST.replace(b"count", b"cou\0nt") + b"Content-Length: 2\r\n\r\n{}" + SMUGGLED,
    "a header without a name": POST + b": more\r\nContent-Length: 2\r\n\r\n{}" + SMUGGLED,
    "a header without a colon": POST + b"more\r\nContent-Length: 2\r\n\r\n{}" + SMUGGLED,
    "a chunk with LF behind an extension": CHUNKED + b"\r\n2;one\n{}\r\n" + NO_MORE + SMUGGLED,
    "a chunk with CR in an extension": CHUNKED + b"\r\n2;o\rne\r\n{}\r\n" + NO_MORE + SMUGGLED,
    "a chunk with NUL in an extension": CHUNKED + b"\r\n2;one=\0\r\n{}\r\n" + NO_MORE + SMUGGLED,
    "a chunk that is longer than it says": CHUNKED + b"\r\n2\r\n{}XX" + NO_MORE + SMUGGLED,
    "chunks with LF": CHUNKED + b"\r\n" + ONE.replace(b"\r\n", b"\n") + SMUGGLED,
    "a chunk's size with a blank": CHUNKED + b"\r\n2 \r\n{}\r\n" + NO_MORE + SMUGGLED,
    "a chunk's size as 0x": CHUNKED + b"\r\n0x2\r\n{}\r\n" + NO_MORE + SMUGGLED,
    "a chunk's size below zero": CHUNKED + b"\r\n-2\r\n{}\r\n" + NO_MORE + SMUGGLED,
    "a chunk's size beyond 64 bits": CHUNKED + b"\r\n10000000000000002\r\n{}\r\n" + NO_MORE + SMUGGLED,
    "a length among the trailers": CHUNKED + b"\r\n2\r\n{}\r\n0\r\nContent-Length: 90\r\n\r\n" + SMUGGLED,
    "another version": POST.replace(b"1.1", b"1.2") + b"Content-Length: 2\r\n\r\n{}" + SMUGGLED,
    "a tunnel": b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n" + SMUGGLED,
}


@pytest.mark.parametrize("sent", PARTED.values(), ids=PARTED)
async def test_what_two_readers_take_for_two_things_is_refused_and_the_connection_ends(sent: bytes) -> None:
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, sent)

    assert status_of(heard) == 400, heard
    assert (heard.count(b"HTTP/1.1 4"), heard.count(b"HTTP/1.1 2"), ALIVE in heard) == (1, 0, False)


@pytest.mark.parametrize("bit", [1, 2, 3, 7])
async def test_what_comes_in_small_pieces_is_refused_as_well(bit: int) -> None:
    sent = PARTED["CL.TE"]
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, *(sent[begin : begin + bit] for begin in range(0, len(sent), bit)))

    assert (status_of(heard), ALIVE in heard) == (400, False)


WHOLE = {
    "the body of a GET": (b"GET /rpc/count HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", 405),
    "a body of text": (POST + b"Connection: close\r\n", 400),
    "an underscore in the name": (POST.replace(b"Host", b"Content_Length: 2\r\nHost") + b"Connection: close\r\n", 400),
    "a length that Connection names": (POST + b"Connection: close, content-length\r\n", 400),
}


@pytest.mark.parametrize(("head", "status"), WHOLE.values(), ids=WHOLE)
async def test_a_request_that_is_a_body_is_a_body(head: bytes, status: int) -> None:
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, head + b"Content-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED)

    assert (status_of(heard), heard.count(b"HTTP/1.1 "), ALIVE in heard) == (status, 1, False)


async def test_frames_of_chunks_may_not_be_out_of_proportion_to_what_they_hold() -> None:
    """Each extension alone is within what a head may have: bytes that are read for nothing would have no end."""
    piece = b"1;" + b"a" * 10_000 + b"\r\n \r\n"
    async with hosted(toy_app()) as url:
        heard, sent = await say(url, CHUNKED + b"\r\n", and_on=piece)

    assert status_of(heard) == 431
    assert sent < 64 * 1024 * 1024


async def test_a_body_in_pieces_of_one_byte_is_read() -> None:
    body = b'{"limit":       2}' + b" " * 60_000
    pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, CHUNKED + b"Connection: close\r\n\r\n" + pieces + NO_MORE)

    assert (status_of(heard), heard.count(b'"number"')) == (200, 2)


@pytest.mark.parametrize(
    ("target", "hosts", "status"),
    [
        (b"http://localhost/health/liveness", b"Host: localhost\r\n", 200),
        (b"http://LOCALHOST/health/liveness", b"Host: localhost\r\n", 200),
        (b"http://evil.example/health/liveness", b"Host: localhost\r\n", 400),
        (b"http://localhost/health/liveness", b"Host: evil.example\r\n", 400),
        (b"http://localhost@evil.example/health/liveness", b"Host: localhost\r\n", 400),
        (b"http://localhost/health/liveness", b"", 400),
        (b"http://localhost/health/liveness", b"Host: localhost\r\nHost: evil.example\r\n", 400),
    ],
)
async def test_a_target_that_names_another_host_is_refused(target: bytes, hosts: bytes, status: int) -> None:
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, b"GET " + target + b" HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")

    assert status_of(heard) == status


@pytest.mark.parametrize("name", [b"Authorization", b"Content-Type", b"X-Agent-Token", b"Host"])
@pytest.mark.parametrize("path", [b"/mcp", b"/rpc/count", b"/rest/v1/inbox"])
async def test_a_header_that_decides_who_calls_or_what_it_says_may_come_once(name: bytes, path: bytes) -> None:
    value = {b"Content-Type": b"application/json", b"Host": b"localhost"}.get(name, b"Bearer one")
    twice = (name + b": " + value + b"\r\n") * 2
    host = b"" if name == b"Host" else b"Host: localhost\r\n"
    head = b"POST " + path + b" HTTP/1.1\r\n" + host + twice + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}"
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, head)

    assert status_of(heard) == 400
    assert name + b" is there more than once" in heard
