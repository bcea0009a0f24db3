from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.agents import AgentKind
from mcp_agent_mail.domain.hooks.announcements import MAX_STOPS
from mcp_agent_mail.domain.presence import SessionName
from mcp_agent_mail.features.delivery.hooks import announcements as rules
from mcp_agent_mail.features.delivery.hooks import known_sessions
from mcp_agent_mail.store import announcements as rows
from tests.features.delivery.hooks.histories import play

HISTORIES = 240
_AT_ONCE = 40


def a_folder(tmp_path: Path, seed: int) -> Path:
    folder = tmp_path / str(seed)
    folder.mkdir()
    return folder


@pytest.mark.parametrize("first", range(0, HISTORIES, _AT_ONCE))
async def test_nothing_is_told_twice_handed_over_unconfirmed_or_lost(
    tmp_path: Path, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_sessions, "MAX_STOPS", 1)  # Histories are short.
    seen: Counter[str] = Counter()
    faults = {}
    for seed in range(first, first + _AT_ONCE):
        history = await play(a_folder(tmp_path, seed), seed, most_stops=1)
        seen += history.seen
        if history.faults:
            faults[seed] = history.faults

    assert faults == {}
    for what in (
        "two_at_once",
        "overtaken",
        "restart",
        "jump",
        "keep_up",
        "withdraw",
        "read",
        "claim refused",
        "shown",
    ):
        assert seen[what] >= 10, (what, seen)
    assert seen["bound"] >= 1, seen
    for fate in ("before the print", "after the print", "confirmed", "twice"):
        assert seen[fate] >= 20, (fate, seen)


Patch = pytest.MonkeyPatch


def _without(pattern: str) -> Callable[[Patch], None]:
    """The SQL of the store less a condition; what would be given again is, and nothing else stands in the way."""

    def take_out(patch: Patch) -> None:
        found = 0
        for name, sql in vars(rows).items():
            if isinstance(sql, str) and name.startswith("_") and re.search(pattern, sql):
                patch.setattr(rows, name, re.sub(pattern, "", sql))
                found += 1
        assert found, pattern
        patch.setattr(rows, "_GIVE", rows._GIVE.replace("INSERT", "INSERT OR REPLACE"))

    return take_out


def _decide_once(patch: Patch) -> None:
    """What the read decided is carried out, whatever was given meanwhile."""
    decided: dict[int, Any] = {}  # decisions are the module's own
    decide = rules._decide

    def as_before(view: Any, actor: Any, request: Any, *more: Any) -> Any:  # likewise
        return decided.setdefault(id(request), decide(view, actor, request, *more))

    patch.setattr(rules, "_decide", as_before)
    patch.setattr(rows, "_GIVE", rows._GIVE.replace("INSERT", "INSERT OR REPLACE"))


def _hand_over_what_is_given(patch: Patch) -> None:
    carry_out = rules._carry_out

    def and_hand_over(tx: Any, name: Any, decided: Any, claim: str) -> None:  # as above
        carry_out(tx, name, decided, claim)
        tx.ladder.hand_over(decided.actor.agent.id, [one.message_id for one in decided.claimed], tx.now)

    patch.setattr(rules, "_carry_out", and_hand_over)


def _show_what_is_printed_just_now(patch: Patch) -> None:
    class Always:
        began_s = math.inf

    patch.setattr(rules, "current_hearing", Always)


def _show_by_sub_agents(patch: Patch) -> None:
    decide = rules._decide

    def as_if_the_sessions(view: Any, actor: Any, request: Any, *more: Any) -> Any:  # as above
        of_the_session = decide(view, actor, replace(request, subagent=False), *more)
        return replace(decide(view, actor, request, *more), shown=of_the_session.shown)

    patch.setattr(rules, "_decide", as_if_the_sessions)


def _tell_sub_agents(patch: Patch) -> None:
    decide = rules._decide

    def as_if_the_sessions(view: Any, actor: Any, request: Any, *more: Any) -> Any:  # as above
        shown = decide(view, actor, request, *more).shown
        return replace(decide(view, actor, replace(request, subagent=False), *more), shown=shown)

    patch.setattr(rules, "_decide", as_if_the_sessions)


