from __future__ import annotations

import pytest

from mcp_agent_mail.domain import reservations
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.keys import probe_of
from mcp_agent_mail.domain.patterns.pattern import parse_pattern, stored_pattern
from mcp_agent_mail.domain.reservations import Patterns, RequestedPath, conflicts_among, conflicts_with, holders_of
from tests.domain.leases_made import ANOTHER, MYSELF, make_lease


def wanted(text: str, *, exclusive: bool = True) -> RequestedPath:
    return RequestedPath.of(text, parse_pattern(text), exclusive=exclusive)


def holders(wish: RequestedPath, *leases: Lease) -> list[Lease]:
    return list(holders_of(wish, MYSELF, leases, Patterns(), WorkBudget()))


@pytest.mark.parametrize(
    ("is_own", "is_held_exclusively", "exclusive", "conflicts"),
    [
        (False, True, True, True),
        (False, True, False, True),
        (False, False, True, True),
        (False, False, False, False),
        (True, True, True, False),
    ],
)
def test_leases_conflict_between_agents_where_one_side_is_exclusive(
    *, is_own: bool, is_held_exclusively: bool, exclusive: bool, conflicts: bool
) -> None:
    lease = make_lease(agent_id=MYSELF if is_own else ANOTHER, exclusive=is_held_exclusively)

    assert conflicts_with(lease, MYSELF, exclusive=exclusive) is conflicts


def test_a_path_asked_for_knows_what_it_is_looked_up_by() -> None:
    asked = wanted("./src/a.py")

    assert (asked.given, asked.pattern.text, asked.exclusive) == ("./src/a.py", "src/a.py", True)
    assert asked.probe == probe_of(asked.pattern)


def test_holders_are_those_that_overlap_and_stand_against_it_in_their_order() -> None:
    first, beside, own, shared = (
        make_lease("src/**"),
        make_lease("docs/**"),
        make_lease("src/a.py", agent_id=MYSELF),
        make_lease("*.py", exclusive=False),
    )

    assert holders(wanted("src/a.py"), first, beside, own, shared) == [first, shared]
    assert holders(wanted("src/a.py", exclusive=False), first, beside, own, shared) == [first]


def test_a_lease_is_read_as_it_was_stored() -> None:
    assert holders(wanted("src/a.py"), make_lease("src", is_folder=False)) != []
    assert holders(wanted("src/A.py"), make_lease("src/a.py", ignore_case=True)) != []
    assert holders(wanted("src/A.py"), make_lease("src/a.py")) == []


def test_comparing_spends_the_calls_work() -> None:
    with pytest.raises(PatternsTooHard):
        list(holders_of(wanted("src/a*"), MYSELF, [make_lease()] * 9, Patterns(), WorkBudget(3)))


def test_a_pattern_is_read_once_for_each_way_to_read_it() -> None:
    patterns, lease, folder = Patterns(), make_lease("src"), make_lease("src", is_folder=True)

    assert patterns.of(lease) is patterns.of(make_lease("src"))
    assert patterns.of(folder) == stored_pattern("src", is_folder=True) != patterns.of(lease)


def test_what_was_read_is_forgotten_when_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservations, "CHARS_REMEMBERED", 6)
    patterns, lease = Patterns(), make_lease("src")
    first = patterns.of(lease)
    patterns.of(make_lease("doc"))
    kept = patterns.of(lease) is first

    patterns.of(make_lease("new"))
    again = patterns.of(lease)

    assert kept
    assert again == first
    assert again is not first
    assert patterns.of(lease) is again


def test_pairs_that_stand_against_each_other_are_of_different_agents_and_not_both_shared() -> None:
    mine = make_lease("src/**", agent_id=MYSELF)
    inside = make_lease("src/a.py")
    shared = make_lease("src/a.py", exclusive=False)
    also_shared = make_lease("src/*.py", agent_id=MYSELF, exclusive=False)
    beside = make_lease("docs/**")

    pairs = list(conflicts_among([mine, inside, shared, also_shared, beside], Patterns(), WorkBudget()))

    assert pairs == [(mine, inside), (mine, shared), (inside, also_shared)]
