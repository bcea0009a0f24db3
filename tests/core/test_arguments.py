from __future__ import annotations

from typing import Annotated

import pytest

from mcp_agent_mail.core.arguments import params_of
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.params import Choice, Count, Text
from mcp_agent_mail.core.tools import Credentials, Json, ToolTable, tool

OVER_MCP = Credentials(via="mcp")


async def count_mail(
    agent_name: Annotated[str, Text()],
    importance: Annotated[str | None, Choice(("low", "high"))] = None,
    limit: Annotated[int, Count(1, 1000)] = 20,
) -> Json:
    """Count mail."""
    return {"agent": agent_name, "importance": importance, "limit": limit}


def table() -> ToolTable:
    return ToolTable([tool(count_mail, cluster="messaging", title="Count", token_argument="sender_token")])


@pytest.mark.parametrize("absent", [{}, {"limit": None, "importance": None}, {"limit": " ", "importance": ""}])
async def test_an_absent_null_or_blank_optional_is_its_default(absent: dict[str, Json]) -> None:
    result = await table().run("count_mail", {"agent_name": "BlueLake", **absent}, OVER_MCP)

    assert result == {"agent": "BlueLake", "importance": None, "limit": 20}


@pytest.mark.parametrize("given", [{}, {"agent_name": None}, {"agent_name": " "}])
async def test_a_missing_or_blank_required_argument_is_refused_by_name(given: dict[str, Json]) -> None:
    with pytest.raises(InvalidInput) as refused:
        await table().run("count_mail", given, OVER_MCP)

    assert refused.value.data["parameter"] == "agent_name"


async def test_an_unknown_argument_is_refused_with_the_accepted_ones_and_the_nearest() -> None:
    with pytest.raises(InvalidInput) as refused:
        await table().run("count_mail", {"agent_name": "BlueLake", "limits": 5}, OVER_MCP)

    assert refused.value.message == "count_mail has no argument 'limits'."
    accepted = ["agent_name", "importance", "limit", "sender_token", "registration_token"]
    assert refused.value.hint == f"Did you mean limit? Accepted: {', '.join(accepted)}."
    assert refused.value.data == {
        "parameter": "limits",
        "accepted": accepted,  # all that its schema lists, and what is accepted unlisted
        "nearest": ["limit"],
    }


@pytest.mark.parametrize(
    "name", ["token", "agent_token", "auth", "authorization", "bearer", "api_key", "join_code", "X-Agent-Token"]
)
async def test_an_argument_by_a_name_that_means_the_token_is_told_where_tokens_go(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await table().run("count_mail", {"agent_name": "BlueLake", name: "amt_x"}, OVER_MCP)

    assert refused.value.hint.startswith("Did you mean registration_token? ")
    assert refused.value.data["nearest"] == ["registration_token"]


@pytest.mark.parametrize("name", ["author", "max_tokens"])
async def test_an_argument_of_another_meaning_is_none(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await table().run("count_mail", {"agent_name": "BlueLake", name: 1}, OVER_MCP)

    assert "registration_token" not in refused.value.data["nearest"]


def test_a_parameter_without_a_rule_is_a_bug_of_the_declaration() -> None:
    async def careless(name: str) -> Json:
        return name

    with pytest.raises(AssertionError, match="parameter name declares no rule"):
        params_of(careless)
