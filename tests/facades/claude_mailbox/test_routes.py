"""The routes below `/v1`, at a real server on ports of its own: statuses, shapes and words."""

from __future__ import annotations

import re
import socket
import threading
import time
from typing import Any

import pytest

from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.facades.asgi import DoorRequest
from mcp_agent_mail.facades.claude_mailbox import routes
from tests.facades.claude_mailbox.mailbox_server import MailboxServer, messages_in

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)")


def test_a_message_sent_is_told_with_id_parties_and_time(server: MailboxServer) -> None:
    got = server.ask("POST", "/v1/send", name="alice", body={"to": "bob", "body": "hi"})

    assert got.status == 200
    assert list(got.value) == ["id", "from", "to", "createdAt"]
    assert isinstance(got.value["id"], int)
    assert (got.value["from"], got.value["to"]) == ("alice", "bob")
    assert TIME.fullmatch(got.value["createdAt"])


def test_a_look_changes_nothing_and_a_check_takes_all_of_it_once(server: MailboxServer) -> None:
    first = server.send("c-alice", "c-bob", "one\n\nmore ✓")
    second = server.send("c-alice", "c-bob", "two")

    looks = [server.ask("GET", "/v1/peek?name=c-bob") for _ in range(2)]
    got = server.ask("POST", "/v1/check-inbox?name=c-bob", name="c-bob")
    again = server.ask("POST", "/v1/check-inbox?name=c-bob", name="c-bob")
    after = server.ask("GET", "/v1/peek?name=c-bob")

    assert [one.value for one in looks] == [{"pending": 2, "oldestAt": first["createdAt"]}] * 2
    assert got.value == [
        {"id": first["id"], "from": "c-alice", "to": "c-bob", "body": "one\n\nmore ✓", "createdAt": first["createdAt"]},
        {"id": second["id"], "from": "c-alice", "to": "c-bob", "body": "two", "createdAt": second["createdAt"]},
    ]
    assert (again.status, again.value) == (200, [])
    assert after.value == {"pending": 0, "oldestAt": None}


@pytest.mark.parametrize(
    ("body", "name", "status", "error"),
    [
        ({"body": "hi"}, "alice", 400, "to is required"),
        ({"to": " ", "body": "hi"}, "alice", 400, "to is required"),
        ({"to": 7, "body": "hi"}, "alice", 400, "to is required"),
        ({"to": None, "body": "hi"}, "alice", 400, "to is required"),
        ({"to": "bob"}, "alice", 400, "body is required"),
        ({"to": "bob", "body": ""}, "alice", 400, "body is required"),
        ({"to": "bob", "body": ["hi"]}, "alice", 400, "body is required"),
        ({"to": "bob", "body": "hi"}, None, 400, "X-Mailbox header is required"),
        ({"to": "bob", "body": "hi"}, "  ", 400, "X-Mailbox header is required"),
        ({"to": "bob", "body": "hi", "from": "eve"}, "alice", 403, "X-Mailbox does not match from"),
        (b"{", "alice", 400, "The body is no JSON. Send one JSON object in UTF-8."),
        (b"", "alice", 400, "The body is no JSON. Send one JSON object in UTF-8."),
        (b"[]", "alice", 400, "The body must be a JSON object. Send its fields by name."),
        (rb'{"to": "bob", "body": "\ud800"}', "alice", 400, "The body is no JSON. Send one JSON object in UTF-8."),
        (
            {"to": "a\nb", "body": "hi"},
            "alice",
            400,
            "Invalid mailbox name. A name has 1 to 128 characters of one line.",
        ),
        ({"to": "x" * 129, "body": "hi"}, "alice", 400, None),
        ({"to": "bob", "body": "hi"}, "x" * 129, 400, None),
        ({"to": "bob", "body": "x" * 1_100_000}, "alice", 413, None),
        ({"to": "bob", "body": "x" * 4_200_000}, "alice", 413, None),
    ],
)
def test_a_send_that_lacks_something_says_what_and_stores_nothing(
    server: MailboxServer, body: Any, name: str | None, status: int, error: str | None
) -> None:
    before = messages_in(server)

    got = server.ask("POST", "/v1/send", name=name, body=body)

    assert got.status == status
    if error is not None:
        assert got.value == {"error": error}
    assert messages_in(server) == before


def test_a_look_needs_a_name_from_somewhere_and_makes_none(server: MailboxServer) -> None:
    before = server.names()

    unknown = server.ask("GET", "/v1/peek?name=nobody-yet")
    by_header = server.ask("GET", "/v1/peek", name="nobody-yet")
    neither = server.ask("GET", "/v1/peek")

    assert unknown.value == by_header.value == {"pending": 0, "oldestAt": None}
    assert (neither.status, neither.value) == (400, {"error": "name is required"})
    assert server.names() == before


