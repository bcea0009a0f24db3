from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.mistakes.argument_hints import ids_in, means_all, text_in
from mcp_agent_mail.core.params import Ids, Text


@pytest.mark.parametrize(
    ("text", "meant"),
    [("1,2", [1, 2]), ("1 2", [1, 2]), (" #1; #23, ", [1, 23]), ("7", []), ("1,x", []), ("1," * 999, []), ("", [])],
)
def test_a_text_that_lists_ids_is_understood(text: str, meant: list[int]) -> None:
    assert ids_in(text) == meant


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (["RedStone"], '"RedStone"'),
        ({"name": "RedStone", "id": 7}, '"RedStone"'),
        ([{"name": "RedStone"}], '"RedStone"'),
        (["A", "B"], "a JSON string"),
        (["x" * 101], "a JSON string"),
        (True, "a JSON string"),
    ],
)
def test_the_text_within_a_list_or_an_object_is_told(value: Any, told: str) -> None:
    assert text_in(value) == told
    with pytest.raises(InvalidInput) as refused:
        Text().convert("agent_name", value)
    assert refused.value.hint == f"Send {told}."


def test_ids_in_one_text_are_refused_with_the_list_that_was_meant() -> None:
    with pytest.raises(InvalidInput) as refused:
        Ids().convert("message_ids", "1,2")

    assert refused.value.text == "message_ids lists ids in one text. Send a JSON list: message_ids=[1, 2]."
    assert refused.value.data["did_you_mean"] == [1, 2]


def test_whoever_wants_all_is_told_how_where_there_is_a_way() -> None:
    assert means_all(" All ")
    with pytest.raises(InvalidInput) as refused:
        Ids(for_all="Leave it out.").convert("ids", "all")
    with pytest.raises(InvalidInput) as plain:
        Ids().convert("ids", "all")

    assert refused.value.hint == "Leave it out."
    assert plain.value.hint == ""
