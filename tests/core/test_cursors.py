from __future__ import annotations

import pytest

from mcp_agent_mail.core.cursors import Cursor
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.params import MAX_ID


@pytest.mark.parametrize(("given", "wanted"), [(0, 0), ("7", 7), (7.0, 7), (MAX_ID, MAX_ID)])
def test_a_cursor_is_a_number_and_may_be_0(given: object, wanted: int) -> None:
    assert Cursor().convert("after", given) == wanted


@pytest.mark.parametrize("given", [-1, MAX_ID + 1, "abc", True, 1.5, [1]])
def test_what_is_no_cursor_is_told_where_cursors_come_from_and_of_no_id(given: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        Cursor().convert("after_cursor", given)

    assert refused.value.hint == "after_cursor is 0, or next_cursor of an earlier answer."
    assert refused.value.data["parameter"] == "after_cursor"
    assert refused.value.message.startswith("after_cursor ")
    assert " id" not in refused.value.text


def test_it_is_listed_as_a_whole_number() -> None:
    assert Cursor().schema() == {"type": "integer"}
