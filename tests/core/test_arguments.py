from __future__ import annotations

from typing import Annotated

import pytest

from mcp_agent_mail.core.arguments import CallWay, bind, params_of
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.params import Choice, Count, Matching, Text
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


async def refused_by(way: CallWay, **given: Json) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        await table().run("count_mail", given, OVER_MCP, way)
    return refused.value


async def test_a_way_to_call_offers_nothing_that_cannot_come_by_it() -> None:
    way = CallWay(what="GET counts", hidden=frozenset({"limit", "registration_token", "sender_token"}))

    limit = await refused_by(way, agent_name="a", limt=3)
    token = await refused_by(way, agent_name="a", tokn="s")
    named = await refused_by(way, count=3)

    for error in (limit, token, named):
        assert error.message.startswith("GET counts has no argument")
        assert error.data["accepted"] == ["agent_name", "importance", "format"]
        assert "limit" not in error.text
        assert "token" not in error.hint
    assert named.data["required"] == ["agent_name"]


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
    accepted = ["agent_name", "importance", "limit", "sender_token", "registration_token", "format"]
    assert refused.value.hint == f"Did you mean limit? Accepted: {', '.join(accepted)}."
    assert refused.value.data == {
        "parameter": "limits",
        "accepted": accepted,  # all that its schema lists, and what is accepted unlisted
        "nearest": ["limit"],
        "unknown": [{"name": "limits", "did_you_mean": "limit"}],
        "missing": [],
    }


