"""A decision as every answer shows it: with one hint for all its conflicts, and its warnings."""

from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.domain.reservations import PathConflict, PathWarning, WaitingCall
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.reservations.grant import GrantResult
from mcp_agent_mail.features.reservations.shapes import show_decided
from tests.features.samples import APP, NOW, a_lease, an_agent

BLUE = Actor(agent=an_agent(), project=APP)


def test_one_hint_for_all_conflicts_names_whom_to_write_to_and_how_to_wait() -> None:
    conflicts = (
        PathConflict(path="a", holders=(a_lease(),)),
        PathConflict(path="b", holders=(), waiting=(a_waiting_call("RedStone"),)),
    )
    decided = GrantResult(holder=BLUE, granted=(), conflicts=conflicts, now=NOW)

    at_once = show_decided(decided, set())
    after_waiting = show_decided(replace(decided, has_waited=True), set())

    whom = f"Write to {a_lease().agent} and RedStone"
    assert at_once["hint"] == f"{whom}, or reserve with wait_seconds=50 to wait in line."
    assert after_waiting["hint"] == (
        f"Waiting takes all or nothing. {whom}, wait again, or leave out what is in conflict."
    )


def test_a_hint_names_three_holders_and_an_answer_without_conflicts_has_none() -> None:
    waiting = tuple(a_waiting_call(name) for name in ("A", "B", "C", "D", "E"))
    conflicts = (PathConflict(path="a", holders=(), waiting=waiting),)
    decided = GrantResult(holder=BLUE, granted=(), conflicts=conflicts, now=NOW)

    crowded = show_decided(decided, set())
    free = show_decided(replace(decided, conflicts=()), set())

    assert crowded["hint"].startswith("Write to A, B, C and the others, or")
    assert free == {"granted": [], "conflicts": []}


def a_waiting_call(agent: str) -> WaitingCall:
    return WaitingCall(agent=agent, path_pattern="a", exclusive=True, reason="", until_ts=NOW)


def test_warnings_are_shown_where_there_are_any_with_what_was_meant_where_that_is_known() -> None:
    warnings = (PathWarning(path="a", reason="b", did_you_mean=("c",)), PathWarning(path="d", reason="e"))
    decided = GrantResult(holder=BLUE, granted=(), conflicts=(), now=NOW, warnings=warnings)

    shown = show_decided(decided, set())

    assert shown["warnings"] == [{"path": "a", "reason": "b", "did_you_mean": ["c"]}, {"path": "d", "reason": "e"}]
