"""How many sessions memory knows, and which go first."""

from __future__ import annotations

import math

import pytest

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.features.delivery.hooks import known_sessions
from mcp_agent_mail.features.delivery.hooks.known_sessions import KnownSessions

ONE, TWO, THREE = AgentId(1), AgentId(2), AgentId(3)


def names(known: KnownSessions) -> dict[int, list[str]]:
    return {agent_id: list(own) for agent_id, own in known.by_agent.items()}


def test_an_agent_has_so_many_and_those_that_were_heard_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_sessions, "MAX_OF_AGENT", 2)
    known = KnownSessions()
    for name in ("a", "b", "a", "c"):
        known.of(ONE, name)

    assert (names(known), known.count) == ({1: ["a", "c"]}, 2)


def test_whoever_has_most_loses_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_sessions, "MAX_KNOWN", 3)
    known = KnownSessions()
    known.of(ONE, "mine").told_s = 1.0
    for number in range(9):
        known.of(TWO, f"x{number}")
    many = names(known)
    known.of(THREE, "new")

    assert many == {1: ["mine"], 2: ["x7", "x8"]}
    assert names(known) == {1: ["mine"], 2: ["x8"], 3: ["new"]}
    assert (known.of(ONE, "mine").told_s, known.count) == (1.0, 3)


def test_of_two_that_have_as_many_the_one_that_was_heard_longest_ago_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_sessions, "MAX_KNOWN", 4)
    known = KnownSessions()
    for agent_id, name in ((ONE, "a"), (TWO, "a"), (TWO, "b"), (ONE, "b")):
        known.of(agent_id, name)
    known.of(THREE, "new")

    assert names(known) == {1: ["a", "b"], 2: ["b"], 3: ["new"]}


def test_of_a_session_that_is_new_nothing_is_known() -> None:
    known = KnownSessions().of(ONE, "a")

    assert (known.told_s, known.refused_s) == (-math.inf, ())


def test_what_is_forgotten_is_gone() -> None:
    known = KnownSessions()
    known.of(ONE, "a").told_s = 1.0
    known.forget(ONE, "a")
    known.forget(ONE, "a")
    known.forget(TWO, "a")

    assert (names(known), known.count, known.of(ONE, "a").told_s) == ({}, 0, -math.inf)