@pytest.mark.parametrize(
    "name", ["token", "agent_token", "auth", "authorization", "bearer", "api_key", "join_code", "X-Agent-Token"]
)
async def test_an_argument_by_a_name_that_means_the_token_is_told_where_tokens_go(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await table().run("count_mail", {"agent_name": "BlueLake", name: "amt_x"}, OVER_MCP)

    assert refused.value.hint == "Did you mean registration_token?"
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


async def mistakes(**arguments: Json) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        await table().run("count_mail", arguments, OVER_MCP)
    return refused.value


async def test_all_that_is_unknown_missing_and_wrong_is_told_at_once() -> None:
    error = await mistakes(colour="red", count="many", importance="huge")

    assert error.text == (
        "count_mail has no arguments 'colour' or 'count' and needs agent_name. "
        "importance must be low or high, not 'huge'. limit must be a whole number, not 'many'. "
        "Did you mean limit for count? "
        "Accepted: agent_name, importance, limit, sender_token, registration_token, format."
    )
    assert error.data["unknown"] == [{"name": "colour"}, {"name": "count", "did_you_mean": "limit"}]
    assert (error.data["missing"], error.data["required"]) == (["agent_name"], ["agent_name"])
    assert [one["parameter"] for one in error.data["wrong"]] == ["importance", "limit"]
    assert (error.data["parameter"], error.data["nearest"]) == ("colour", [])


async def test_what_is_missing_because_it_has_another_name_is_told_once() -> None:
    error = await mistakes(agent="BlueLake")

    assert error.message == "count_mail has no argument 'agent'."
    assert error.hint == "Did you mean agent_name?"
    assert error.data["missing"] == ["agent_name"]


async def test_names_that_are_all_known_by_another_word_need_no_list_of_the_accepted_ones() -> None:
    error = await mistakes(agent="BlueLake", priority="high")

    assert error.hint == "Did you mean agent_name for agent, importance for priority?"


async def test_one_wrong_value_is_refused_in_the_words_of_its_rule() -> None:
    error = await mistakes(agent_name="BlueLake", limit=0)

    assert error.message == "limit is 0; the least accepted is 1."
    assert error.data == {"parameter": "limit", "min": 1, "max": 1000}


async def test_the_hints_of_several_values_say_which_they_are_about() -> None:
    error = await mistakes(agent_name="a\0b", limit=0)

    assert error.message == "agent_name holds a NUL character. limit is 0; the least accepted is 1."
    assert error.hint == "agent_name: Remove it. limit: Send a whole number from 1 to 1000."


async def test_what_is_missing_is_told_together() -> None:
    async def move(source: Annotated[str, Text()], target: Annotated[str, Text()]) -> Json:
        return [source, target]

    with pytest.raises(InvalidInput) as refused:
        bind(params_of(move), {}, what="move")

    assert refused.value.text == "move needs source and target."
    assert refused.value.data["missing"] == ["source", "target"]


async def test_a_parameter_that_is_given_is_not_meant_once_more() -> None:
    error = await mistakes(agent_name="BlueLake", agent="RedStone")

    assert error.data["unknown"] == [{"name": "agent"}]
    assert error.hint.startswith("Accepted: ")


async def test_two_names_do_not_mean_one_parameter() -> None:
    async def answer(
        message_id: Annotated[int, Count(1, 9)], body_md: Annotated[str, Text()], limit: Annotated[int, Count(1, 9)] = 1
    ) -> Json:
        return [message_id, body_md, limit]

    with pytest.raises(InvalidInput) as refused:
        bind(params_of(answer), {"message": 7, "body": "b"}, what="answer")

    assert refused.value.hint == "Did you mean message_id for message, body_md for body?"


async def test_what_every_tool_takes_is_meant_in_another_spelling_too() -> None:
    assert (await mistakes(agent_name="BlueLake", Format="md")).hint == "Did you mean format?"


async def test_a_word_that_means_a_required_parameter_too_means_no_optional_one() -> None:
    async def wait(
        duration: Annotated[int, Count(1, 9)],
        ttl_seconds: Annotated[int, Count(1, 9)] = 1,
        *,
        extend_seconds: Annotated[int, Count(1, 9)],
    ) -> Json:
        return [duration, ttl_seconds, extend_seconds]

    with pytest.raises(InvalidInput) as refused:
        bind(params_of(wait), {"duration": 1, "ttl": 5}, what="wait")

    assert refused.value.data["nearest"] == ["extend_seconds"], "though ttl_seconds is meant by it elsewhere"


def test_a_text_that_may_be_left_out_beside_another_is_missing_without_it() -> None:
    async def answer(
        subject: Annotated[str, Matching(str.strip, unless="message_id")], message_id: Annotated[int, Count(1, 9)] = 1
    ) -> Json:
        return [message_id, subject]

    params = params_of(answer)

    assert bind(params, {"message_id": 3}, what="answer") == {"message_id": 3, "subject": None}
    with pytest.raises(InvalidInput, match="answer needs subject"):
        bind(params, {}, what="answer")


@pytest.mark.parametrize(("value", "hint"), [([1, 2], "limits takes a list."), ("many", "")])
def test_whoever_gives_a_list_to_a_single_one_is_told_of_the_parameter_for_several(value: Json, hint: str) -> None:
    async def look(
        limit: Annotated[int, Count(1, 9)] = 1,
        limits: Annotated[int, Count(1, 9)] = 1,
        other: Annotated[int, Count(1, 9)] = 1,
    ) -> Json:
        return [limit, limits, other]

    def refusal(name: str) -> InvalidInput:
        with pytest.raises(InvalidInput) as refused:
            bind(params_of(look), {name: value}, what="look")
        return refused.value

    assert refusal("limit").hint == hint
    assert refusal("other").hint == ""


def test_a_hint_that_names_its_parameter_is_told_as_it_is() -> None:
    async def look(limit: Annotated[int, Count(1, 9)] = 1, limits: Annotated[int, Count(1, 9)] = 1) -> Json:
        return [limit, limits]

    with pytest.raises(InvalidInput) as refused:
        bind(params_of(look), {"limit": [1], "limits": 0}, what="look")

    assert refused.value.hint == "limits takes a list. limits: Send a whole number from 1 to 9."


async def test_a_wrong_value_beside_another_mistake_is_told_with_it() -> None:
    unknown = await mistakes(agent_name="BlueLake", limit=0, colour="red")
    missing = await mistakes(limit=0)

    assert unknown.message == "count_mail has no argument 'colour'. limit is 0; the least accepted is 1."
    assert missing.text == (
        "count_mail needs agent_name. limit is 0; the least accepted is 1. limit: Send a whole number from 1 to 1000."
    )


async def test_two_tokens_of_other_names_are_both_understood() -> None:
    assert (await mistakes(agent_name="BlueLake", token="a", secret="b")).hint == (
        "Did you mean registration_token for token, registration_token for secret?"
    )


async def test_an_unknown_argument_without_a_value_is_not_judged_by_it() -> None:
    assert (await mistakes(agent_name="BlueLake", count=None)).message == "count_mail has no argument 'count'."


async def test_a_name_of_any_length_is_told_by_its_beginning() -> None:
    long = await mistakes(**{"x" * 5_000: 1, "agent_name_" * 500: 2})

    assert len(long.text) < 600
    assert [len(one["name"]) for one in long.data["unknown"]] == [100, 100]
    assert len(long.data["parameter"]) == 100
    token = await mistakes(agent_name="BlueLake", **{"x" * 200 + "_token": "amt_x"})
    assert token.data["nearest"] == [], "what stands behind that is not looked at"


def test_where_nothing_is_accepted_that_is_told() -> None:
    with pytest.raises(InvalidInput) as refused:
        bind({}, {"token": 1}, what="rest")

    assert refused.value.hint == "Accepted: none."


async def test_of_a_great_many_unknown_arguments_some_are_named() -> None:
    error = await mistakes(agent_name="BlueLake", **{f"x{number}": 1 for number in range(999)}, limits=5)

    assert error.hint.startswith("Accepted: "), "what is not named is not compared either"
    assert "'x19' or 980 more." in error.message
    assert len(error.data["unknown"]) == 20


async def test_the_commands_of_this_machine_write_results_in_no_other_form() -> None:
    with pytest.raises(InvalidInput) as refused:
        await table().run("count_mail", {"form": "md"}, Credentials(via="local"))

    assert "format" not in refused.value.data["accepted"]
