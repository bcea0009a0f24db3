"""Agents with their usual mistakes, played against the present server: what they pay, beside what they paid before."""

from __future__ import annotations

import pytest

from tests.e2e.sessions.measure import MOST, SESSIONS, before, figures_of, play, share

FORM = "md"
"""The format of the connections: the cheapest of this server (json was that of the one before)."""


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_of_ten_mistakes_costs_at_most_seven_tenths_and_no_mistake_a_second_turn(name: str) -> None:
    cost = play(name, form=FORM)

    now, was = figures_of(cost), before()[name]
    assert now.mistakes == was.mistakes >= 10
    assert {what: extra for what, extra in cost.mistakes.items() if extra > 1} == {}
    assert share(now, was) <= MOST
