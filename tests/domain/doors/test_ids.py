from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.doors.ids import (
    MAX_WIRE_ID,
    UnfitWireId,
    body_digest,
    made_id,
    number_of,
    require_wire_id,
)
from mcp_agent_mail.domain.doors.names import Door

NUMBERS = st.integers(1, 1 << 47)


@given(NUMBERS, st.sampled_from(Door))
def test_a_made_id_leads_back_to_its_message(number: int, door: Door) -> None:
    assert number_of(door, made_id(door, MessageId(number))) == number


@given(NUMBERS, NUMBERS, st.sampled_from(Door))
def test_no_two_messages_have_the_same_made_id(one: int, other: int, door: Door) -> None:
    assert (made_id(door, MessageId(one)) == made_id(door, MessageId(other))) is (one == other)


def test_each_door_has_a_words_of_its_own_which_stays_as_it_is() -> None:
    made = {door.value: made_id(door, MessageId(1)) for door in Door}

    assert made == {
        "postal": "c4068b92-2afb-8ef7-8000-000000000001",
        "agentmail": "cJjIzUvd",
        "claude-mailbox": "1",
    }
    assert UUID(made["postal"]).version == 8


@given(st.text(max_size=40), st.sampled_from(Door))
def test_any_other_text_leads_to_no_message_or_is_an_id_itself(text: str, door: Door) -> None:
    number = number_of(door, text)

    assert number is None or made_id(door, number) == text


@pytest.mark.parametrize(
    "text",
    ["c4068b92-2afb-8ef7-8000-000000000002", "C4068B92-2AFB-8EF7-8000-000000000001", "5f0c1f8e-9bb6-4c43-8000-1", "0"],
)
def test_a_uuid_that_is_not_made_of_its_number_is_anybodys(text: str) -> None:
    assert number_of(Door.POSTAL, text) is None


@pytest.mark.parametrize("text", ["00000000", "0123456", "012345678", "0123456-"])
def test_what_is_no_made_id_of_agentmail_is_no_message(text: str) -> None:
    assert number_of(Door.AGENTMAIL, text) is None


def test_a_chosen_id_is_any_text_that_is_not_too_long() -> None:
    assert require_wire_id(None) is None
    assert require_wire_id("") is None
    assert require_wire_id("Nachricht № 1\n") == "Nachricht № 1\n"
    assert require_wire_id("x" * MAX_WIRE_ID) == "x" * MAX_WIRE_ID
    for text in ["x" * (MAX_WIRE_ID + 1), "a\x00b", "\ud800"]:
        with pytest.raises(UnfitWireId):
            require_wire_id(text)


@given(st.text(), st.text())
def test_bodies_are_told_apart_by_their_digest(one: str, other: str) -> None:
    assert (body_digest(one) == body_digest(other)) is (one == other)
