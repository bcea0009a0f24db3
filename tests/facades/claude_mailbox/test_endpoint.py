"""Paths, methods and content types of the door, and `/health`, at a real server."""

from __future__ import annotations

import pytest

from mcp_agent_mail import __version__
from tests.facades.claude_mailbox.mailbox_server import MailboxServer, messages_in


def test_both_ports_are_the_doors_and_say_what_they_are_to_anybody(server: MailboxServer) -> None:
    got = [server.ask("GET", "/health", port=port) for port in server.ports]

    assert len(got) == 2
    for one in got:
        assert one.status == 200
        assert one.value == {"status": "ok", "version": __version__, "dbPath": str(server.served.database)}
        assert one.headers["content-type"] == "application/json"
    for port in server.ports:
        assert server.ask("GET", "/v1/peek", name="e-bob", port=port).value["pending"] == 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        takes = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        begun = server.ask("POST", "/mcp", name="e-bob", port=port, body=asked, headers=takes)
        assert (begun.status, begun.value["result"]["serverInfo"]["name"]) == (200, "claude-mailbox")


def test_the_database_that_health_names_is_the_live_one(server: MailboxServer) -> None:
    before = messages_in(server)

    server.send("h-alice", "h-bob", "hi")

    path = server.ask("GET", "/health").value["dbPath"]
    assert path == str(server.served.database)
    assert messages_in(server) == before + 1


def test_what_is_no_post_takes_nothing(server: MailboxServer) -> None:
    server.send("g-alice", "g-bob", "hi")

    got = server.ask("GET", "/v1/check-inbox?name=g-bob", name="g-bob")

    assert (got.status, got.headers["allow"]) == (405, "POST")
    assert server.ask("POST", "/v1/peek?name=g-bob").status == 405
    assert server.ask("GET", "/v1/send", name="g-bob").status == 405
    assert server.pending("g-bob") == 1


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"])
def test_what_a_form_could_send_is_not_taken(server: MailboxServer, kind: str) -> None:
    got = server.ask("POST", "/v1/send", name="alice", body={"to": "bob", "body": "hi"}, headers={"Content-Type": kind})

    assert got.status == 415


def test_other_paths_are_nothings(server: MailboxServer) -> None:
    for path in ("/", "/v1", "/v1/nothing", "/mail/", "/rpc/send_message", "/agents/bob/mcp", "/health/liveness"):
        assert server.ask("GET", path).status == 404, path


def test_a_closing_slash_is_no_other_path(server: MailboxServer) -> None:
    assert server.ask("GET", "/health/").status == 200
    assert server.ask("GET", "/v1/list/").status == 200
