"""TOON of results: lists become tables, and nothing but what is said to be changed changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toon_format import decode

from mcp_agent_mail.server.rendering.toon import as_tables, to_toon


def test_items_whose_lists_are_empty_are_a_table() -> None:
    assert to_toon([{"id": 1, "attachments": []}, {"id": 2, "attachments": []}]) == (
        "[2]{id,attachments}:\n  1,null\n  2,null"
    )


def test_a_key_that_only_some_items_have_is_null_in_the_others_in_the_order_of_their_first() -> None:
    assert as_tables([{"id": 1}, {"id": 2, "read_at": "now"}, {"expired": True}]) == [
        {"id": 1, "read_at": None, "expired": None},
        {"id": 2, "read_at": "now", "expired": None},
        {"id": None, "read_at": None, "expired": True},
    ]


def test_texts_in_a_row_are_one_text_unless_one_of_them_holds_the_joint() -> None:
    joined = as_tables([{"to": ["RedStone", "GrayFox"]}, {"to": []}])
    kept = as_tables([{"to": ["RedStone", "a, b"]}])

    assert joined == [{"to": "RedStone, GrayFox"}, {"to": None}]
    assert kept == [{"to": ["RedStone", "a, b"]}]


def test_texts_outside_of_rows_stay_a_list() -> None:
    assert as_tables({"to": ["RedStone"], "cc": []}) == {"to": ["RedStone"], "cc": None}


@pytest.mark.parametrize("value", [[1, "a", None], [[1], [2]], {"a": {"b": 1}}, "text", None, 5, True])
def test_what_is_no_list_of_objects_stays_as_it_is(value: Any) -> None:
    assert as_tables(value) == value


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(_VALUES)
def test_the_text_holds_the_tables_and_laying_them_out_again_changes_nothing(value: Any) -> None:
    tables = as_tables({"value": value})

    assert decode(to_toon({"value": value})) == tables
    assert as_tables(tables) == tables
