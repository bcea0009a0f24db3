"""The short cuts of the matching find what reading every pattern finds."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.guard.decision import GuardedLease
from mcp_agent_mail.domain.guard.held_paths import Neighbourhood, held_paths, literal_end, literal_start, places_of
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.pattern import covers, stored_pattern
from mcp_agent_mail.domain.patterns.syntax import UnreadablePattern

NOW = Micros(1_000)


def holding(number: int, pattern: str, agent: str = "RedStone", **more: object) -> GuardedLease:
    values = {"is_folder": False, "ignore_case": False, "exclusive": True, "reason": "", "expires_ts": Micros(2_000)}
    return GuardedLease(id=number, agent=agent, path_pattern=pattern, **{**values, **more})  # type: ignore[arg-type]  # they fit


_NAMES = st.sampled_from(["a", "b", "ab", "a.py", "b.py", "A", "é", "[a]", "a\\b", "c d"])
_PARTS = st.sampled_from(["a", "b", "ab", "a.py", "*", "**", "*.py", "a*", "?b", "[ab]", "[a]", "A", "é*", "\\*", "*é"])
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)


@st.composite
def _patterns(draw: st.DrawFn) -> str:
    text = "/".join(draw(st.lists(_PARTS, min_size=1, max_size=4)))
    text = draw(st.sampled_from(["", "/"])) + text if any(letter in text for letter in "*?[") else text
    return text + draw(st.sampled_from(["", "/"]))


@given(
    st.lists(
        st.tuples(_patterns(), st.booleans(), st.booleans(), st.sampled_from(["RedStone", "BlueLake"])), max_size=6
    ),
    st.lists(_PATHS, max_size=4, unique=True),
)
@example([("*.py", False, False, "RedStone")], ["a.py/b"])
@example([("A*/", True, False, "RedStone")], ["ab/x"])
def test_a_path_is_held_exactly_when_some_pattern_of_another_covers_it(
    leases: list[tuple[str, bool, bool, str]], paths: list[str]
) -> None:
    holdings, patterns = [], []
    for number, (text, ignore_case, is_folder, agent) in enumerate(leases):
        try:
            patterns.append((stored_pattern(text, ignore_case=ignore_case, is_folder=is_folder), agent))
        except UnreadablePattern:
            continue
        holdings.append(holding(number, text, agent, ignore_case=ignore_case, is_folder=is_folder))

    found = {held.path: held.is_own_too for held in held_paths(paths, "BlueLake", holdings, NOW, WorkBudget(10**9))}

    expected = {}
    for path in paths:
        covering = {agent for pattern, agent in patterns if covers(pattern, path, WorkBudget(10**9))}
        if "RedStone" in covering:
            expected[path] = "BlueLake" in covering
    assert found == expected


@given(_patterns(), _PATHS, st.booleans())
def test_a_lease_that_covers_a_path_is_in_its_neighbourhood(text: str, path: str, ignore_case: bool) -> None:
    try:
        pattern = stored_pattern(text, ignore_case=ignore_case)
    except UnreadablePattern:
        return
    if covers(pattern, path, WorkBudget(10**9)):
        assert Neighbourhood([path]).has(text, ignore_case=ignore_case)


@pytest.mark.parametrize(
    ("pattern", "start", "end"),
    [
        ("src/app.py", "src/app.py", ""),
        ("src/**", "src", ""),
        ("*.py", "", ".py"),
        ("src/*/test_a.py", "src", ".py"),
        ("src/a*b", "src", "b"),
        ("app/[id]/page.tsx", "app", ""),
        ("/*.md", "", ".md"),
        ("a/b/", "a/b", ""),
    ],
)
def test_where_a_pattern_begins_and_what_it_ends_in(pattern: str, start: str, end: str) -> None:
    assert (literal_start(pattern), literal_end(pattern)) == (start, end)


def test_the_places_of_a_path_are_itself_its_folders_and_the_root() -> None:
    assert sorted(places_of("a/b/c")) == ["", "a", "a/b", "a/b/c"]


def test_the_oldest_of_several_leases_is_told() -> None:
    (held,) = held_paths(["a"], None, [holding(9, "*"), holding(3, "a")], NOW, WorkBudget())

    assert held.holding.id == 3


def test_a_lease_is_over_at_the_instant_it_expires() -> None:
    leases = [holding(1, "a", expires_ts=NOW)]

    assert held_paths(["a"], None, leases, NOW, WorkBudget()) == []
    assert len(held_paths(["a"], None, leases, Micros(NOW - 1), WorkBudget())) == 1


def test_ten_thousand_leases_elsewhere_cost_no_reading() -> None:
    work = WorkBudget()

    held_paths(
        [f"lib/{number}" for number in range(100)], None, (holding(n, f"src/{n}/**") for n in range(10_000)), NOW, work
    )

    assert work.spent == 0


def test_hostile_patterns_end_with_the_work() -> None:
    leases = [holding(number, "*a" * 500 + str(number)) for number in range(200)]

    with pytest.raises(PatternsTooHard):
        held_paths(["a" * 1_000], None, [holding(n, "*a" * 500) for n in range(200)], NOW, WorkBudget(1_000))

    assert held_paths(["b"], None, leases, NOW, WorkBudget(100_000)) == []
