"""Results and refusals as they stand on the wire: which form they take, and what a failed read is called."""

from __future__ import annotations

import json
from typing import Any

import pytest
from toon_format import decode

from mcp_agent_mail.core.errors import AgentMailError, Conflict, Internal, InvalidInput, NotFound, Unavailable
from mcp_agent_mail.core.resources import ContentResult
from mcp_agent_mail.core.tools import ResultList, ToolSpec, UnknownTool
from mcp_agent_mail.server.rendering.formats import Output, OutputFormat
from mcp_agent_mail.server.rendering.wire import (
    http_status,
    resource_error_code,
    resource_result,
    tool_error,
    tool_result,
    written,
)
from tests.server.hosted import toy_tools

TOOLS: dict[str, ToolSpec] = {spec.name: spec for spec in toy_tools()}
LIST = [{"number": 1}, {"number": 2}]
LONG_LIST = [{"number": number} for number in range(20)]


def output(form: OutputFormat) -> Output:
    return Output(format=form, source="header")


def text_of(result: dict[str, Any]) -> str:
    (block,) = result["content"]
    assert (block["type"], result["isError"], result["resultType"]) == ("text", False, "complete")
    return str(block["text"])


def test_json_is_one_value_as_text_and_as_structured_content_where_a_list_stands_under_result() -> None:
    listed = tool_result(TOOLS["count"], LIST)
    single = tool_result(TOOLS["echo"], {"text": "a"})

    assert (json.loads(text_of(listed)), listed["structuredContent"]) == (LIST, {"result": LIST})
    assert (json.loads(text_of(single)), single["structuredContent"]) == ({"text": "a"}, {"text": "a"})


def test_what_belongs_to_a_list_stands_beside_it_in_structured_content_alone() -> None:
    counted = tool_result(TOOLS["count"], ResultList(LIST, {"total": 2}))
    counts_alone = tool_result(TOOLS["count"], {"total": 2})

    assert (json.loads(text_of(counted)), counted["structuredContent"]) == (LIST, {"result": LIST, "total": 2})
    assert json.loads(text_of(counts_alone)) == {"total": 2}
    assert counts_alone["structuredContent"] == {"result": [], "total": 2}


def test_toon_is_the_envelope_in_both_places() -> None:
    result = tool_result(TOOLS["count"], LONG_LIST, output(OutputFormat.TOON))

    envelope = result["structuredContent"]
    assert json.loads(text_of(result)) == envelope
    assert (envelope["format"], envelope["meta"]["source"], decode(envelope["data"])) == ("toon", "header", LONG_LIST)


def test_toon_that_would_be_longer_is_plain_json_in_both_places() -> None:
    result = tool_result(TOOLS["count"], LIST, output(OutputFormat.TOON))

    assert (json.loads(text_of(result)), result["structuredContent"]) == (LIST, {"result": LIST})


def test_markdown_is_the_text_alone() -> None:
    result = tool_result(TOOLS["echo"], {"text": "a"}, output(OutputFormat.MD))

    assert text_of(result) == "- text: a\n"
    assert result["structuredContent"] == {"text": "a"}


@pytest.mark.parametrize(
    ("form", "media_type", "begin"),
    [
        (OutputFormat.JSON, "application/json", '[{"number":0},'),
        (OutputFormat.TOON, "application/json", '{"format":"toon",'),
        (OutputFormat.MD, "text/markdown", "# resource://toys\n"),
    ],
)
def test_a_result_that_stands_alone_says_what_it_is(form: OutputFormat, media_type: str, begin: str) -> None:
    uri = f"resource://toys?format={form}"

    told, text = written("resource://toys", LONG_LIST, output(form))
    resource = resource_result(uri, LONG_LIST, output(form))

    assert (told, text[: len(begin)]) == (media_type, begin)
    assert resource["contents"] == [{"uri": uri, "mimeType": media_type, "text": text}]
    assert (resource["ttlMs"], resource["cacheScope"]) == (0, "private")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Conflict("It is taken.", hint="Take another."), "Error calling tool 'clash': It is taken. Take another."),
        (Conflict("It is taken."), "Error calling tool 'clash': It is taken."),
        (UnknownTool("Unknown tool: clash", hint="See tools/list."), "Unknown tool: clash. See tools/list."),
    ],
)
def test_a_refusal_names_its_tool_unless_there_is_none(error: AgentMailError, text: str) -> None:
    result = tool_error("clash", error)

    assert (result["isError"], result["content"]) == (True, [{"type": "text", "text": text}])
    assert result["structuredContent"] == {"error": error.to_wire()}


def test_a_refusal_over_http_has_the_status_of_its_kind() -> None:
    assert [http_status(error) for error in (Conflict("a"), NotFound("b"), Internal("c"))] == [409, 404, 500]


@pytest.mark.parametrize(
    ("error", "handshake", "modern"),
    [
        (Internal("a bug"), -32603, -32603),
        (Unavailable("stopping"), -32603, -32603),
        (NotFound("nobody"), -32002, -32602),
        (InvalidInput("no"), -32602, -32602),
    ],
)
def test_the_code_tells_a_fault_of_the_server_from_one_of_the_question(
    error: AgentMailError, handshake: int, modern: int
) -> None:
    assert resource_error_code(error, is_modern=False) == handshake
    assert resource_error_code(error, is_modern=True) == modern


@pytest.mark.parametrize("form", list(OutputFormat))
def test_bytes_are_a_blob_in_whatever_form_others_are_written(form: OutputFormat) -> None:
    (content,) = resource_result("resource://attachment/0", ContentResult("image/png", b"\x89PNG"), output(form))[
        "contents"
    ]

    assert content == {"uri": "resource://attachment/0", "mimeType": "image/png", "blob": "iVBORw=="}
