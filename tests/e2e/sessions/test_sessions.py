"""Agents with their usual mistakes, played against the present server."""

from __future__ import annotations

from functools import cache

import pytest

from tests.e2e.sessions.measure import SESSIONS, Figures, before, figures_of, play
from tests.e2e.sessions.player import Cost

FORM = "md"
"""The format of the connections: the cheapest of this server (json was that of the one before)."""


@cache
def _played(name: str) -> Cost:
    return play(name, form=FORM)


def _now(name: str) -> Figures:
    return figures_of(_played(name))


@pytest.mark.parametrize("name", SESSIONS)
def test_each_session_is_played_to_its_end_with_the_same_ten_mistakes_or_more(name: str) -> None:
    assert _now(name).mistakes == before()[name].mistakes >= 10
