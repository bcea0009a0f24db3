from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.cli.claude_mailbox.arguments import parse_flags
from mcp_agent_mail.cli.claude_mailbox.door import MailboxClient, base_url, quoted
from mcp_agent_mail.cli.claude_mailbox.refusals import CommandRefused, NoMailboxServer
from mcp_agent_mail.clients.hook.environment import SettingSources


@contextmanager
def answering(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """What says the same to everybody, and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    asked.append(connection.recv(65_536))
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        listener.shutdown(socket.SHUT_RDWR)


def client(url: str) -> MailboxClient:
    return MailboxClient(parse_flags("x", ["--url", url]))


def http(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d X\r\n\r\n%s" % (status, body)


def test_where_the_server_is_is_said_by_flag_variable_and_port(tmp_path: Path) -> None:
    def found(environ: dict[str, str], *flags: str) -> str:
        return base_url(SettingSources({"HOME": str(tmp_path), **environ}), parse_flags("x", flags))

    ports = {"CLAUDE_MAILBOX_PORTS": " 5000, 6000"}
    assert found({}) == "http://127.0.0.1:47822"
    assert found(ports) == "http://127.0.0.1:5000"
    assert found({"CLAUDE_MAILBOX_PORTS": "0"}) == found({"CLAUDE_MAILBOX_PORTS": "x"}) == "http://127.0.0.1:47822"
    assert found({**ports, "CLAUDE_MAILBOX_URL": "http://h:1/"}) == "http://h:1"
    assert found({**ports, "CLAUDE_MAILBOX_URL": "http://h:1"}, "--url", "https://i") == "https://i"
    with pytest.raises(CommandRefused, match="is no URL"):
        found({}, "--url", "file:///etc/passwd")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (http(400, b'{"error": "to is required"}'), CommandRefused, "claude-mailbox: to is required"),
        (http(409, b'{"error": {"message": "No.", "hint": "So."}}'), CommandRefused, "claude-mailbox: No. So."),
        (
            http(401, b'{"detail": "Token."}'),
            CommandRefused,
            "claude-mailbox: Token. Set AGENT_MAIL_TOKEN to it for this command.",
        ),
        (
            http(503, b'{"error": "The server is stopping."}'),
            NoMailboxServer,
            "claude-mailbox: The server is stopping.",
        ),
        (http(503, b""), NoMailboxServer, "claude-mailbox: the server is busy."),
        (http(404, b"<html>"), NoMailboxServer, "is no mailbox server (HTTP 404)"),
        (b"SSH-2.0-x", NoMailboxServer, "what answers there is no agent-mail server"),
        (b"", NoMailboxServer, "what answers there is no agent-mail server"),
    ],
)
def test_refusals_are_in_the_servers_words_and_strangers_are_no_server(
    answer: bytes, kind: type[CommandRefused], words: str
) -> None:
    with answering(answer) as (url, _), pytest.raises(CommandRefused) as refused:
        client(url).ask("GET", "/v1/list")

    assert type(refused.value) is kind
    assert words in str(refused.value)


def test_a_request_says_whose_it_is_and_what_it_sends() -> None:
    with answering(http(200, b"[1]")) as (url, asked):
        got = client(url).ask("POST", "/v1/check-inbox?name=a", name="Zo\xeb", value={"x": 1})

    assert got == [1]
    head, _, body = asked[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/check-inbox?name=a HTTP/1.0\r\n")
    assert b"\r\nX-Mailbox: Zo\xeb" in head
    assert body == b'{"x": 1}'


@pytest.mark.parametrize("name", ["\u540d", "a\r\nX-Evil: 1", "a\x00b"])
def test_a_name_that_no_header_can_hold_is_refused_before_anything_is_sent(name: str) -> None:
    with answering(http(200, b"[]")) as (url, asked), pytest.raises(CommandRefused):
        client(url).ask("GET", "/v1/list", name=name)

    assert asked == []


def test_queries_are_quoted() -> None:
    assert quoted("a b&c=\u540d/%") == "a%20b%26c%3D%E5%90%8D%2F%25"
