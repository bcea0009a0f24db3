"""One call of a webhook against real sockets: what it says, what counts as told, and where it does not go."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mcp_agent_mail import __version__
from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.notify import webhook_call
from mcp_agent_mail.notify.webhook_call import MOST_ADDRESSES, WebhookCaller, WebhookFailed, is_public, place_of
from tests.notify.receiver import Receiver, answering, receiving

KEY = "k" * 32
AT_S = 1_800_000_000


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


async def call(url: str, *, allows_private: bool = True, body: bytes = b'{"a":1}') -> str | None:
    """What went wrong; None when it was told."""
    caller = WebhookCaller(Secret(KEY), allows_private=allows_private)
    try:
        await caller.call(place_of(url), body, AT_S)
    except WebhookFailed as failed:
        return failed.message
    finally:
        caller.close()
    return None


async def test_a_call_is_a_signed_post_of_the_very_body(receiver: Receiver) -> None:
    assert await call(receiver.url) is None

    (heard,) = receiver.heard
    expected = hmac.new(KEY.encode(), f"{AT_S}.".encode() + heard.body, hashlib.sha256).hexdigest()
    assert (heard.line, heard.body) == ("POST /mail?key=1 HTTP/1.1", b'{"a":1}')
    assert heard.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "content-type": "application/json",
        "content-length": "7",
        "user-agent": f"mcp-agent-mail/{__version__}",
        "x-agent-mail-signature": f"t={AT_S},v1={expected}",
        "connection": "close",
    }


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (answering(200), None),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answering(202), None),
        (b"HTTP/1.0 200 OK\r\n\r\nmuch text", None),
        (answering(500), "it answered 500"),
        (answering(404), "it answered 404"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the connection failed (ValueError)"),
        (b"", "the connection failed (ValueError)"),
        (b"x" * 20_000, "the connection failed (ValueError)"),
        (b"HTTP/1.1 100 Go on\r\n\r\n" * 9, "the connection failed (ValueError)"),
    ],
)
async def test_only_an_answer_of_success_is_one(receiver: Receiver, answer: bytes, said: str | None) -> None:
    receiver.answers.append(answer)

    assert await call(receiver.url) == said


async def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.answers.append(answering(302, f"Location: {receiver.url}"))

    said = await call(receiver.url)

    assert (said, len(receiver.heard)) == ("it answered 302, and redirects are not followed", 1)


async def test_one_that_never_answers_is_given_up(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_call, "CALL_WITHIN_S", 0.2)
    receiver.always = None

    assert await call(receiver.url) == "it did not answer within 0.2 s"


async def test_nobody_there_is_a_failure_that_names_no_host() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        said = await call(f"http://127.0.0.1:{taken.getsockname()[1]}/")

    assert said == "the connection failed (ConnectionRefusedError)"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"])
async def test_an_address_of_this_machine_is_refused_however_it_is_written(receiver: Receiver, host: str) -> None:
    said = await call(f"http://{host}:{receiver.port}/", allows_private=False)

    assert (said, receiver.heard) == ("it leads to a private address, and WEBHOOK_ALLOW_PRIVATE is false", [])


def found(*addresses: str, port: int) -> Any:
    """What looking a name up finds."""
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]


async def test_a_name_with_one_private_address_among_others_is_refused(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = found("127.0.0.1", "93.184.216.34", port=receiver.port)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)

    said = await call("http://mail.example/", allows_private=False)

    assert (said, receiver.heard) == ("it leads to a private address, and WEBHOOK_ALLOW_PRIVATE is false", [])


async def test_the_address_that_was_judged_is_the_one_that_is_called(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that leads elsewhere the next time it is asked for gains nothing: it is asked for once."""
    asked: list[str] = []

    def look_up(host: str, *_: object, **__: object) -> Any:
        asked.append(host)
        if len(asked) > 1:
            raise AssertionError("looked up again")
        return found("127.0.0.1", port=receiver.port)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    said = await call("http://mail.example/hook")

    assert (said, asked, receiver.heard[0].headers["host"]) == (None, ["mail.example"], "mail.example")


async def test_the_next_address_of_a_name_is_tried_where_one_does_not_answer(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = found("127.0.0.2", "127.0.0.1", port=receiver.port)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)

    assert await call("http://mail.example/") is None


async def test_no_more_addresses_of_a_name_are_tried_than_a_calls_time_allows(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dead = found("127.0.0.1", port=taken.getsockname()[1]) * MOST_ADDRESSES
        addresses = [*dead, *found("127.0.0.1", port=receiver.port)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
        one_too_many = await call("http://mail.example/")
        del addresses[0]
        the_last = await call("http://mail.example/")

    assert (one_too_many, the_last) == ("the connection failed (ConnectionRefusedError)", None)


async def test_a_name_that_leads_nowhere_is_a_failure() -> None:
    assert await call("http://nobody.invalid/") == "its name cannot be looked up"


@pytest.mark.parametrize(
    "address",
    """
    127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 255.255.255.255
    224.0.0.1 240.0.0.1 198.18.0.1 192.0.2.1 ::1 :: fe80::1 fe80::1%eth0 fc00::1 fd12::1 ff02::1 ::ffff:10.0.0.1
    ::ffff:127.0.0.1 ::127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::a00:1 2002:7f00:1:: 2002:a00:1:: 2001:db8::1
    192.0.0.8 192.0.0.192 ::ffff:192.0.0.192
    fec0::1 feff::1 3fff::1 64:ff9b:1::101:101 192.88.99.1 ::ffff:192.88.99.1 168.63.129.16 ::ffff:168.63.129.16
    2606:4700::5efe:10.0.0.1 2606:4700::5efe:127.0.0.1 2606:4700::200:5efe:a9fe:a9fe fe80::5efe:1.1.1.1
    """.split(),
)
def test_what_is_not_everybodys_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101", "2606:4700::5efe:1.1.1.1"],
)
def test_what_is_everybodys_is(address: str) -> None:
    assert is_public(address)


async def test_a_certificate_that_nobody_trusts_is_a_failure_and_a_trusted_one_of_its_host_is_none(
    certificate: tuple[Any, Any],
) -> None:
    serving, trusting = certificate
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=serving)
    port = server.sockets[0].getsockname()[1]
    caller = WebhookCaller(Secret(KEY), allows_private=True, tls=trusting)
    try:
        unknown = await call(f"https://localhost:{port}/")
        await caller.call(place_of(f"https://localhost:{port}/"), b"{}", AT_S)
        with pytest.raises(WebhookFailed, match="certificate"):
            await caller.call(place_of(f"https://127.0.0.1:{port}/"), b"{}", AT_S)
    finally:
        caller.close()
        server.close()

    assert unknown is not None
    assert unknown.startswith("its certificate or its TLS is not accepted")
    assert [heard.body for heard in receiver.heard] == [b"{}"]
