"""Rows of the facts about postal over real HTTP that are about ids, order, waits and trust, with golden transcripts."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from pathlib import Path

import pytest

from tests.facades.postal.postal_server import PostalServer, Session, rpc, tool_call
from tests.facades.postal.rows import shows
from tests.server.test_mcp import HANDSHAKE

TOKEN = "a-token-of-the-whole-server"
WAITS = pytest.mark.settings(POSTAL_MAX_WAIT_SECONDS="50")


@shows("P1", "PM-08", "FA7")
async def test_an_id_sent_again_is_the_same_message_and_other_content_is_refused_and_wedges_nothing(
    postal: PostalServer,
) -> None:
    alice, bob = await postal.open("alice"), await postal.open("bob")
    twice = [await alice.text("send_to_agent", name="bob", msg="one", msg_id="m-1") for _ in range(2)]
    other = await alice.refused("send_to_agent", name="bob", msg="two", msg_id="m-1")
    elsewhere = await alice.text("send_to_agent", name="carol", msg="two", msg_id="m-1")
    got, nothing = await bob.message(), await bob.message()

    assert (twice, elsewhere) == (["m-1", "m-1"], "m-1")
    assert "with other content" in other
    assert (got["id"], got["content"], nothing) == ("m-1", "one", None)


@WAITS
@shows("P2", "FA8", "B10")
async def test_a_client_that_is_gone_while_it_waits_loses_nothing(postal: PostalServer) -> None:
    body = json.dumps(rpc("tools/call", tool_call("check_mail", {}), 1)).encode()
    head = "POST /agents/bob/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    port = int(postal.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as waiting:
        waiting.sendall(head.encode() + body)
        await postal.waiting(1)
        waiting.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await postal.waiting(0)
    postal.transcript.note("A client waits for bob's mail, and resets its connection.")
    await postal.plain("alice", "send_to_agent", name="bob", msg="ping")

    assert (await postal.plain("bob", "check_mail")).json()["content"] == "ping"


@shows("P3")
async def test_one_clients_end_is_nobody_elses(postal: PostalServer) -> None:
    alice, bob = await postal.open("alice"), await postal.open("bob")
    await postal.ask("DELETE", "/agents/alice/mcp/", headers=alice.headers)
    answer = await bob.text("check_mail")
    again = await postal.open("alice", protocol=HANDSHAKE)

    assert (answer, await again.text("check_mail")) == ("null", "null")


@shows("P4", "PM-07", "FA9")
async def test_messages_come_in_the_order_in_which_they_were_sent(postal: PostalServer) -> None:
    alice, bob = await postal.open("alice"), await postal.open("bob")
    for number in range(5):
        await alice.text("send_to_agent", name="bob", msg=str(number))

    assert [(await bob.message())["content"] for _ in range(5)] == ["0", "1", "2", "3", "4"]


@WAITS
@shows("P5", "PM-15")
async def test_of_two_that_wait_one_gets_the_message_and_the_other_waits_on(postal: PostalServer) -> None:
    postal.transcript.are_at_once = True
    bobs = [await postal.open("bob") for _ in range(2)]
    waiting = {asyncio.create_task(bob.message()) for bob in bobs}
    await postal.waiting(2)
    await postal.plain("alice", "send_to_agent", name="bob", msg="one")
    (first,), (second,) = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    await postal.waiting(1)
    await postal.plain("alice", "send_to_agent", name="bob", msg="two")

    assert ((await first)["content"], (await second)["content"]) == ("one", "two")


@shows("FA4")
async def test_mailboxes_are_made_and_a_name_is_a_native_agents_alias(postal: PostalServer) -> None:
    await postal.plain("alice", "send_to_agent", name="é_1", msg="ping")
    operator = {"Content-Type": "application/json", "Authorization": "Bearer amo_of-this-test"}
    names = (await postal.ask("POST", "/rpc/list_door_names", b"{}", operator)).json()

    assert [(one["name"], one["owner"]) for one in names] == [("alice", "postal"), ("é_1", None)]
    assert names[0]["agent"] == "alice"
    assert names[1]["agent"] != "é_1"
    postal.transcript.exchanges[-1][-1] = "< The names, with the agents that they are of."


@shows("letter-case")
async def test_names_compare_ignoring_letter_case(postal: PostalServer) -> None:
    await postal.plain("alice", "send_to_agent", name="Bob", msg="ping")

    assert (await postal.plain("bob", "check_mail")).json()["content"] == "ping"


@pytest.mark.settings(HTTP_BEARER_TOKEN=TOKEN)
@shows("FA11")
async def test_where_a_token_is_set_it_is_needed_and_the_operators_is_none(postal: PostalServer) -> None:
    body = b'{"tool": "check_mail"}'
    plain = {"Content-Type": "application/json"}
    answers = [
        await postal.ask("POST", "/agents/bob/mcp/", body, {**plain, **given})
        for given in (
            {},
            {"Authorization": "Bearer another"},
            {"Authorization": "Bearer amo_of-this-test"},
            {"Authorization": f"Bearer {TOKEN}"},
        )
    ]

    assert [answer.status_code for answer in answers] == [401, 401, 401, 200]


@pytest.mark.settings(AGENT_AUTH="strict")
@shows("FA12")
async def test_under_strict_no_path_reads_an_agents_mail_that_no_operator_linked(
    postal: PostalServer, tmp_path: Path
) -> None:
    operator = {"Content-Type": "application/json", "Authorization": "Bearer amo_of-this-test"}
    await postal.plain("alice", "send_to_agent", name="carol", msg="ping")
    newcomer = {
        "project_key": str(tmp_path / "store" / "neighbours"),
        "name": "BlueLake",
        "program": "tests",
        "model": "none",
    }
    registered = await postal.client.post(f"{postal.url}/rpc/register_agent", json=newcomer)
    assert registered.status_code == 200, registered.text
    sent = await postal.plain("alice", "send_to_agent", name="BlueLake", msg="ping")
    refused = await postal.plain("BlueLake", "check_mail")
    link = json.dumps({"name": "BlueLake", "door": "postal"}).encode()
    await postal.client.post(f"{postal.url}/rpc/link_door_name", content=link, headers=operator)
    postal.transcript.note("The operator links BlueLake with postal.")
    linked = await postal.plain("BlueLake", "check_mail")

    assert (sent.status_code, refused.status_code) == (200, 400)
    assert "am facade link BlueLake postal" in refused.text
    assert linked.json()["content"] == "ping"


@shows("PM-19", "promises", "B1")
async def test_two_loops_answer_each_other_with_new_ids_and_with_the_same_one(postal: PostalServer) -> None:
    counts = {}
    for msg_id in (None, "talk"):
        alice, bob = await postal.open("alice"), await postal.open("bob")
        postal.transcript.exchanges.clear()
        await alice.text("send_to_agent", name="bob", msg="0", msg_id=msg_id)
        got: list[tuple[str, str]] = []
        for number in range(1, 40):
            me, other = (bob, "alice") if number % 2 else (alice, "bob")
            message = await me.message()
            got.append((message["from"], message["content"]))
            await me.text("send_to_agent", name=other, msg=str(number), msg_id=msg_id and message["id"])
        last = await alice.message()
        got.append((last["from"], last["content"]))
        assert got == [("bob" if number % 2 else "alice", str(number)) for number in range(40)]
        assert msg_id is None or last["id"] == msg_id
        counts[msg_id or "new ids"] = len(got)
        assert await alice.message() is None
        assert await bob.message() is None

    postal.transcript.exchanges.clear()
    postal.transcript.note(f"messages, each once and in order: {counts}")


@WAITS
@pytest.mark.parametrize("msg_id", [None, "talk"], ids=["new ids", "the same id"])
async def test_two_that_loop_by_themselves_wait_for_each_other_and_lose_nothing(
    postal: PostalServer, msg_id: str | None
) -> None:
    async def loop(me: Session, other: str) -> list[str]:
        """Wait, answer with the id of what came or a new one, and again, twenty times."""
        got = []
        for _ in range(20):
            message = await me.message()
            got.append(message["content"])
            answer = str(int(message["content"]) + 1)
            await me.text("send_to_agent", name=other, msg=answer, msg_id=msg_id and message["id"])
        return got

    alice, bob = await postal.open("alice"), await postal.open("bob")
    await alice.text("send_to_agent", name="bob", msg="0", msg_id=msg_id)
    bobs, alices = await asyncio.gather(loop(bob, "alice"), loop(alice, "bob"))

    assert [bobs, alices] == [[str(number) for number in range(first, 40, 2)] for first in (0, 1)]


@pytest.mark.settings(POSTAL_MAILBOX_MAX="2")
@shows("B5")
async def test_a_full_mailbox_says_so_and_taking_makes_room(postal: PostalServer) -> None:
    alice, bob = await postal.open("alice"), await postal.open("bob")
    for text in ("one", "two"):
        await alice.text("send_to_agent", name="bob", msg=text)
    refused = await alice.refused("send_to_agent", name="bob", msg="three")
    await bob.message()
    await alice.text("send_to_agent", name="bob", msg="four")
    rest = [(await bob.message())["content"] for _ in range(2)]

    assert refused == "Error calling tool 'send_to_agent': Mailbox of bob is full (2 unread)."
    assert rest == ["two", "four"]


@shows("B7")
async def test_a_call_that_asks_for_progress_is_answered_as_an_event_stream(postal: PostalServer) -> None:
    asks = {"progressToken": "p-1"}
    await postal.plain("alice", "send_to_agent", name="bob", msg="ping")
    streamed = await postal.post("bob", rpc("tools/call", tool_call("check_mail", {}, asks), 1))
    in_json = await postal.post(
        "bob", rpc("tools/call", tool_call("check_mail", {}, asks), 2), Accept="application/json"
    )

    assert streamed.headers["content-type"] == "text/event-stream"
    event = json.loads(streamed.text.partition("data: ")[2])
    assert json.loads(event["result"]["content"][0]["text"])["content"] == "ping"
    assert in_json.json()["result"]["content"][0]["text"] == "null"
