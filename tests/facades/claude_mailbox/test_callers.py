"""Who calls, by the header and by what a request names beside it, at a real server."""

from __future__ import annotations

from tests.facades.claude_mailbox.mailbox_server import MailboxServer


def test_a_check_by_another_name_takes_nothing(server: MailboxServer) -> None:
    server.send("m-alice", "m-bob", "hi")

    got = server.ask("POST", "/v1/check-inbox?name=m-bob", name="m-eve")
    of_nobody = server.ask("POST", "/v1/check-inbox?name=m-bob")

    assert (got.status, got.value) == (403, {"error": "X-Mailbox does not match name"})
    assert (of_nobody.status, of_nobody.value) == (400, {"error": "X-Mailbox header is required"})
    assert server.pending("m-bob") == 1


def test_a_check_that_its_caller_settles_takes_nothing_by_another_name_either(server: MailboxServer) -> None:
    claim = {"X-Mailbox-Claim": "1"}
    server.send("q-alice", "q-bob", "hi")

    got = server.ask("POST", "/v1/check-inbox?name=q-bob", name="q-eve", headers=claim)
    assert (got.status, got.value) == (403, {"error": "X-Mailbox does not match name"})
    assert server.pending("q-bob") == 1

    assert [
        one["body"] for one in server.ask("POST", "/v1/check-inbox?name=q-bob", headers=claim).value["messages"]
    ] == ["hi"]


def test_a_check_may_leave_its_name_to_the_header_and_spell_it_otherwise(server: MailboxServer) -> None:
    server.send("n-alice", "n-bob", "hi")

    assert server.ask("POST", "/v1/check-inbox?name=N-BOB", name="n-bob").value[0]["to"] == "n-bob"
    assert server.ask("POST", "/v1/check-inbox", name="n-bob").value == []


def test_a_from_beside_the_header_may_say_the_same(server: MailboxServer) -> None:
    got = server.ask("POST", "/v1/send", name="alice", body={"to": "bob", "body": "hi", "from": " ALICE "})

    assert (got.status, got.value["from"]) == (200, "alice")


def test_names_are_latin_1_trimmed_and_no_encoded_words(server: MailboxServer) -> None:
    server.ask("POST", "/v1/send", name="Zoë", body={"to": " ämil ", "body": "hi"})

    got = server.ask("POST", "/v1/check-inbox?name=%C3%A4mil", name=" ämil ")
    encoded = server.ask("GET", "/v1/list", name="=?UTF-8?Q?Zo=C3=AB?=")

    assert [one["from"] for one in got.value] == ["Zoë"]
    assert encoded.status == 400
    assert "Latin-1" in encoded.value["error"]


def test_a_name_with_other_characters_is_written_to_as_an_argument(server: MailboxServer) -> None:
    server.send("alice", "名前", "hi")

    assert server.ask("GET", "/v1/peek?name=%E5%90%8D%E5%89%8D").value["pending"] == 1