def _one_name_for_all_sessions(patch: Patch) -> None:
    patch.setattr(SessionName, "hash", b"x" * 32)


def _take_any_claim_of_the_agent(patch: Patch) -> None:
    patch.setattr(rows, "_CLAIMED", rows._CLAIMED.replace("session_id = ? AND claim = ?", "? > 0 AND claim = ?"))
    patch.setattr(rows, "_TOLD", rows._TOLD.replace("session_id = ? AND claim = ?", "? > 0 AND claim = ?"))


def _show_by_any_session(patch: Patch) -> None:
    for name in ("_UNSHOWN", "_SHOWN"):
        sql = getattr(rows, name).replace("INDEXED BY announcements_told", "").replace("session_id = ?", "? > 0")
        patch.setattr(rows, name, sql)


def _never_wait_for_the_next_call(patch: Patch) -> None:
    def always_items(self: Any, *given: Any, **_: Any) -> Any:  # the method's own
        return tellable(self, *given, without_stops=None)

    tellable = rows.Announcements.tellable
    patch.setattr(rows.Announcements, "tellable", always_items)


def _stop_for_strangers(patch: Patch) -> None:
    patch.setattr(rows, "_STOP", rows._STOP.replace(f"'{AgentKind.HUMAN.value}'", "s.kind"))


def _refuse_every_call(patch: Patch) -> None:
    patch.setattr(known_sessions.KnownSession, "takes_stops", lambda *_: True)


def _forget_nothing_of_what_went(patch: Patch) -> None:
    patch.setattr(rows, "_PASS", rows._PASS.replace("max(passed_seq, ?)", "min(passed_seq, ?)"))


GUARDS: dict[str, Callable[[Patch], None]] = {
    "a session is given a message once": _without(r"AND NOT EXISTS \(SELECT 1 FROM announcements g [^)]*\)"),
    "only what is unread": _without(r"AND r\.read_ts IS NULL(?= AND r\.expired_ts)"),
    "only what has not expired": _without(r"AND r\.expired_ts IS NULL(?=\s+AND \(r\.valid)"),
    "only what lies in the inbox": _without(
        r"AND r\.delivery_seq (IS NOT NULL(?= AND r\.read_ts)|> coalesce\([^;]*?, 0\))"
    ),
    "in the order of importance": _without(r"AND m\.importance = :importance"),
    "decided in the unit that notes it": _decide_once,
    "handed over when it is confirmed": _hand_over_what_is_given,
    "shown by what came after": _show_what_is_printed_just_now,
    "a sub-agent shows nothing": _show_by_sub_agents,
    "a sub-agent is told nothing": _tell_sub_agents,
    "a session is its name's": _one_name_for_all_sessions,
    "a claim is its session's": _take_any_claim_of_the_agent,
    "another session shows nothing": _show_by_any_session,
    "what refuses waits for the next call": _never_wait_for_the_next_call,
    "strangers stop nobody": _stop_for_strangers,
    "calls are refused so often": _refuse_every_call,
    "what was forgotten is told no more": _forget_nothing_of_what_went,
}
MOST_STOPS = {"calls are refused so often": 1}
INDEXED = {"only what is unread", "only what has not expired", "only what lies in the inbox"}
"""Conditions that the index of the query repeats."""


@pytest.mark.parametrize("guard", GUARDS)
async def test_without_each_guard_histories_find_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guard: str
) -> None:
    GUARDS[guard](monkeypatch)
    if guard in INDEXED:
        for name, sql in vars(rows).items():
            if isinstance(sql, str) and "INDEXED BY recipients_" in sql:
                monkeypatch.setattr(rows, name, re.sub(r"INDEXED BY recipients_\w+", "", sql))

    most_stops = MOST_STOPS.get(guard, MAX_STOPS)
    for seed in range(HISTORIES):
        try:
            history = await play(a_folder(tmp_path, seed), seed, most_stops=most_stops)
        except sqlite3.IntegrityError:  # The schema stands behind the guard.
            return
        if history.faults:
            return

    pytest.fail(f"{HISTORIES} histories without the guard: {guard}")
