"""A refusal names an argument of the tool, whatever the rule calls what it is about."""

from __future__ import annotations

from typing import Annotated

import pytest

from mcp_agent_mail.core.arguments import Param, bind, in_own_words, params_of
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.params import (
    AGENT_ADDRESS,
    CALLER_NAME,
    OTHER_PROJECT,
    PROJECT_KEY,
    Matching,
    Text,
    Texts,
)
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.threads import UnfitTopic, parse_topic


async def hand_over(
    *,
    target: Annotated[str | None, AGENT_ADDRESS] = None,
    requester: Annotated[str | None, CALLER_NAME] = None,
    sender: Annotated[str | None, CALLER_NAME] = None,
    project_key: Annotated[str | None, PROJECT_KEY] = None,
    to_project: Annotated[str | None, OTHER_PROJECT] = None,
    note: Annotated[str | None, Text()] = None,
) -> Json:
    """Hand over."""
    return [target, requester, sender, project_key, to_project, note]


@pytest.mark.parametrize(
    ("said", "refused", "given", "meant"),
    [
        ("agent_name", None, {}, "requester"),
        ("agent_name", None, {"target": "A", "sender": "B"}, "sender"),
        ("name", None, {"sender": "B"}, "sender"),
        ("human_key", None, {"sender": "B", "project_key": "/a"}, "project_key"),
        ("project_key", "/b", {"project_key": "/a", "to_project": " /B "}, "to_project"),
        ("human_key", "/b", {"project_key": "/a", "target": "A@/b"}, "target"),
        ("human_key", "/b", {"project_key": "/a", "target": "Project:/b#A"}, "target"),
        ("to_agent", "A", {"target": " a@/b", "sender": "B"}, "target"),
        ("to_agent", "A@/b", {"target": "a@/B"}, "target"),
        ("to_agent", "A", {"target": "project:/b#a"}, "target"),
        ("to_agent", "A", {"target": "A", "requester": "A"}, "target"),
        ("name", "A", {"target": "A@/b", "sender": "A"}, "sender"),
        ("agent_name", "A", {"target": "A", "sender": "B"}, "target"),
        ("agent_name", "A", {"note": "A", "sender": "B"}, "sender"),
        ("project_key", "/b", {"note": "A@/b"}, "project_key"),
        ("to_agent", "A", {"target": "B"}, "to_agent"),
        ("note", None, {"target": "B"}, "note"),
    ],
)
def test_what_a_rule_calls_by_its_own_word_is_the_argument_that_held_it(
    said: str, refused: str | None, given: dict[str, Json], meant: str
) -> None:
    error = NotFound("Nobody.", data={"parameter": said}, refused=refused)

    in_own_words(error, params_of(hand_over), given)

    assert error.data == {"parameter": meant}


def test_a_refusal_that_is_of_no_argument_stays_so() -> None:
    error = NotFound("Nobody.", refused="A")

    in_own_words(error, params_of(hand_over), {"target": "A"})

    assert error.data == {}


async def look(
    topic_name: Annotated[str, Matching(parse_topic)], topics: Annotated[list[str] | None, Texts()] = None
) -> Json:
    """Look."""
    return [topic_name, topics]


def refusal(**given: Json) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        bind(params_of(look), given, what="look")
    return refused.value


def test_what_a_rule_refuses_is_told_by_the_name_that_the_tool_has_for_it() -> None:
    error = refusal(topic_name="a topic")

    assert isinstance(error, UnfitTopic)
    assert error.message.startswith("topic_name 'a topic' is not 1 to 64 of ")
    assert (error.hint, error.data["parameter"]) == ("Use a word like build or api-design.", "topic_name")
    assert isinstance(error.__cause__, UnfitTopic)
    assert error.__cause__.message.startswith("topic 'a topic' is not "), "the rule's own words, for the log"


def test_it_is_where_the_argument_has_another_name_too() -> None:
    (wrong,) = refusal(topic="a topic").data["wrong"]

    assert wrong["parameter"] == "topic_name"
    assert wrong["message"].startswith("topic_name 'a topic' is not ")


def test_a_rule_that_has_the_tools_name_for_it_is_told_in_its_own_words() -> None:
    with pytest.raises(UnfitTopic) as refused:
        Param(name="topic", rule=Matching(parse_topic), required=True).value_of("a topic")

    assert refused.value.message.startswith("topic 'a topic' is not ")
    assert refused.value.__cause__ is None


def test_a_fact_that_does_not_begin_with_the_rules_word_stays_as_it_is() -> None:
    def refuse(_: str) -> str:
        raise InvalidInput("Topics are not for this.", data={"parameter": "topic", "max": 1})

    with pytest.raises(InvalidInput) as refused:
        Param(name="topic_name", rule=Matching(refuse), required=True).value_of("a")

    assert refused.value.message == "Topics are not for this."
    assert refused.value.data == {"parameter": "topic_name", "max": 1}


def test_one_of_a_list_is_told_by_its_place() -> None:
    with pytest.raises(InvalidInput) as refused:
        bind(params_of(look), {"topic_name": "a", "topics": ["a", "b\0"]}, what="look")

    assert (refused.value.message, refused.value.data["parameter"]) == ("topics[1] holds a NUL character.", "topics[1]")
