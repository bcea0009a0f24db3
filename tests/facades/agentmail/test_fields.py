from __future__ import annotations

import orjson
import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.facades.agentmail.fields import MAX_NAMES, QuestionFields


def _fields(**value: object) -> QuestionFields:
    return QuestionFields(orjson.dumps(value))


def test_whole_numbers_are_within_their_bounds() -> None:
    assert _fields(hours=0).whole("hours", 0, 5) == 0
    for value in (-1, 6, 1.5, True, "1", None):
        with pytest.raises(InvalidInput, match=r"^hours must be a whole number from 0 to 5\.$"):
            _fields(hours=value).whole("hours", 0, 5)


def test_names_are_bounded_texts() -> None:
    assert _fields(names=["a", "b"]).names("names") == ["a", "b"]
    for value in (None, "a", ["a", 1], ["a"] * (MAX_NAMES + 1)):
        with pytest.raises(InvalidInput, match=r"^names must be a list of at most"):
            _fields(names=value).names("names")


def test_null_is_not_there() -> None:
    assert not _fields(seen=None).has("seen")
    assert _fields(seen="").has("seen")
