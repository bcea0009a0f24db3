from __future__ import annotations

from mcp_agent_mail.core.likeness import COMPARED, HintBudget, likeness, most_like, one_hint_budget

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


def test_what_is_dear_to_compare_is_left_out_and_keeps_nothing_cheap_from_being_found() -> None:
    budget = HintBudget(9_000)
    dear = ["aab" * 20 + f"a{number}" for number in range(50)]

    assert most_like("a" * 64, dear, budget=budget) == []
    assert most_like("BlueLke", ["BlueLake"], budget=budget) == ["BlueLake"]


def test_once_a_budget_is_spent_nothing_is_compared() -> None:
    budget = HintBudget(1_000)

    assert most_like("BlueLke", [*(f"Red{number}" for number in range(500)), "BlueLake"], budget=budget) == []
    assert budget.spent <= budget.bound


def test_all_hints_of_a_call_share_one_budget() -> None:
    with one_hint_budget() as budget, one_hint_budget() as inner:
        most_like("BlueLke", ["BlueLake"])
        once = budget.spent
        likeness("BlueLke", "BlueLake")

        assert inner is budget
        assert 0 < once < budget.spent

    with one_hint_budget() as other:
        assert other.spent == 0
