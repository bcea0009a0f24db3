"""Calls and reads from the tables, without any protocol around them."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.server.dispatch import Calls, RequestFacts
from mcp_agent_mail.server.fast_path.table_calls import TableCalls
from mcp_agent_mail.server.rendering.mcp_words import OURS, McpWords
from mcp_agent_mail.server.transport.hearing import RequestHearing
from tests.server.hosted import toy_resources, toy_tools

FACTS = RequestFacts(credentials=Credentials(via="mcp"), request_id="one", opener=None)


def tables(words: McpWords = OURS) -> TableCalls:
    return TableCalls(Calls(ToolTable(toy_tools()), ResourceTable(toy_resources())), words)


async def nothing(*_: Any) -> Any:
    return {"type": "http.disconnect"}


class Told(RequestHearing):
    def __init__(self) -> None:
        super().__init__(nothing, nothing)
        self.errors = 0

    def is_error(self) -> None:
        self.errors += 1


async def test_without_arguments_a_tool_has_its_defaults() -> None:
    result = await tables().call_tool({"name": "count"}, FACTS, None)

    assert result["structuredContent"]["result"] == [{"number": number} for number in range(3)]


async def test_another_name_of_a_tool_is_taken() -> None:
    result = await tables(McpWords(aliases={"zaehle": "count"})).call_tool({"name": "zaehle"}, FACTS, None)

    assert result["isError"] is False


async def test_a_refusal_is_a_result_and_whoever_is_heard_is_told_so() -> None:
    hearing = Told()

    result = await tables().call_tool({"name": "clash", "arguments": {}}, FACTS, hearing)

    assert (result["isError"], result["structuredContent"]["error"]["type"]) == (True, "CONFLICT")
    assert hearing.errors == 1


@pytest.mark.parametrize(("is_modern", "code"), [(False, -32002), (True, -32602)])
async def test_a_refused_read_is_an_error_of_its_era(is_modern: bool, code: int) -> None:
    with pytest.raises(MCPError) as refused:
        await tables().read_resource({"uri": "resource://nothing"}, FACTS, None, is_modern=is_modern)

    assert refused.value.error.code == code
    assert refused.value.error.data["uri"] == "resource://nothing"


async def test_a_read_is_one_content() -> None:
    result = await tables().read_resource({"uri": "resource://toys"}, FACTS, Told(), is_modern=True)

    assert [one["uri"] for one in result["contents"]] == ["resource://toys"]
