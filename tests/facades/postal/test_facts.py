"""Each row of the facts about postal over real HTTP, with a golden transcript; how many rows are shown is counted."""

from __future__ import annotations

import asyncio
import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.facades.neighbours import postal_rows
from tests.facades.postal.postal_server import PostalServer, Session, open_postal, rpc, tool_call
from tests.facades.postal.rows import ELSEWHERE, PAGE, ROWS, SHOWN, shows

HELLO = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
TOKEN = "a-token-of-the-whole-server"
WAITS = pytest.mark.settings(POSTAL_MAX_WAIT_SECONDS="50")
MODULES = ("test_facts", "test_mail_facts", "test_processes")


def test_every_row_is_shown_by_a_test() -> None:
    for name in MODULES:
        importlib.import_module(f"{__package__ or 'tests.facades.postal'}.{name}")

    assert len(set(SHOWN)) / len(ROWS) == 1, sorted(ROWS.keys() - SHOWN.keys())
    assert not ROWS.keys() & ELSEWHERE.keys()


def test_every_row_of_the_page_about_neighbours_is_one_of_these() -> None:
    assert PAGE.keys() == {row.id for row in postal_rows.ROWS}
    assert set(PAGE.values()) <= ROWS.keys()


@shows("PM-01", "endpoint", "server-info", "tool-1", "tool-2", "FA3")
async def test_a_client_is_greeted_and_sees_exactly_two_tools(postal: PostalServer) -> None:
    hello = await postal.post("alice", rpc("initialize", HELLO, 0))
    session = {"Mcp-Session-Id": hello.headers["mcp-session-id"]}
    listed = await postal.post("alice", rpc("tools/list", {}, 1), **session)
    others = [await postal.post("alice", rpc(f"{kind}/list", {}, 2), **session) for kind in ("resources", "prompts")]
    ended = await postal.ask("DELETE", "/agents/alice/mcp/", headers=session)

    server_info = hello.json()["result"]["serverInfo"]
    assert (server_info["name"], hello.json()["result"]["protocolVersion"]) == ("generic", "2025-03-26")
    assert hello.json()["result"]["capabilities"]["tools"] == {"listChanged": True}
    assert "instructions" not in hello.json()["result"]
    tools = {tool["name"]: tool for tool in listed.json()["result"]["tools"]}
    assert list(tools) == ["send_to_agent", "check_mail"]
    assert tools["send_to_agent"]["description"] == "Sends a message to another agent."
    assert tools["send_to_agent"]["inputSchema"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "msg": {"type": "string"},
            "msg_id": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["name", "msg"],
    }
    assert tools["check_mail"]["description"] == "Checks for the oldest unread message, waiting until one is available."
    assert tools["check_mail"]["inputSchema"] == {"type": "object", "properties": {}}
    assert [answer.json()["result"] for answer in others] == [{"resources": []}, {"prompts": []}]
    assert ended.status_code == 200


@shows("PM-02", "no-slash")
async def test_the_same_without_a_slash_and_nobody_is_sent_elsewhere(postal: PostalServer) -> None:
    both = [await postal.post("alice", rpc("initialize", HELLO, 0), slash=slash) for slash in ("", "/")]
    listed = [await postal.post("alice", rpc("tools/list", {}, 1), slash=slash) for slash in ("", "/")]

    assert [answer.status_code for answer in (*both, *listed)] == [200] * 4
    assert listed[0].json() == listed[1].json()
    assert both[0].json() == both[1].json()


@shows("FA1", "other-routes")
async def test_its_own_port_serves_it_alone_and_the_servers_port_too(tmp_path: Path, unused_port: int) -> None:
    async with open_postal(tmp_path, POSTAL_PORT=str(unused_port)) as postal:
        body, plain = b'{"tool": "check_mail"}', {"Content-Type": "application/json"}
        answers = [
            await postal.ask("POST", f"/agents/bob/mcp{slash}", body, plain, base=base)
            for base in (postal.url, postal.own_url or "")
            for slash in ("", "/")
        ]
        nothing = [
            await postal.ask("GET", path, base=postal.own_url or "")
            for path in ("/", "/docs", "/openapi.json", "/health", "/mcp")
        ]
        postal.transcript.is_golden("FA1")

    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, None)] * 4
    assert {answer.status_code for answer in nothing} == {404}


@shows("agent-values", "B6")
async def test_the_paths_name_obeys_the_rule_of_names(postal: PostalServer) -> None:
    statuses = [
        (await postal.post(agent, rpc("initialize", HELLO, 0))).status_code
        for agent in ("alice", "x_y-1", "%C3%A9", "a%20b", "a.b", "%2e%2e", "a%2Fb")
    ]

    assert statuses == [200, 200, 200, 400, 400, 400, 400]


