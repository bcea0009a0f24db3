"""The index of live leases answers as comparing with each of them does, and rests on two laws."""

from __future__ import annotations

import random

import pytest

from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.index import LeaseIndex
from mcp_agent_mail.domain.patterns.pattern import Pattern, anchor, last_names, overlap, parse_pattern
from tests.domain.test_pattern_rules import engine_pattern, generate


def pool(count: int, seed: int) -> list[Pattern]:
    chance = random.Random(seed)
    patterns = [engine_pattern(generate(chance)) for _ in range(count)]
    return [*patterns, *(parse_pattern(text) for text in ("tool://a", "tool://b", "a/" * 40 + "b", "**/a/**", "*/b"))]


def begins(one: str, other: str) -> bool:
    return not other or one == other or one.startswith(f"{other}/")


def test_of_two_overlapping_patterns_one_s_anchor_begins_the_other_s() -> None:
    patterns = pool(250, 6)

    for one in patterns:
        for other in patterns:
            if overlap(one, other, WorkBudget()):
                assert begins(anchor(one), anchor(other)) or begins(anchor(other), anchor(one)), (one, other)


def test_of_two_overlapping_patterns_a_last_name_of_one_ends_one_of_the_other() -> None:
    patterns = [pattern for pattern in pool(250, 7) if not pattern.is_virtual]

    for one in patterns:
        for other in patterns:
            ours, theirs = last_names(one), last_names(other)
            if ours is None or theirs is None or not overlap(one, other, WorkBudget()):
                continue
            assert any(
                name == end or (is_open and end.endswith(name)) or (is_end and name.endswith(end))
                for name, is_open in ours.items()
                for end, is_end in theirs.items()
            ), (one, other)


@pytest.mark.parametrize("ignore_case", [False, True])
def test_the_index_finds_each_overlapping_lease_once_while_leases_come_and_go(*, ignore_case: bool) -> None:
    chance = random.Random(8)
    patterns = [pattern.with_case(ignore_case=ignore_case) for pattern in pool(300, 9)]
    index: LeaseIndex[int] = LeaseIndex(ignore_case=ignore_case)
    live: set[int] = set()

    for step in range(1200):
        key = chance.randrange(len(patterns))
        if key in live and chance.random() < 0.5:
            index.remove(key)
            live.discard(key)
        else:
            index.add(key, patterns[key])
            live.add(key)
        if step % 4 == 0:
            asked = chance.choice(patterns)
            found = list(index.overlapping(asked, WorkBudget()))
            assert len(found) == len(set(found))
            assert set(found) == {key for key in live if overlap(asked, patterns[key], WorkBudget())}, asked
    assert len(index) == len(live)
    for key in list(live):
        index.remove(key)
    assert len(index) == 0
    assert list(index.overlapping(parse_pattern("**"), WorkBudget())) == []


def ordinary(count: int) -> list[str]:
    """Half literal paths, a quarter folders, a quarter endings."""
    kinds = ["src/part_{0}/file_{1}.py", "src/part_{0}/other_{1}.py", "lib/part_{0}/area_{1}/**", "**/*.ext{1}"]
    return [kinds[number % 4].format(number % 97, number) for number in range(count)]


def test_500_ordinary_paths_against_10000_leases_take_a_small_part_of_the_bound() -> None:
    index: LeaseIndex[int] = LeaseIndex()
    for key, text in enumerate(ordinary(10_000)):
        index.add(key, parse_pattern(text))
    budget = WorkBudget()

    for number in range(500):
        assert list(index.overlapping(parse_pattern(f"app/part_{number}/file.py"), budget)) == []

    assert budget.spent < budget.bound / 4


@pytest.mark.parametrize(
    "hostile",
    [
        "*a" * 512,
        "?*a" * 340,
        "[ab]*" * 204,
        "a/" * 511 + "*",
        "**/a/" * 204,
        "?" * 1024,
        "[[:alpha:]]" * 93,
        "[!a-c]?*" * 128,
    ],
)
@pytest.mark.parametrize("leases", ["ordinary", "hostile"])
def test_500_hostile_patterns_against_10000_leases_are_answered_or_refused_within_the_bound(
    hostile: str, leases: str
) -> None:
    index: LeaseIndex[int] = LeaseIndex()
    twins = [parse_pattern(hostile), parse_pattern("*" + hostile[1:]), parse_pattern("**/[ab]*[ab]?*" * 70)]
    for key, text in enumerate(ordinary(10_000)):
        index.add(key, parse_pattern(text) if leases == "ordinary" else twins[key % 3])
    budget = WorkBudget()

    try:
        for _ in range(500):
            for _ in index.overlapping(parse_pattern(hostile), budget):
                pass
    except PatternsTooHard as refused:
        assert refused.data == {"max_steps": budget.bound}  # noqa: PT017 - both outcomes are right
    assert budget.spent <= budget.bound * 1.05