def test_a_request_with_the_header_makes_the_mailbox_and_refreshes_it(server: MailboxServer) -> None:
    server.ask("GET", "/v1/list", name="seen-1")
    server.ask("GET", "/v1/peek?name=seen-1", name="seen-2")
    first = {one["name"]: one["lastSeenAt"] for one in server.ask("GET", "/v1/list").value}

    later = {one["name"]: one["lastSeenAt"] for one in server.ask("GET", "/v1/list", name="seen-1").value}

    assert {"seen-1", "seen-2"} <= first.keys()
    assert TIME.fullmatch(first["seen-1"])
    assert later["seen-1"] > first["seen-1"]
    assert later["seen-2"] == first["seen-2"]


def test_the_list_says_what_waits_and_whose_mail_waits_for_you(server: MailboxServer) -> None:
    server.send("l-alice", "l-bob", "1")
    server.send("l-alice", "l-bob", "2")
    server.send("l-carol", "l-bob", "3")

    of_bob = {one["name"]: one for one in server.ask("GET", "/v1/list", name="l-bob").value}
    of_nobody = {one["name"]: one for one in server.ask("GET", "/v1/list").value}

    assert list(of_bob["l-bob"]) == ["name", "lastSeenAt", "pending", "pendingForYou"]
    assert (of_bob["l-bob"]["pending"], of_bob["l-bob"]["pendingForYou"]) == (3, 0)
    assert (of_bob["l-alice"]["pending"], of_bob["l-alice"]["pendingForYou"]) == (0, 2)
    assert of_bob["l-carol"]["pendingForYou"] == 1
    assert {one["pendingForYou"] for one in of_nobody.values()} == {0}
    assert server.pending("l-bob") == 3


def test_another_name_takes_what_waits_along(server: MailboxServer) -> None:
    server.send("r-alice", "r-bob", "1")
    server.send("r-alice", "r-bob", "2")
    server.ask("GET", "/v1/list", name="r-bob")

    got = server.ask("POST", "/v1/rename", name="r-bob", body={"to": "r-robert"})

    assert (got.status, got.value) == (200, {"from": "r-bob", "to": "r-robert", "messagesTransferred": 2})
    assert server.pending("r-bob") == 0
    assert [one["body"] for one in server.check("r-robert")] == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "body", "status", "reason"),
    [
        ("e-alice", {"to": "e-bob"}, 409, "target-exists"),
        ("e-alice", {"to": "E-BOB"}, 409, "target-exists"),
        ("e-alice", {"to": "System"}, 400, "invalid"),
        ("e-nobody", {"to": "e-x"}, 400, "source-missing"),
        (None, {"to": "e-x"}, 400, "source-missing"),
        ("e-alice", {"to": ""}, 400, "invalid"),
        ("e-alice", {}, 400, "invalid"),
        ("e-alice", {"to": 7}, 400, "invalid"),
        ("e-alice", {"to": "x" * 129}, 400, "invalid"),
        ("e-alice", {"to": "a\x07b"}, 400, "invalid"),
        ("e-alice", {"to": "e-x", "from": "e-bob"}, 403, None),
    ],
)
def test_a_rename_that_cannot_be_says_why_and_changes_nothing(
    server: MailboxServer, name: str | None, body: Any, status: int, reason: str | None
) -> None:
    for known in ("e-alice", "e-bob"):
        server.ask("GET", "/v1/list", name=known)
    before = sorted(server.names())

    got = server.ask("POST", "/v1/rename", name=name, body=body)

    assert (got.status, got.value.get("reason")) == (status, reason)
    assert isinstance(got.value["error"], str)
    assert sorted(server.names()) == before


def test_the_same_name_transfers_nothing(server: MailboxServer) -> None:
    server.send("s-bob", "s-bob", "waits")

    got = server.ask("POST", "/v1/rename", name="s-bob", body={"to": "s-bob"})

    assert (got.status, got.value) == (200, {"from": "s-bob", "to": "s-bob", "messagesTransferred": 0})
    assert server.pending("s-bob") == 1


def until_watched(server: MailboxServer, count: int) -> None:
    """Until so many wait at the server."""
    with server.served.connect() as connection:
        while connection.call("health_check")["delivery"]["waits"] != count:
            threading.Event().wait(0.02)


def test_a_watch_is_over_as_soon_as_mail_comes_and_has_it_alone(server: MailboxServer) -> None:
    server.ask("GET", "/v1/list", name="w-bob")
    watch = server.watching("w-bob")
    until_watched(server, 1)

    sent = server.send("w-alice", "w-bob", "hi")
    got = watch.got()

    expected = {"id": sent["id"], "from": "w-alice", "to": "w-bob", "body": "hi", "createdAt": sent["createdAt"]}
    assert got == {"status": "message", "message": expected}
    assert server.check("w-bob") == []


