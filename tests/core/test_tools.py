from __future__ import annotations

from typing import Annotated

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.params import Choice, Count, Text
from mcp_agent_mail.core.tools import (
    Credentials,
    Json,
    ToolSpec,
    ToolTable,
    UnknownTool,
    current_credentials,
    take_token,
    tool,
)

OVER_MCP = Credentials(via="mcp")
OVER_RPC = Credentials(via="rpc", bearer_token="bearer")


async def count_mail(
    agent_name: Annotated[str, Text()],
    importance: Annotated[str | None, Choice(("low", "high"))] = None,
    limit: Annotated[int, Count(1, 1000)] = 20,
) -> Json:
    """Count mail.

    A second paragraph.
    """
    return {"agent": agent_name, "importance": importance, "limit": limit}


async def who_calls() -> Json:
    """Show the credentials."""
    credentials = current_credentials()
    return [credentials.via, credentials.bearer_token, credentials.agent_token, credentials.token_argument]


def declared(**options: bool) -> ToolSpec:
    return tool(count_mail, cluster="messaging", title="Count", token_argument="sender_token", **options)


def table() -> ToolTable:
    hidden = tool(who_calls, cluster="infrastructure", title="Who", operator_only=True)
    return ToolTable([declared(read_only=True), hidden])


def test_name_text_and_schema_come_from_the_function() -> None:
    spec = declared()

    assert (spec.name, spec.description) == ("count_mail", "Count mail.\n\nA second paragraph.")
    assert spec.schema == {
        "type": "object",
        "properties": {
            "agent_name": {"type": "string"},
            "importance": {"type": "string", "enum": ["low", "high"]},
            "limit": {"type": "integer", "default": 20},
            "sender_token": {"type": "string"},
        },
        "required": ["agent_name"],
    }


async def test_an_unknown_tool_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownTool, match="Unknown tool: count_mails") as refused:
        await table().run("count_mails", {}, OVER_MCP)

    assert refused.value.data["nearest"] == ["count_mail"]


async def test_a_tool_of_hooks_is_unknown_over_mcp_and_anybodys_elsewhere() -> None:
    hooks = ToolTable([tool(who_calls, cluster="delivery", title="Who", off_mcp=True)])

    with pytest.raises(UnknownTool):
        await hooks.run("who_calls", {}, OVER_MCP)

    assert await hooks.run("who_calls", {}, Credentials(via="rpc")) == ["rpc", None, None, None]


async def test_a_tool_of_the_operators_is_unknown_over_mcp_and_not_among_the_nearest() -> None:
    with pytest.raises(UnknownTool) as refused:
        await table().run("who_calls", {}, OVER_MCP)

    assert refused.value.data["nearest"] == []


def test_a_token_that_came_by_both_arguments_is_known_by_the_one_that_texts_name() -> None:
    both = {"sender_token": "amt_x", "registration_token": " amt_x "}

    credentials, given = take_token(OVER_RPC, both)

    assert (credentials.token_argument, credentials.token_argument_name) == ("amt_x", "registration_token")
    assert given == {}


@pytest.mark.parametrize("argument", ["registration_token", "sender_token"])
async def test_a_token_argument_is_taken_by_every_tool_and_becomes_a_credential(argument: str) -> None:
    result = await table().run("who_calls", {argument: " secret "}, OVER_RPC)

    assert result == ["rpc", "bearer", None, "secret"]


@pytest.mark.parametrize("blank", [None, "", "  "])
async def test_a_blank_token_argument_is_none_given(blank: str | None) -> None:
    result = await table().run("who_calls", {"sender_token": blank}, OVER_RPC)

    assert result == ["rpc", "bearer", None, None]


async def test_a_token_that_is_no_text_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidInput) as refused:
        await table().run("who_calls", {"sender_token": ["secret"]}, OVER_RPC)

    assert "secret" not in f"{refused.value.message}{refused.value.hint}"


async def test_credentials_end_with_their_call() -> None:
    await table().run("who_calls", {}, OVER_RPC)

    with pytest.raises(LookupError):
        current_credentials()
