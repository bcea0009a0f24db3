"""What another program stored, as what it means."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.clock import LATEST, Micros, from_datetime
from mcp_agent_mail.domain.importing.records import MAX_KEY
from mcp_agent_mail.facades.importers.values import digest_of, flag_of, key_of, text_of, time_of, whole_of

_AT = from_datetime(datetime(2026, 3, 1, 8, 0, 0, tzinfo=UTC))
_ANYTHING = st.one_of(
    st.none(), st.text(), st.binary(), st.integers(), st.floats(), st.booleans(), st.lists(st.text(), max_size=2)
)


@pytest.mark.parametrize(
    "written",
    [
        "2026-03-01 08:00:00",
        "2026-03-01T08:00:00Z",
        "2026-03-01T09:00:00+01:00",
        "2026-03-01 08:00:00.000000000",
        1772352000,
        1772352000.0,
        1772352000_000,
        1772352000_000_000,
        1772352000_000_000_000,
        "1772352000000",
    ],
)
def test_a_time_is_read_in_any_usual_form(written: object) -> None:
    assert time_of(written) == _AT


def test_more_than_six_digits_behind_the_point_are_cut() -> None:
    assert time_of("2026-03-01T08:00:00.123456789Z") == Micros(_AT + 123_456)


@pytest.mark.parametrize("written", [None, "", "soon", "0001-01-01T00:00:00Z", -5, float("inf"), float("nan"), 10**19])
def test_what_is_no_time_here_is_none(written: object) -> None:
    assert time_of(written) is None


@given(_ANYTHING)
def test_nothing_that_was_stored_makes_a_reader_fail(value: object) -> None:
    found = time_of(value)

    assert found is None or 0 <= found <= LATEST
    assert isinstance(flag_of(value), bool)
    assert whole_of(value) is None or abs(whole_of(value) or 0) < 1 << 63
    text_of(value).encode()


@given(st.lists(_ANYTHING, max_size=4))
def test_a_key_is_text_within_its_bound_and_the_same_each_time(parts: list[object]) -> None:
    key = key_of(*parts)

    assert 0 < len(key) <= MAX_KEY
    assert key == key_of(*parts)
    key.encode()


def test_where_one_part_ends_tells_digests_apart() -> None:
    assert digest_of("ab", "c") != digest_of("a", "bc")
    assert digest_of("a", None) == digest_of("a", "")
