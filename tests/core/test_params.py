from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.params import (
    MAX_ID,
    Amount,
    Choice,
    Count,
    Duration,
    Flag,
    Id,
    Ids,
    Matching,
    ParamType,
    Text,
    Texts,
    Time,
)

DEEP: Any = "end"
for _ in range(900):
    DEEP = [DEEP]

RULES: list[ParamType] = [
    Text(),
    Choice(("low", "high")),
    Count(1, 1000),
    Duration(3_600),
    Id(),
    Flag(),
    Texts(),
    Ids(),
    Time(),
    Matching(str.strip),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("rule", "given", "wanted"),
    [
        (Count(1, 1000), "5", 5),
        (Count(1, 1000), 5.0, 5),
        (Count(1, 1000), " 5.0 ", 5),
        (Count(1, 1000), 5000, 1000),
        (Id(), MAX_ID, MAX_ID),
        (Id(low=0), 0, 0),
        (Flag(), "TRUE ", True),
        (Flag(), False, False),
        (Flag(left_out=True), "false", False),
        (Choice(("low", "high")), " High ", "high"),
        (Text(), 7, "7"),
        (Text(raw=True), "a\0b", "a\0b"),
        (Text(may_be_blank=True), " ", " "),
        (Texts(), "one", ["one"]),
        (Texts(), '["a", "b"]', ["a", "b"]),
        (Texts(), "[not json", ["[not json"]),
        (Texts(), 7, ["7"]),
        (Texts(), [], []),
        (Amount(5), "1.5", 1.5),
        (Amount(5), 7, 5),
        (Amount(5), float("inf"), 5),
        (Time(), "2026-01-31", 1_769_817_600_000_000),
        (Time(), "2026-01-31T00:00:00+01:00", 1_769_814_000_000_000),
        (Time(), "2026-01-31T00:00:00Z", 1_769_817_600_000_000),
        (Time(), 1.5, 1_500_000),
        (Time(), "1769817600", 1_769_817_600_000_000),
    ],
)
def test_what_callers_really_send_becomes_the_declared_type(rule: ParamType, given: object, wanted: object) -> None:
    assert rule.convert("x", given) == wanted


@pytest.mark.parametrize(
    ("rule", "given"),
    [
        (Count(1, 1000), 5.5),
        (Count(1, 1000), "5.5"),
        (Count(1, 1000), "five"),
        (Count(1, 1000), 0),
        (Count(1, 1000), True),
        (Count(1, 1000), float("nan")),
        (Count(1, 1000), float("inf")),
        (Count(1, 1000), -(10**4000)),
        (Count(1, 1000), DEEP),
        (Id(), 0),
        (Id(), MAX_ID + 1),
        (Flag(), "yes"),
        (Flag(), 1),
        (Choice(("low", "high")), "medium"),
        (Choice(("low", "high")), DEEP),
        (Text(), " "),
        (Text(), True),
        (Text(), ["a"]),
        (Text(), "a\0b"),
        (Text(), "\ud800"),
        (Text(max_length=3), "four"),
        (Texts(), [" "]),
        (Texts(), [None]),
        (Texts(), {"a": 1}),
        (Texts(max_items=1), ["a", "b"]),
        (Ids(min_items=1), []),
        (Ids(max_items=1), [1, 2]),
        (Ids(), [1, "x"]),
        (Texts(max_length=3), ["four"]),
        (Texts(), "[" * 100_000 + "x" * 2_000),
        (Texts(min_items=1), []),
        (Count(1, 1000), "5" + " " * 1_000),
        (Amount(5), "9" * 1_000),
        (Amount(5), 0),
        (Amount(5), -1),
        (Amount(5), True),
        (Amount(5), "nan"),
        (Time(), "yesterday"),
        (Time(), "1e400"),
        (Time(), "0001-01-01T00:00:00+23:59"),
        (Time(), True),
    ],
)
def test_what_cannot_be_read_is_refused_by_the_parameters_name(rule: ParamType, given: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        rule.convert("count", given)

    assert refused.value.message.startswith("count")
    assert refused.value.data["parameter"].startswith("count")


def test_a_refused_choice_lists_what_is_accepted() -> None:
    with pytest.raises(InvalidInput, match="x must be low or high, not 'medium'") as refused:
        Choice(("low", "high")).convert("x", "medium")

    assert refused.value.data["accepted"] == ["low", "high"]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ([5], "a list"),
        ({"a": 5}, "an object"),
        (None, "null"),
        ("x" * 200, f"'{'x' * 99}"),
        ("\0" * 200, "'" + "\\x00" * 24 + "\\x0"),
        (1.5, "1.5"),
    ],
)
def test_what_came_instead_is_told_in_few_characters(given: object, shown: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Count(1, 9).convert("x", given)

    assert refused.value.message == f"x must be a whole number, not {shown}."[: len(refused.value.message)]
    assert len(refused.value.message) < 150


def test_a_truth_value_is_told_as_json_writes_it() -> None:
    with pytest.raises(InvalidInput, match="x must be low, not true"):
        Choice(("low",)).convert("x", True)
    with pytest.raises(InvalidInput, match="x must be a number over zero, not true"):
        Amount(5).convert("x", True)


def test_who_means_all_ids_or_lists_some_in_one_text_is_told_what_to_send() -> None:
    def hint(rule: Ids, given: str) -> str:
        with pytest.raises(InvalidInput) as refused:
            rule.convert("x", given)
        return refused.value.hint

    assert hint(Ids(for_all="Leave x out."), "all") == "Leave x out."
    with pytest.raises(InvalidInput, match=r"^x\[0\] "):
        Ids().convert("x", "all")
    assert hint(Ids(for_all="Leave x out."), "1, 2") == "Send a JSON list: x=[1, 2]."


def test_too_long_text_is_refused_and_never_cut() -> None:
    with pytest.raises(InvalidInput, match="x has 4 characters; at most 3"):
        Text(max_length=3).convert("x", "four")


@given(value=JSON.filter(lambda value: value is not None))
def test_any_json_is_converted_or_refused_and_never_breaks_a_rule(value: object) -> None:
    for rule in RULES:
        with suppress(InvalidInput):
            rule.convert("x", value)


@pytest.mark.parametrize(("given", "seconds"), [(1, 60), ("59", 60), (60, 60), (61.0, 61), (3_600, 3_600)])
def test_a_duration_under_its_floor_counts_as_the_floor(given: object, seconds: int) -> None:
    assert Duration(3_600).convert("ttl_seconds", given) == seconds


@pytest.mark.parametrize("given", [0, -5, 3_601])
def test_a_duration_beyond_its_range_is_refused_and_never_cut(given: int) -> None:
    with pytest.raises(InvalidInput, match=r"ttl_seconds is .*; accepted are 1 to 3600 seconds"):
        Duration(3_600).convert("ttl_seconds", given)


def test_a_flag_can_list_what_leaving_it_out_comes_to_where_its_tool_has_to_know_that_it_was() -> None:
    assert Flag(left_out=True).schema() == {"type": "boolean", "default": True}
    assert Flag().schema() == {"type": "boolean"}