@shows("identity")
async def test_a_session_that_was_opened_as_one_acts_as_whom_each_path_names(postal: PostalServer) -> None:
    alice = await postal.open("alice")
    as_bob = Session(postal, "bob", alice.headers)
    await as_bob.text("send_to_agent", name="carol", msg="ping")
    carol = await postal.open("carol")

    assert (await carol.message())["from_agent"] == "bob"


@shows("readme-names")
async def test_the_names_of_the_readme_are_taken(postal: PostalServer) -> None:
    alice, bob = await postal.open("alice"), await postal.open("bob")
    sent = await alice.text("send_message", name="bob", msg="ping")

    assert json.loads(await bob.text("check_mailbox"))["id"] == sent


@shows("send-result", "PM-03")
async def test_a_send_gives_its_id_as_one_text(postal: PostalServer) -> None:
    alice = await postal.open("alice")
    made = await alice.call("send_to_agent", name="bob", msg="ping")
    chosen = await alice.call("send_to_agent", name="bob", msg="ping", msg_id="m-1")
    asked = await alice.call("send_to_agent", name="bob", msg="ping", msg_id=None)

    assert [len(result["content"]) for result in (made, chosen, asked)] == [1, 1, 1]
    assert len(made["content"][0]["text"]) == len(asked["content"][0]["text"]) == 36
    assert chosen["content"] == [{"type": "text", "text": "m-1"}]
    assert all("structuredContent" not in result for result in (made, chosen, asked))


@shows("check-result", "PM-04", "FA6")
async def test_a_check_gives_the_oldest_message_as_indented_json(postal: PostalServer) -> None:
    alice, bob = await postal.open("alice"), await postal.open("bob")
    sent = await alice.text("send_to_agent", name="bob", msg="ping")
    result = await bob.call("check_mail")

    (content,) = result["content"]
    message = json.loads(content["text"])
    assert content["text"] == json.dumps(message, indent=2)
    assert "structuredContent" not in result
    assert list(message) == ["id", "from", "from_agent", "content", "created"]
    assert (message["id"], message["from"], message["from_agent"], message["content"]) == (
        sent,
        "alice",
        "alice",
        "ping",
    )


@pytest.mark.settings(POSTAL_MAX_WAIT_SECONDS="1")
@shows("check-empty", "FA5", "B2", "P6")
async def test_an_empty_mailbox_is_waited_at_up_to_the_bound_over_mcp(postal: PostalServer) -> None:
    bob, loop = await postal.open("bob"), asyncio.get_running_loop()
    plainly = await postal.plain("bob", "check_mail")
    began = loop.time()
    first, second = await bob.text("check_mail"), await bob.text("check_mail")

    assert (plainly.text, first, second) == ("null", "null", "null")
    assert loop.time() - began >= 1.0


@pytest.mark.settings(POSTAL_MAX_WAIT_SECONDS="300")
async def test_an_empty_mailbox_is_not_waited_at_in_the_plain_form(postal: PostalServer) -> None:
    await postal.open("bob")

    plainly = await asyncio.wait_for(postal.plain("bob", "check_mail"), 60)

    assert plainly.text == "null"


@WAITS
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"], ids=["handshake", "modern"])
@shows("client-config", "client-cli", "FA2")
async def test_clients_of_mcp_of_both_eras_talk_by_a_url_alone(postal: PostalServer, mode: str) -> None:
    url = f"{postal.url}/agents"
    async with Client(f"{url}/gemini/mcp", mode=mode) as gemini, Client(f"{url}/claude-code/mcp", mode=mode) as claude:
        names = [tool.name for tool in (await claude.list_tools()).tools]
        waiting = asyncio.create_task(claude.call_tool("check_mail", {}))
        await postal.waiting(1)
        sent = await gemini.call_tool("send_to_agent", {"name": "claude-code", "msg": "ping"})
        got = await waiting

    message = json.loads(_text(got))
    assert names == ["send_to_agent", "check_mail"]
    assert (message["id"], message["from_agent"], message["content"]) == (_text(sent), "gemini", "ping")
    postal.transcript.note(f"{names} {sorted(message)}")


