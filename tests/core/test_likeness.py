from __future__ import annotations

from mcp_agent_mail.core.likeness import COMPARED, likeness, most_like

LONG = "x" * COMPARED


def test_the_names_most_like_it_come_best_first() -> None:
    assert most_like("BlueLke", ["RedStone", "BlueLakes", "BlueLake"]) == ["BlueLake", "BlueLakes"]


def test_nothing_that_is_unlike_is_named() -> None:
    assert most_like("BlueLake", ["RedStone", "x"]) == []
    assert most_like("BlueLake", []) == []


def test_no_more_are_named_than_asked_for() -> None:
    known = [f"name{number}" for number in range(9)]

    assert len(most_like("name", known)) == 3
    assert len(most_like("name", known, limit=1)) == 1


def test_only_the_beginning_of_a_long_name_is_looked_at() -> None:
    assert most_like(LONG + "y" * 4 * COMPARED, [LONG]) == [LONG]


def test_names_may_come_from_anything_that_is_gone_through_once() -> None:
    assert most_like("one", (name for name in ("one", "two"))) == ["one"]


def test_likeness_is_a_number_and_nothing_for_what_is_not_near() -> None:
    assert likeness("fetch_inbox", "fetch_inbox") == 1.0
    assert 0.9 < likeness("fetch_inbx", "fetch_inbox") < 1.0
    assert likeness("foo", "fetch_inbox") == 0.0
