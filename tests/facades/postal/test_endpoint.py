"""Which requests are whose, which are MCP's and which are plain calls, and what is refused: over real HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_agent_mail.facades.postal.endpoint import find_plain_call
from tests.facades.postal.postal_server import PostalServer, open_postal, rpc, tool_call

UNFIT = ["a%20b", "a.b", "%2e%2e", "a%2Fb", "%ff", "%00", "x" * 129, "a%7Eb"]


@pytest.mark.parametrize("slash", ["", "/"], ids=["bare", "slash"])
@pytest.mark.parametrize("agent", ["alice", "x_y-1", "%C3%A9", "x" * 128])
async def test_a_path_is_a_mailbox_with_and_without_its_slash(postal: PostalServer, agent: str, slash: str) -> None:
    plain = await postal.post(agent, {"tool": "check_mail", "args": {}}, slash=slash)
    over_mcp = await postal.post(agent, rpc("tools/call", tool_call("check_mail", {}), 1), slash=slash)

    assert (plain.status_code, plain.json()) == (200, None)
    assert over_mcp.json()["result"]["content"] == [{"type": "text", "text": "null"}]


@pytest.mark.parametrize("agent", UNFIT)
async def test_a_path_whose_name_is_none_is_refused_whatever_comes_there(postal: PostalServer, agent: str) -> None:
    plain = await postal.post(agent, {"tool": "check_mail", "args": {}})
    over_mcp = await postal.post(agent, rpc("tools/list", {}, 1))
    looked = await postal.client.get(f"{postal.url}/agents/{agent}/mcp")

    assert {answer.status_code for answer in (plain, over_mcp, looked)} == {400}
    assert plain.json()["error"]["message"] == "Invalid agent name."


@pytest.mark.parametrize(
    "path", ["/agents/alice", "/agents/alice/mcp/x", "/agents/", "/agents/alice/mcp//", "/agents//mcp"]
)
async def test_any_other_path_is_nothing(postal: PostalServer, path: str) -> None:
    answer = await postal.client.post(f"{postal.url}{path}", json={"tool": "check_mail"})

    assert answer.status_code == (400 if path == "/agents//mcp" else 404)


async def test_the_plain_form_gives_bare_values_and_whatever_is_accepted_is_json(postal: PostalServer) -> None:
    sent = await postal.post(
        "alice", {"tool": "send_message", "args": {"name": "bob", "msg": "ping"}}, Accept="text/html"
    )
    taken = await postal.plain("bob", "check_mailbox")
    nothing = await postal.post("bob", {"tool": "check_mail"})

    assert [one.headers["content-type"] for one in (sent, taken, nothing)] == ["application/json"] * 3
    assert list(taken.json()) == ["id", "from", "from_agent", "content", "created"]
    assert (taken.json()["id"], taken.json()["content"]) == (sent.json(), "ping")
    assert nothing.text == "null"


@pytest.mark.parametrize(
    ("call", "status", "message"),
    [
        ({"tool": "nope", "args": {}}, 404, "Unknown tool: nope"),
        ({"tool": "send_to_agent", "args": {"name": "a b", "msg": ""}}, 400, "Invalid agent name."),
        ({"tool": "send_to_agent", "args": {"name": "bob"}}, 400, "send_to_agent needs msg."),
        ({"tool": "send_to_agent", "args": "bob"}, 400, "args must be an object."),
        ({"tool": ["send_to_agent"], "args": {}}, 400, "tool must be the name of a tool."),
    ],
)
async def test_the_plain_form_refuses_with_an_error_object(
    postal: PostalServer, call: dict[str, Any], status: int, message: str
) -> None:
    answer = await postal.post("alice", call)

    assert (answer.status_code, answer.json()["error"]["message"]) == (status, message)
    assert {"type", "message", "hint"} <= answer.json()["error"].keys()


async def test_what_a_form_of_a_foreign_page_can_send_is_refused_and_sends_nothing(postal: PostalServer) -> None:
    call = {"tool": "send_to_agent", "args": {"name": "bob", "msg": "hi"}}
    kinds = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]

    answers = [await postal.post("alice", call, **{"Content-Type": kind}) for kind in kinds]

    assert [answer.status_code for answer in answers] == [415, 415, 415]
    assert (await postal.plain("bob", "check_mail")).json() is None


async def test_a_body_that_is_no_json_is_a_parse_error(postal: PostalServer) -> None:
    answers = [await postal.post("alice", body) for body in (b"nope", b"", b'{"tool": ', b"[" * 5_000, b'"tool\xff"')]

    assert [answer.status_code for answer in answers] == [400] * 5
    assert {answer.json()["error"]["code"] for answer in answers} == {-32700}


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"null",
        b"5",
        b"[]",
        b'["tool"]',
        b'{"tol": "check_mail", "args": {}}',
        b'{"name": "bob", "msg": "hi"}',
        b"{tool: check_mail}",
        b"tool=check_mail",
        b"",
    ],
)
async def test_what_is_no_call_is_told_the_form_in_one_sentence(postal: PostalServer, body: bytes) -> None:
    answer = await postal.post("alice", body)

    error = answer.json()["error"]
    assert answer.status_code == 400
    assert f"{error['message']} {error.get('hint', '')}".strip().endswith(
        'Send {"tool": "send_to_agent" | "check_mail", "args": {…}}.'
    )
    assert len(answer.content) < 400


@pytest.mark.parametrize(
    ("body", "is_plain"),
    [
        (b'{"tool": "check_mail"}', True),
        (b' \n{"args": {}, "tool": "check_mail"}', True),
        (b'{"args": {"msg": "\\"jsonrpc\\""}, "tool": "send_to_agent"}', True),
        (b'{"jsonrpc": "2.0", "tool": "check_mail"}', False),
        (b'{"jsonrpc": "2.0", "method": "x", "params": {"tool": 1}}', False),
        (b'[{"jsonrpc": "2.0", "method": "ping"}]', False),
        (b'{"json\\u0072pc": "2.0", "method": "ping"}', False),
        (b'{"args": {"tool": "check_mail"}}', True),
        (b'["tool"]', True),
        (b"{}", True),
        (b"null", True),
    ],
)
def test_a_body_without_jsonrpc_is_read_as_the_plain_form(body: bytes, is_plain: bool) -> None:
    assert (find_plain_call(body) is not None) == is_plain


async def test_words_of_a_message_do_not_make_a_plain_call_anything_else(postal: PostalServer) -> None:
    sent = await postal.post("alice", {"tool": "send_to_agent", "args": {"name": "jsonrpc", "msg": "jsonrpc"}})

    assert sent.status_code == 200


async def test_its_own_port_has_the_same_mailboxes_and_nothing_else(tmp_path: Path, unused_port: int) -> None:
    async with open_postal(tmp_path, POSTAL_PORT=str(unused_port)) as postal:
        sent = await postal.plain("alice", "send_to_agent", name="bob", msg="ping")
        assert postal.own_url == f"http://127.0.0.1:{unused_port}"
        taken = await postal.client.post(f"{postal.own_url}/agents/bob/mcp", json={"tool": "check_mail"})
        others = [
            (await postal.client.post(f"{postal.own_url}{path}", json={})).status_code
            for path in ("/", "/mcp", "/rpc/health_check", "/metrics")
        ]
        look = await postal.client.get(f"{postal.own_url}/health/liveness")

    assert taken.json()["id"] == sent.json()
    assert others == [404] * 4
    assert look.status_code == 404


async def test_the_servers_token_is_needed_here_too_and_the_operators_opens_nothing(tmp_path: Path) -> None:
    call = {"tool": "check_mail"}
    token = "a-token-of-the-whole-server"
    async with open_postal(tmp_path, HTTP_BEARER_TOKEN=token) as postal:
        without = await postal.post("bob", call)
        operator = await postal.post("bob", call, Authorization="Bearer amo_of-this-test")
        served = await postal.post("bob", call, Authorization=f"Bearer {token}")
        from_elsewhere = await postal.post("bob", call, Authorization=f"Bearer {token}", Host="mail.example")
        from_a_page = await postal.post("bob", call, Authorization=f"Bearer {token}", Origin="https://mail.example")

    statuses = [answer.status_code for answer in (without, operator, served, from_elsewhere, from_a_page)]
    assert (statuses[:3], [status >= 400 for status in statuses[3:]]) == ([401, 401, 200], [True, True])


async def test_without_its_setting_the_door_is_not_there(tmp_path: Path) -> None:
    async with open_postal(tmp_path, POSTAL_ENABLED="false", POSTAL_PORT="7777") as postal:
        answer = await postal.plain("bob", "check_mail")

    assert postal.own_url is None
    assert answer.status_code == 404


async def test_a_message_over_the_bounds_of_mail_is_refused_by_them_and_the_server_goes_on(
    postal: PostalServer,
) -> None:
    large = await postal.plain("alice", "send_to_agent", name="bob", msg="x" * 2_000_000)
    too_large = await postal.plain("alice", "send_to_agent", name="bob", msg="x" * 5_000_000)

    assert (large.status_code, too_large.status_code) == (400, 413)
    assert large.json()["error"]["message"] == "msg has 2000000 bytes; at most 1048576 are accepted."
    assert (await postal.plain("bob", "check_mail")).json() is None


async def test_what_this_server_cannot_do_just_now_is_no_fault_of_the_call(
    postal: PostalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(type(postal.services.doors), "send", fail)

    plain: httpx.Response = await postal.plain("alice", "send_to_agent", name="bob", msg="hi")

    assert (plain.status_code, plain.json()["error"]["type"]) == (500, "INTERNAL")
    assert "secret" not in plain.text