# A result of the SDK's.
def _text(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


@shows("environment", "plain-form", "B3", "D")
async def test_the_plain_form_gives_bare_values_and_refuses_with_an_error_object(postal: PostalServer) -> None:
    plain = {"Content-Type": "application/json"}

    async def ask(agent: str, call: Any, headers: dict[str, str] = plain) -> tuple[int, Any]:
        answer = await postal.ask("POST", f"/agents/{agent}/mcp/", json.dumps(call).encode(), headers)
        return answer.status_code, answer.json()

    sent = await ask("alice", {"tool": "send_to_agent", "args": {"name": "bob", "msg": "ping"}})
    taken = await ask("bob", {"tool": "check_mail", "args": {}})
    nothing = await ask("bob", {"tool": "check_mailbox", "args": {}})
    to_oneself = await ask("bob", {"tool": "send_message", "args": {"name": "bob", "msg": "note"}})
    note = await ask("bob", {"tool": "check_mail"}, {**plain, "Accept": "text/html"})
    unfit = await ask("alice", {"tool": "send_to_agent", "args": {"name": "a b", "msg": ""}})
    unknown = await ask("alice", {"tool": "nope", "args": {}})
    untold = await ask("alice", {"tool": "check_mail"}, {"Content-Type": "text/plain"})

    assert (sent[0], taken[0], taken[1]["id"], taken[1]["content"]) == (200, 200, sent[1], "ping")
    assert (nothing, to_oneself[0], note[1]["content"], note[1]["from"]) == ((200, None), 200, "note", "bob")
    assert [unfit[0], unknown[0], untold[0]] == [400, 404, 415]
    assert {"type", "message", "hint"} <= unfit[1]["error"].keys()


@shows("unfit-name", "PM-11")
async def test_what_is_no_name_is_refused_in_known_words(postal: PostalServer) -> None:
    alice = await postal.open("alice")
    told = [await alice.refused("send_to_agent", name=name, msg="hi") for name in ("", "a b", "a/b", "a.b")]

    assert told == ["Error calling tool 'send_to_agent': Invalid agent name."] * 4


@shows("fit-name", "empty-message")
async def test_letters_of_any_script_oneself_strangers_and_empty_messages_are_taken(postal: PostalServer) -> None:
    alice = await postal.open("alice")
    for name in ("é", "x_y-1", "alice", "nobody-yet"):
        await alice.text("send_to_agent", name=name, msg="")

    messages = [await (await postal.open(agent)).message() for agent in ("%C3%A9", "x_y-1", "alice", "nobody-yet")]

    assert [(message["content"], message["from"]) for message in messages] == [("", "alice")] * 4


@shows("wrong-arguments")
async def test_wrong_arguments_are_validation_errors(postal: PostalServer) -> None:
    alice = await postal.open("alice")
    lacking = await alice.refused("send_to_agent", name="bob")
    extra = await alice.refused("send_to_agent", name="bob", msg="hi", format="md")
    also_here = await alice.refused("check_mail", name="bob")

    assert all("1 validation error for call[" in told for told in (lacking, extra, also_here))


@shows("unknown-tool")
async def test_an_unknown_tool_is_named(postal: PostalServer) -> None:
    alice = await postal.open("alice")
    told = [await alice.refused(tool) for tool in ("nope", "fetch_inbox", "health_check")]

    there_are = "There are: send_to_agent, check_mail."
    assert told == [f"Unknown tool: {tool}\n{there_are}" for tool in ("nope", "fetch_inbox", "health_check")]


@shows("no-session", "unknown-session", "P3")
async def test_a_call_without_a_session_or_with_one_that_is_lost_is_served(postal: PostalServer) -> None:
    call = rpc("tools/call", tool_call("check_mail", {}), 1)
    answers = [
        await postal.post("bob", call),
        await postal.post("bob", call, **{"Mcp-Session-Id": "feedfeedfeedfeedfeedfeedfeedfeed"}),
        await postal.modern("bob", "tools/call", tool_call("check_mail", {})),
    ]

    assert [answer.json()["result"]["content"][0]["text"] for answer in answers] == ["null"] * 3


@shows("accept", "content-type")
async def test_what_a_client_takes_and_sends_is_looked_at(postal: PostalServer) -> None:
    call = rpc("tools/list", {}, 1)
    statuses = [
        (await postal.post("bob", call, Accept="text/html")).status_code,
        (await postal.post("bob", call, Accept="text/event-stream")).status_code,
        (await postal.post("bob", call, Accept="application/json")).status_code,
        (await postal.post("bob", call, **{"Content-Type": "text/plain"})).status_code,
        (await postal.post("bob", call, **{"Content-Type": "application/x-www-form-urlencoded"})).status_code,
    ]

    assert statuses == [406, 406, 200, 415, 415]


@shows("no-json", "too-large")
async def test_what_is_no_json_and_what_is_too_large_is_refused(postal: PostalServer) -> None:
    broken = [await postal.post("bob", body) for body in (b"nope", b'{"jsonrpc": "2.0", ')]
    large = await postal.post("bob", b'{"a": "' + b"x" * 4 * 1024 * 1024 + b'"}')

    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in broken] == [(400, -32700)] * 2
    assert large.status_code == 413
    assert (await postal.plain("bob", "check_mail")).status_code == 200
