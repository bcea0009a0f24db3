"""`/rest/v1/` over toy tools: how routes take arguments and answer. `test_same_answers` asks the product's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import ToolTable
from mcp_agent_mail.server.dispatch import Calls
from mcp_agent_mail.server.rest.endpoint import Rest
from mcp_agent_mail.server.transport.limits import MAX_BODY_BYTES
from tests.server.hosted import hosted, toy_edge
from tests.server.rest.toy_routes import rest_app

TOKEN = "the-servers-own-token"
OPERATOR = "amo_the-operators-token"


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with hosted(rest_app()) as url, httpx.AsyncClient(base_url=f"{url}/rest/v1/", timeout=60) as opened:
        yield opened


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["type"]


@pytest.mark.parametrize(
    ("query", "got"),
    [
        ("", {}),
        ("names=a&names=b&ids=1&ids=2", {"names": ["a", "b"], "ids": [1, 2]}),
        ("names=a&ids=7", {"names": ["a"], "ids": [7]}),
        ("names=%5B%22a%22%2C%22b%22%5D", {"names": ["a", "b"]}),
        ("mark_read=TRUE", {"mark_read": True}),
        ("word=two+words", {"word": "two words"}),
        ("word=c%2B%2B", {"word": "c++"}),
        ("word=%C3%A9%20&names=", {"word": "é "}),
        ("word=a&project=/code/app&agent=BlueLake&profile=core", {"word": "a"}),
    ],
)
async def test_a_query_becomes_what_the_tool_takes(client: httpx.AsyncClient, query: str, got: dict[str, Any]) -> None:
    answer = await client.get(f"picked?{query}")

    nothing = {"names": None, "ids": None, "word": "none", "mark_read": False}
    assert (answer.status_code, answer.json()) == (200, nothing | got)


@pytest.mark.parametrize(
    "query",
    ["word=a&word=b", "stranger=1", "stranger=", "mark_read=yes", "ids=x", "word=%FF", "word=&mark_read=&stranger"],
)
async def test_a_query_that_cannot_be_meant_is_invalid_input(client: httpx.AsyncClient, query: str) -> None:
    answer = await client.get(f"picked?{query}")

    assert error_of(answer) == (400, "INVALID_INPUT")


async def test_an_unknown_key_is_told_with_those_that_there_are(client: httpx.AsyncClient) -> None:
    in_query = (await client.get("picked", params={"wrod": "a"})).json()["error"]
    in_body = (await client.post("kept/1/again", json={"wrod": "a"})).json()["error"]
    of_resource = (await client.get("toys/ball", params={"limt": "2"})).json()["error"]

    for error, name in ((in_query, "word"), (in_body, "word"), (of_resource, "limit")):
        assert error["data"]["unknown"][0]["did_you_mean"] == name
    assert in_query["data"]["accepted"] == ["names", "ids", "word", "mark_read", "format"]
    assert in_body["data"]["accepted"] == ["word", "sender_token", "registration_token", "format"]
    assert of_resource["data"]["accepted"] == ["limit", "most"]


async def test_no_refusal_names_what_the_route_refuses(client: httpx.AsyncClient) -> None:
    in_path = (await client.post("kept/1/again", json={"id": 2, "numbr": 2})).json()["error"]
    of_resource = (await client.get("toys/ball", params={"nam": "x"})).json()["error"]

    for error, hidden in ((in_path, "number"), (of_resource, "name")):
        assert all("did_you_mean" not in one for one in error["data"]["unknown"])
        assert hidden not in error["data"]["accepted"]
        assert hidden not in error["hint"]


@pytest.mark.parametrize("name", ["token", "registration_token", "api_key", "Authorization"])
async def test_a_token_by_any_name_in_a_url_is_sent_to_its_header(client: httpx.AsyncClient, name: str) -> None:
    of_tool = (await client.get("picked", params={name: "s3cret"})).json()["error"]
    of_resource = (await client.get("toys/ball", params={name: "s3cret"})).json()["error"]

    for error in (of_tool, of_resource):
        assert (error["hint"], error["data"]) == ("Send the token in the header X-Agent-Token.", {"parameter": name})


async def test_a_token_is_not_taken_from_a_url(client: httpx.AsyncClient) -> None:
    answer = await client.get("picked", params={"registration_token": "s3cret"})

    assert error_of(answer) == (400, "INVALID_INPUT")
    assert "X-Agent-Token" in answer.json()["error"]["hint"]
    assert "s3cret" not in answer.text


async def test_a_token_in_a_header_or_a_body_is(client: httpx.AsyncClient) -> None:
    in_header = await client.get("who", headers={"X-Agent-Token": "mine"})
    in_body = await client.post("kept/1/again", json={"sender_token": "mine"})

    assert in_header.json() == {"via": "rpc", "bearer": None, "agent": "mine", "argument": None}
    assert in_body.status_code == 200


async def test_what_stands_in_the_path_is_an_argument_and_stands_nowhere_else(client: httpx.AsyncClient) -> None:
    kept = await client.post("kept/7/again", json={"word": "a"})
    twice = await client.post("kept/7/again", json={"number": 7})
    never = await client.post("kept/7/again", json={"numbers": [8]})
    no_id = await client.post("kept/seven/again", json={})
    blank = await client.post("kept/%20/again", json={})

    assert kept.json() == {"number": 7, "word": "a", "numbers": None}
    assert [error_of(one) for one in (twice, never, no_id, blank)] == [(400, "INVALID_INPUT")] * 4


async def test_arguments_stand_in_the_body_of_post_and_in_the_query_of_get(client: httpx.AsyncClient) -> None:
    in_query = await client.post("kept/7/again?word=a", json={})
    in_body = await client.request("GET", "picked", json={"word": "a"})
    of_connection = await client.post("kept/7/again?project=/code/app&agent=BlueLake", json={})

    assert [error_of(one) for one in (in_query, in_body)] == [(400, "INVALID_INPUT")] * 2
    assert of_connection.status_code == 200


async def test_a_list_stands_under_result_with_what_belongs_to_it(client: httpx.AsyncClient) -> None:
    listed = await client.get("tally")
    counted = await client.get("tally", params={"limit": 0})
    resource = await client.get("toys")

    assert listed.json() == {"result": [0, 1], "total": 9}
    assert counted.json() == {"result": [], "total": 9}
    assert resource.json() == {"result": [{"name": "ball"}]}


async def test_a_resource_is_read_by_its_keys(client: httpx.AsyncClient) -> None:
    named = await client.get("toys/a%20%3F%26b", params={"most": 3})
    twice = await client.get("toys/ball", params={"most": 3, "limit": 3})
    too_many = await client.get("toys/ball", params={"limit": 0})

    assert named.json() == {"name": "a ?&b", "limit": 3, "nothing": None}
    assert [error_of(one) for one in (twice, too_many)] == [(400, "INVALID_INPUT")] * 2


async def test_results_come_in_the_form_asked_for(client: httpx.AsyncClient) -> None:
    in_query = await client.get("picked?format=md")
    in_body = await client.post("kept/1/again", json={"format": "md"})
    in_header = await client.get("toys", headers={"X-Output-Format": "md"})

    for answer in (in_query, in_body, in_header):
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_what_a_foreign_form_can_send_is_refused(client: httpx.AsyncClient, content_type: str) -> None:
    answer = await client.post("kept/1/again", content=b"{}", headers={"Content-Type": content_type})

    assert (answer.status_code, list(answer.json())) == (415, ["detail"])


@pytest.mark.parametrize("body", [b"{", b"[]", b"5", b"null", b"\xff", b"[" * 10_000])
async def test_what_is_no_json_object_is_invalid_input(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post("kept/1/again", content=body, headers={"Content-Type": "application/json"})

    assert error_of(answer) == (400, "INVALID_INPUT")


@pytest.mark.parametrize("path", ["", "nothing", "picked/", "picked/more", "kept//again", "../v2/picked", "toys/a/b"])
async def test_an_unknown_path_is_told_with_the_routes_that_there_are(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(str(client.base_url.join("/rest/v1/")) + path)

    error = answer.json()["error"]
    assert error_of(answer) == (404, "NOT_FOUND")
    assert "GET picked" in error["hint"]
    assert "POST /rest/v1/kept/{n}/again" in error["data"]["routes"]


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "picked", "GET, HEAD"),
        ("DELETE", "toys/ball", "GET, HEAD"),
        ("GET", "kept/1/again", "POST"),
        ("HEAD", "kept/1/again", "POST"),
        ("HEAD", "stream", "GET"),
        ("OPTIONS", "openapi.json", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(
    client: httpx.AsyncClient, method: str, path: str, allow: str
) -> None:
    answer = await client.request(method, path, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.headers["allow"]) == (405, allow)


@pytest.mark.parametrize("path", ["picked", "picked?stranger=1", "tally?format=md", "toys/ball", "openapi.json"])
async def test_head_says_of_a_get_all_but_its_body(client: httpx.AsyncClient, path: str) -> None:
    said, shown = await client.head(path), await client.get(path)

    unlike = {"date"}
    assert said.content == b""
    assert said.status_code == shown.status_code
    assert {k: v for k, v in said.headers.items() if k not in unlike} == {
        k: v for k, v in shown.headers.items() if k not in unlike
    }


async def test_head_marks_nothing_as_read(client: httpx.AsyncClient) -> None:
    marking = await client.head("picked?mark_read=true")
    looking = await client.head("picked?mark_read=false")

    assert (marking.status_code, looking.status_code) == (400, 200)


async def test_a_bug_is_masked(client: httpx.AsyncClient) -> None:
    answer = await client.get("crash", params={"text": "s3cret"})

    assert error_of(answer) == (500, "INTERNAL")
    assert "s3cret" not in answer.text


async def test_what_no_tool_does_has_a_function_of_its_own(client: httpx.AsyncClient) -> None:
    answer = await client.get("stream?after=1")

    assert answer.json() == {"path": "/rest/v1/stream", "via": "rpc"}
    assert answer.headers.get_list("cache-control") == ["no-cache, no-store"]


async def test_no_browser_keeps_an_answer_or_shows_it_to_another_site(client: httpx.AsyncClient) -> None:
    for answer in (await client.get("picked"), await client.get("nothing"), await client.post("picked")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("path", ["picked", "openapi.json", "stream", "toys"])
async def test_a_page_of_another_site_is_refused_though_its_get_has_no_origin(
    client: httpx.AsyncClient, path: str
) -> None:
    statuses = [
        (await client.get(path, headers={"Sec-Fetch-Site": said})).status_code
        for said in ("cross-site", "same-site", "same-origin", "none")
    ]

    assert statuses == [403, 403, 200, 200]


async def test_a_page_whose_origin_the_edge_has_judged_may_ask(client: httpx.AsyncClient) -> None:
    answer = await client.get(
        "picked", headers={"Sec-Fetch-Site": "same-site", "Origin": str(client.base_url.copy_with(raw_path=b"/"))[:-1]}
    )

    assert answer.status_code == 200


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
@pytest.mark.parametrize("path", ["picked", "openapi.json", "nothing"])
async def test_other_hosts_and_their_pages_are_refused(
    client: httpx.AsyncClient, path: str, header: dict[str, str]
) -> None:
    answer = await client.get(path, headers=header)

    assert (answer.status_code, list(answer.json())) == (403, ["detail"])


async def test_a_server_with_a_token_wants_it_at_every_route() -> None:
    gate = toy_edge(server_token=TOKEN, operator_token=OPERATOR)
    async with hosted(rest_app(gate)) as url, httpx.AsyncClient(base_url=f"{url}/rest/v1/", timeout=60) as client:
        statuses = [
            [
                (await client.get(path, headers={"Authorization": f"Bearer {token}"} if token else {})).status_code
                for path in ("picked", "toys", "openapi.json", "stream", "nothing")
            ]
            for token in ("", "wrong", TOKEN, OPERATOR)
        ]

    assert statuses == [[401] * 5, [401] * 5, [200, 200, 200, 200, 404], [200, 200, 200, 200, 404]]


@pytest.mark.parametrize("chunked", [True, False])
async def test_a_body_over_the_limit_is_413(client: httpx.AsyncClient, chunked: bool) -> None:
    body = b'{"word":"' + b"a" * MAX_BODY_BYTES + b'"}'

    async def pieces() -> AsyncIterator[bytes]:
        yield body

    headers = {"Content-Type": "application/json"}
    answer = await client.post("kept/1/again", content=pieces() if chunked else body, headers=headers)

    assert answer.status_code == 413


def test_a_row_that_nothing_answers_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="POST /rest/v1/messages"):
        Rest(Calls(ToolTable([]), ResourceTable([])))
