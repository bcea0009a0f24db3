"""One look at an issuer over real sockets: bounded in time and bytes, never redirected, and over when it is over."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator

import pytest

from mcp_agent_mail import __version__
from mcp_agent_mail.server.jwt.key_document import MOST_BYTES, KeyDocument, KeysUnread
from tests.server.jwt.issuing import Issuer, answer, issuing, key_set, new_key, public, until

KEY = public(new_key("ES256"), kid="one")


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with issuing(KEY) as opened:
        yield opened


async def read(url: str, *, within_s: float = 5.0, tls: ssl.SSLContext | None = None) -> list[str | None] | str:
    """The names of the keys that were read, or what went wrong."""
    document = KeyDocument(url, ["ES256"], tls=tls, within_s=within_s)
    try:
        return [key.kid for key in (await document.read()).keys]
    except KeysUnread as unread:
        return unread.message
    finally:
        document.close()


async def test_the_keys_are_read_in_one_plain_request(issuer: Issuer) -> None:
    assert await read(issuer.url) == ["one"]

    (head,) = issuer.heads
    assert head.splitlines() == [
        "GET /keys?tenant=1 HTTP/1.1",
        f"Host: 127.0.0.1:{issuer.port}",
        "Accept-Encoding: identity",
        "Accept: application/json",
        f"User-Agent: mcp-agent-mail/{__version__}",
        "Connection: close",
        "",
    ]


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (("Content-Length: {length}",), "{body}"),
        (("Transfer-Encoding: chunked",), "{hex}\r\n{body}\r\n0\r\n\r\n"),
        (("Content-Type: text/plain", "Content-Length: {length}", "Connection: keep-alive"), "{body}"),
    ],
)
async def test_whichever_way_the_answer_is_framed(headers: tuple[str, ...], body: str, issuer: Issuer) -> None:
    text = key_set(KEY).decode()
    said = {"length": str(len(text)), "hex": f"{len(text):x}", "body": text}
    issuer.raw = answer(
        body.replace("{hex}", said["hex"]).replace("{body}", text).encode(),
        *(header.replace("{length}", said["length"]) for header in headers),
    )

    assert await read(issuer.url) == ["one"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int, issuer: Issuer) -> None:
    async with issuing(KEY) as elsewhere:
        issuer.raw = answer(key_set(KEY), f"Location: {elsewhere.url}", status=status)

        assert await read(issuer.url) == f"the issuer answered {status}, and redirects are not followed"
        assert (issuer.looks, elsewhere.looks) == (1, 0)


NO_JSON = "the issuer's keys cannot be used: its answer is no JSON, or too much of it"
NO_SET = "the issuer's keys cannot be used: its answer is no set of keys"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (answer(key_set(KEY), status=500), "the issuer answered 500"),
        (answer(key_set(KEY), status=404), "the issuer answered 404"),
        (answer(b"", status=204), "the issuer answered 204"),
        (answer(key_set(KEY), status=206), "the issuer answered 206"),
        (answer(b"<html>Sign in</html>"), NO_JSON),
        (answer(b""), NO_JSON),
        (answer(b"[" * 100_000), NO_JSON),
        (answer(b"[" * 900), NO_JSON),
        (answer(b'{"keys":' + b"[1," * 5_000), NO_JSON),
        (answer(b"[]"), NO_SET),
        (answer(b'{"keys":{}}'), NO_SET),
        (answer(b"{}"), NO_SET),
        (answer(b'{"keys":[]}'), "the issuer's keys cannot be used: none of its keys fits HTTP_JWT_ALGORITHMS"),
        (answer(key_set(*[KEY] * 65)), "the issuer's keys cannot be used: it has 65 keys, and 64 are read at most"),
        (answer(key_set(KEY) + b" " * MOST_BYTES), "the issuer's answer is longer than 262,144 bytes"),
        (answer(key_set(KEY)[:-9], "Content-Length: 900"), NO_JSON),
        (answer(b"x\r\nzz", "Transfer-Encoding: chunked"), "the connection to the issuer failed (IncompleteRead)"),
        (answer(b"", "x" * 70_000), "the connection to the issuer failed (LineTooLong)"),
        (answer(b"", *["a: b"] * 101), "the connection to the issuer failed (HTTPException)"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the connection to the issuer failed (BadStatusLine)"),
        (b"", "the connection to the issuer failed (RemoteDisconnected)"),
    ],
)
async def test_an_answer_that_is_no_key_set_says_so(raw: bytes, said: str, issuer: Issuer) -> None:
    issuer.raw = raw

    assert await read(issuer.url) == said


async def test_the_bound_itself_is_read(issuer: Issuer) -> None:
    issuer.body = key_set(KEY)
    issuer.body += b" " * (MOST_BYTES - len(issuer.body))

    assert await read(issuer.url) == ["one"]


@pytest.mark.parametrize("sent", [None, b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n{"])
async def test_one_that_says_nothing_or_no_end_is_given_up_and_cut_off(sent: bytes | None, issuer: Issuer) -> None:
    """The other side sees the end: so the thread that waited has ended too."""
    issuer.hangs, issuer.before = True, sent or b""

    assert await read(issuer.url, within_s=0.3) == "the issuer did not answer within 0.3 s"
    await until(lambda: issuer.ended == 1)


async def test_the_log_says_whose_host_it_is_that_hangs(issuer: Issuer, caplog: pytest.LogCaptureFixture) -> None:
    issuer.hangs = True

    await read(issuer.url, within_s=0.3)

    (told,) = (one for one in caplog.records if one.name == "mcp_agent_mail.looks" and one.levelname == "WARNING")
    assert told.getMessage() == "the key set's host does not answer"
    assert told.__dict__["facts"] == {"host": "127.0.0.1", "lost_threads": 1}


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 100 Go on\r\n\r\n"])
async def test_one_that_drips_is_cut_off(start: bytes, issuer: Issuer) -> None:
    issuer.before, issuer.drip = start, b"x"

    assert await read(issuer.url, within_s=0.3) == "the issuer did not answer within 0.3 s"
    await until(lambda: issuer.ended == 1)


async def test_whoever_gives_up_asking_cuts_it_off_too(issuer: Issuer) -> None:
    issuer.hangs = True
    asking = asyncio.create_task(read(issuer.url))
    await until(lambda: issuer.looks == 1)

    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    await until(lambda: issuer.ended == 1)


async def test_nobody_there_is_a_failure_that_names_no_address() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"

        assert await read(url) == "the connection to the issuer failed (ConnectionRefusedError)"


async def test_a_name_that_is_none_is_a_failure_that_does_not_tell_it() -> None:
    assert await read("https://nobody.invalid/keys") == "the connection to the issuer failed (gaierror)"


async def test_the_next_address_of_a_name_is_tried(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(_: str, port: int, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port)) for host in ("127.0.0.2", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    assert await read(f"http://id.localhost:{issuer.port}/keys") == ["one"]


async def test_a_certificate_that_nobody_trusts_is_a_failure_and_a_trusted_one_of_its_host_is_none(
    certificate: tuple[ssl.SSLContext, ssl.SSLContext], issuer: Issuer
) -> None:
    serving, trusting = certificate
    server = await asyncio.start_server(issuer.serve, "127.0.0.1", 0, ssl=serving)
    port = server.sockets[0].getsockname()[1]
    try:
        unknown = await read(f"https://localhost:{port}/")
        of_another = await read(f"https://127.0.0.1:{port}/", tls=trusting)
        trusted = await read(f"https://localhost:{port}/", tls=trusting)
    finally:
        server.close()

    refused = "the issuer's certificate or its TLS is not accepted (CERTIFICATE_VERIFY_FAILED)"
    assert (unknown, of_another, trusted) == (refused, refused, ["one"])


async def test_the_usual_port_is_not_named(
    certificate: tuple[ssl.SSLContext, ssl.SSLContext], issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving, trusting = certificate
    server = await asyncio.start_server(issuer.serve, "127.0.0.1", 0, ssl=serving)
    port = server.sockets[0].getsockname()[1]
    asked: list[int] = []

    def look_up(_: str, wanted: int, **__: object) -> list[object]:
        asked.append(wanted)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    try:
        assert await read("https://localhost/keys", tls=trusting) == ["one"]
    finally:
        server.close()

    assert asked == [443]
    assert issuer.heads[0].splitlines()[:2] == ["GET /keys HTTP/1.1", "Host: localhost"]


async def test_a_handshake_that_does_not_come_to_its_end_is_cut_off() -> None:
    """The issuer takes the connection, and says nothing."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        ended.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        said = await read(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/", within_s=0.3)
        await asyncio.wait_for(ended.wait(), 20)
    finally:
        server.close()

    assert said == "the issuer did not answer within 0.3 s"
