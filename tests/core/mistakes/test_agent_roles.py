"""No word of the caller's is led to another agent, and none of another agent's to the caller."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.arguments import bind
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.mistakes.agent_roles import may_be_meant
from mcp_agent_mail.core.tools import ToolSpec
from tests.server.reference_pages import declared

OWN = ("me", "my_name", "my_agent", "self", "self_name", "caller", "caller_agent")
FROM = ("from", "from_agent", "from_name", "sender", "sender_name", "sender_agent", "author", "requester")
TO = ("to", "to_agent", "to_name", "recipient", "receiver", "target", "target_agent", "addressee")
OTHERS = ("contact", "contact_name", "contact_agent", "other", "other_agent", "peer", "peer_agent")
ANSWERING = "respond_contact"
"""Who calls it is the one whom a request went to."""


def meant(spec: ToolSpec, word: str, **beside: str) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        bind(spec.params, {word: "BlueLake", **beside}, what=spec.name)
    nearest: list[str] = refused.value.data["nearest"]
    return nearest


@pytest.fixture(scope="module")
def calling() -> list[ToolSpec]:
    """The tools that are told who calls."""
    specs, _ = declared()
    return [spec for spec in specs if any(one.stands_for == "caller" for one in spec.params.values())]


def others(spec: ToolSpec) -> set[str]:
    lists = {"to", "cc", "bcc"}
    return {
        one.name
        for one in spec.params.values()
        if one.stands_for is None and (one.names == "agent" or one.name in lists)
    }


def callers(spec: ToolSpec) -> set[str]:
    return {one.name for one in spec.params.values() if one.stands_for == "caller"}


@pytest.mark.parametrize("is_given", [False, True], ids=["alone", "beside the caller"])
def test_a_word_of_the_caller_is_never_led_to_another_agent(calling: list[ToolSpec], is_given: bool) -> None:
    for spec in calling:
        beside = dict.fromkeys(callers(spec), "RedStone") if is_given else {}
        words = OWN if spec.name == ANSWERING else OWN + FROM
        for word in words:
            if word not in spec.params:
                assert not others(spec) & {*meant(spec, word, **beside)}, (spec.name, word)


@pytest.mark.parametrize("is_given", [False, True], ids=["alone", "beside the others"])
def test_a_word_of_another_agent_is_never_led_to_the_caller(calling: list[ToolSpec], is_given: bool) -> None:
    for spec in calling:
        beside = dict.fromkeys(others(spec), "RedStone") if is_given else {}
        words = OTHERS if spec.name == ANSWERING else OTHERS + TO
        for word in words:
            if word not in spec.params:
                assert not callers(spec) & {*meant(spec, word, **beside)}, (spec.name, word)


@pytest.mark.parametrize(
    ("tool", "word", "parameter"),
    [
        ("macro_contact_handshake", "from_agent", "requester"),
        ("macro_contact_handshake", "from_name", "requester"),
        ("macro_contact_handshake", "other_agent", "target"),
        ("request_contact", "from_project", "project_key"),
        ("request_contact", "me", "from_agent"),
        ("request_contact", "target_agent", "to_agent"),
        ("respond_contact", "me", "to_agent"),
        ("respond_contact", "contact", "from_agent"),
        ("respond_contact", "other_agent", "from_agent"),
        ("send_message", "from_agent", "sender_name"),
        ("send_message", "other_agent", "to"),
    ],
)
def test_a_word_of_an_agent_is_led_to_its_own_parameter(
    calling: list[ToolSpec], tool: str, word: str, parameter: str
) -> None:
    (spec,) = (one for one in calling if one.name == tool)

    assert meant(spec, word)[:1] == [parameter]


def test_the_asker_of_a_handshake_is_not_taken_for_the_one_who_is_asked(calling: list[ToolSpec]) -> None:
    (spec,) = (one for one in calling if one.name == "macro_contact_handshake")
    given = {"project_key": "/code/app", "from_agent": "RedStone", "to_agent": "AgileHawk"}

    with pytest.raises(InvalidInput) as refused:
        bind(spec.params, given, what=spec.name)

    assert refused.value.hint == "Did you mean requester?"


def test_a_word_that_is_nobodys_in_particular_may_mean_either() -> None:
    for is_caller in (True, False):
        assert may_be_meant("agent", "agent_name", is_caller=is_caller, is_other=not is_caller)
