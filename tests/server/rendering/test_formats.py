"""Results as JSON, TOON and Markdown: what asks for a form, and what comes."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import toon_format
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.profiles import Profiles
from mcp_agent_mail.core.resources import MAX_URI
from mcp_agent_mail.server.preferences import Connections
from mcp_agent_mail.server.rendering.formats import (
    PLAIN,
    Output,
    OutputFormat,
    UnknownFormat,
    of_uri,
    parse_format,
    take_argument,
    toon_envelope,
)
from mcp_agent_mail.server.rendering.toon import as_tables
from tests.server.hosted import hosted, toy_app
from tests.server.test_mcp import ERAS, JSON_HEADERS, post

LIST = [{"number": 0}, {"number": 1}]
ENOUGH = 20
"""Items of the toy list from which TOON is shorter."""
TOON = Output(format=OutputFormat.TOON, source="header")


async def count(
    url: str, era: Any, arguments: dict[str, Any] | None = None, query: str = "", form: str | None = None
) -> Any:
    headers = {} if form is None else {"X-Output-Format": form}
    given_arguments = {"limit": 2, **(arguments or {})}
    response = await post(
        f"{url}/mcp{query}", era, "tools/call", {"name": "count", "arguments": given_arguments}, **headers
    )
    return response.json()["result"]


@ERAS
async def test_without_a_wish_results_are_json(era: Any) -> None:
    async with hosted(toy_app()) as url:
        result = await count(url, era)

    assert json.loads(result["content"][0]["text"]) == LIST
    assert result["structuredContent"] == {"result": LIST}


@ERAS
@pytest.mark.parametrize(
    ("source", "asking"),
    [
        ("header", {"form": "TOON"}),
        ("query", {"query": "?format=toon"}),
        ("argument", {"arguments": {"format": "Toon"}}),
    ],
)
async def test_toon_stands_in_an_envelope_in_both_places(era: Any, source: str, asking: dict[str, Any]) -> None:
    async with hosted(toy_app()) as url:
        asking["arguments"] = {"limit": ENOUGH, **asking.get("arguments", {})}
        result = await count(url, era, **asking)

    envelope = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == envelope
    assert envelope == {
        "format": "toon",
        "data": f"[{ENOUGH}]{{number}}:\n" + "\n".join(f"  {number}" for number in range(ENOUGH)),
        "meta": {"requested": "toon", "source": source},
    }
    assert toon_format.decode(envelope["data"]) == [{"number": number} for number in range(ENOUGH)]


@ERAS
async def test_where_the_envelope_would_be_longer_toon_is_plain_json(era: Any) -> None:
    async with hosted(toy_app()) as url:
        result = await count(url, era, form="toon")

    assert json.loads(result["content"][0]["text"]) == LIST
    assert result["structuredContent"] == {"result": LIST}


@ERAS
async def test_markdown_is_the_text_and_json_stays_beside_it(era: Any) -> None:
    async with hosted(toy_app()) as url:
        result = await count(url, era, form="md")

    assert result["content"][0]["text"] == "| number |\n|---|\n| 0 |\n| 1 |\n"
    assert result["structuredContent"] == {"result": LIST}


async def test_the_url_beats_the_header_and_a_calls_argument_beats_both() -> None:
    era = ERAS.args[1][0]
    async with hosted(toy_app()) as url:
        by_url = await count(url, era, query="?format=json", form="md")
        by_argument = await count(url, era, {"format": "md"}, query="?format=json")

    assert by_url["content"][0]["text"].startswith("[")
    assert by_argument["content"][0]["text"].startswith("| number |")


async def test_the_servers_own_form_is_for_mcp_alone() -> None:
    era = ERAS.args[1][0]
    app = toy_app(connections=Connections(Profiles(), Output(format=OutputFormat.MD, source="default")))
    async with hosted(app) as url, httpx.AsyncClient(timeout=60) as client:
        result = await count(url, era)
        plain = await client.post(f"{url}/rpc/count", json={"limit": 2})

    assert result["content"][0]["text"].startswith("| number |")
    assert plain.json() == LIST


async def test_rpc_answers_in_the_form_asked_for() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        markdown = await client.post(f"{url}/rpc/count?format=md", json={"limit": 1})
        toon = await client.post(f"{url}/rpc/count", json={"limit": ENOUGH, "format": "toon"})

    assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
    assert markdown.text.startswith("# count")
    assert toon.json()["data"].startswith(f"[{ENOUGH}]{{number}}:\n  0\n")


@ERAS
async def test_an_unknown_form_is_refused_with_the_known_ones(era: Any) -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        by_argument = await count(url, era, {"format": "xml"})
        by_header = await client.post(f"{url}/rpc/count", json={}, headers={"X-Output-Format": "xml"})

    assert by_argument["structuredContent"]["error"]["type"] == "INVALID_INPUT"
    assert by_argument["structuredContent"]["error"]["data"]["accepted"] == ["json", "toon", "md"]
    assert by_header.status_code == 400
    assert "json, toon, md" in by_header.json()["detail"]


@ERAS
@pytest.mark.parametrize(
    ("query", "media_type", "start"),
    [
        ("", "application/json", '{"name":'),
        ("?format=toon", "application/json", '{"name":'),
        ("?format=md", "text/markdown", "# "),
    ],
)
async def test_a_resource_takes_its_form_as_a_query_key(era: Any, query: str, media_type: str, start: str) -> None:
    async with hosted(toy_app()) as url:
        response = await post(f"{url}/mcp", era, "resources/read", {"uri": f"resource://toy/ball{query}"})

    (content,) = response.json()["result"]["contents"]
    assert content["mimeType"] == media_type
    assert content["text"].startswith(start)


async def test_a_refusal_stays_json_whatever_was_asked_for() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        response = await client.post(f"{url}/rpc/clash?format=toon", json={})

    assert response.json()["error"]["type"] == "CONFLICT"


def test_what_the_encoder_cannot_take_comes_as_json_with_the_reason() -> None:
    class Strange:
        def __iter__(self) -> Any:
            raise RuntimeError("broken")

    value = {"strange": Strange()}

    envelope = toon_envelope(value, TOON)

    if envelope["format"] == "json":
        assert envelope["data"] is value
        assert envelope["meta"]["toon_error"]
    else:
        pytest.fail(f"the encoder took it: {envelope!r}")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(_VALUES)
def test_toon_takes_every_json_value(value: Any) -> None:
    envelope = toon_envelope({"value": value}, TOON)

    assert envelope["format"] == "toon", envelope["meta"]
    assert toon_format.decode(envelope["data"]) == as_tables({"value": value})


@pytest.mark.parametrize(("asked", "shown"), [("xml", "'xml'"), (7, "'int'"), ("x" * 1_000, f"'{'x' * 100}'")])
def test_a_refusal_shows_what_was_asked_for_and_no_more_of_it_than_a_word(asked: object, shown: str) -> None:
    with pytest.raises(UnknownFormat) as refused:
        parse_format(asked)

    assert refused.value.message == f"Results are not written as {shown}."


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_a_blank_argument_asks_for_nothing(blank: str | None) -> None:
    assert take_argument({"limit": 2, "format": blank}, TOON) == ({"limit": 2}, TOON)


def test_a_resource_takes_the_form_from_its_query_unless_the_uri_is_beyond_its_bound() -> None:
    assert of_uri("resource://inbox/BlueLake?format=toon", PLAIN).format is OutputFormat.TOON
    assert of_uri("resource://inbox/BlueLake?limit=2", TOON) == TOON
    assert of_uri(f"resource://inbox/{'x' * MAX_URI}?format=toon", PLAIN) == PLAIN