def test_a_watch_in_vain_ends_by_its_time(server: MailboxServer) -> None:
    started = time.monotonic()

    got = server.ask("GET", "/v1/watch?name=t-bob&timeout=1", name="t-bob")

    assert (got.status, got.value) == (200, {"status": "timeout", "message": None})
    assert time.monotonic() - started > 0.9
    assert server.ask("GET", "/v1/watch?timeout=soon", name="t-bob").status == 400
    assert server.ask("GET", "/v1/watch?timeout=-1", name="t-bob").status == 400
    assert server.ask("GET", "/v1/watch?timeout=nan", name="t-bob").status == 400
    assert server.ask("GET", "/v1/watch?timeout=0", name="t-bob").status == 200
    assert server.ask("GET", "/v1/watch?name=t-bob", name="t-eve").status == 403
    assert server.ask("GET", "/v1/watch?name=t-bob").status == 400


def test_of_several_watches_the_oldest_gets_it_and_the_others_go_on(server: MailboxServer) -> None:
    watches = []
    for count in (1, 2, 3):
        watches.append(server.watching("o-bob", timeout=30))
        until_watched(server, count)

    server.send("o-alice", "o-bob", "1")
    first = watches[0].got()
    server.send("o-alice", "o-bob", "2")
    second = watches[1].got()
    is_last_over = watches[2].is_over
    server.send("o-alice", "o-bob", "3")

    assert [one["message"]["body"] for one in (first, second, watches[2].got())] == ["1", "2", "3"]
    assert not is_last_over


def test_a_rename_wakes_who_watches(server: MailboxServer) -> None:
    server.ask("GET", "/v1/list", name="y-bob")
    watch = server.watching("y-bob")
    until_watched(server, 1)

    server.ask("POST", "/v1/rename", name="y-bob", body={"to": "y-robert"})

    assert watch.got() == {"status": "renamed", "from": "y-bob", "to": "y-robert"}


def test_a_watcher_that_is_gone_takes_nothing_with_it(server: MailboxServer) -> None:
    raw = socket.create_connection(("127.0.0.1", server.ports[0]))
    raw.sendall(b"GET /v1/watch HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Mailbox: z-bob\r\n\r\n")
    until_watched(server, 1)
    raw.close()
    until_watched(server, 0)

    server.send("z-alice", "z-bob", "hi")

    assert [one["body"] for one in server.check("z-bob")] == ["hi"]


def test_a_mailbox_is_deleted_only_when_nothing_waits_either_way(server: MailboxServer) -> None:
    server.send("d-alice", "d-bob", "hi")

    sender = server.ask("DELETE", "/v1/mailbox", name="d-alice")
    reader = server.ask("DELETE", "/v1/mailboxes/d-bob", name="d-bob")
    of_other = server.ask("DELETE", "/v1/mailboxes/d-bob", name="d-alice")
    of_nobody = server.ask("DELETE", "/v1/mailbox?name=d-bob")
    unknown = server.ask("DELETE", "/v1/mailbox", name="d-nobody")
    server.check("d-bob")
    gone = [server.ask("DELETE", "/v1/mailbox", name=name) for name in ("d-alice", "d-bob")]
    names = server.names()

    assert (sender.status, sender.value["reason"]) == (409, "pending")
    assert (reader.status, reader.value["reason"]) == (409, "pending")
    assert (of_other.status, of_nobody.status, unknown.status) == (403, 400, 404)
    assert [one.value for one in gone] == [{"name": name, "deleted": True} for name in ("d-alice", "d-bob")]
    assert not {"d-alice", "d-bob", "d-nobody"} & set(names)
    server.send("d-alice", "d-bob", "back")
    assert {"d-alice", "d-bob"} <= set(server.names())


def test_checks_at_once_double_nothing_and_lose_nothing(server: MailboxServer) -> None:
    sent = [server.send("x-alice", "x-bob", f"{number}")["id"] for number in range(60)]
    got: list[Any] = []

    def check() -> None:
        got.extend(server.check("x-bob"))

    threads = [threading.Thread(target=check) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(one["id"] for one in got) == sorted(sent)


def test_a_session_that_was_renamed_ends_though_it_knows_its_first_name_alone(server: MailboxServer) -> None:
    server.check("g-alice")
    assert server.ask("POST", "/v1/rename", name="g-alice", body={"to": "g-gamer"}).status == 200

    ended = server.ask("DELETE", "/v1/mailboxes/g-alice", name="g-alice", follow="1")

    assert (ended.status, ended.value) == (200, {"name": "g-alice", "deleted": True})
    assert "g-gamer" not in server.names()


@pytest.mark.parametrize(
    ("query", "waits_s"),
    [(b"", 25.0), (b"timeout=", 25.0), (b"timeout=0", 0.0), (b"timeout=300", 300.0), (b"timeout=1e9", 300.0)],
)
def test_a_watch_waits_25_s_and_300_at_most(query: bytes, waits_s: float) -> None:
    request = DoorRequest(
        scope={"query_string": query},
        headers={},
        query={},
        credentials=Credentials(via="mcp"),
        request_id="1",
        opener=None,
    )

    assert routes._timeout(request) == waits_s
