from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.presence import (
    ABSENT,
    BUSY_KNOWN_S,
    ClientSession,
    ListeningVia,
    Presence,
    SessionEvent,
    SessionName,
    after_event,
    listening_until,
    nobody_listens,
    presence_of,
)

START = 1_800_000_000
WINDOW_S = 60


def at(seconds: float) -> Micros:
    return Micros(int((START + seconds) * SECOND))


def played(*events: tuple[float, SessionEvent], name: str = "s", is_proven: bool = True) -> ClientSession | None:
    """The session that has told these, each at so many seconds."""
    session = None
    for seconds, event in events:
        session = after_event(session, SessionName(name, is_proven), event, at(seconds))
    return session


def seen(seconds: float, *sessions: ClientSession | None, live: ListeningVia | None = None) -> Presence:
    return presence_of([one for one in sessions if one is not None], live, at(seconds), WINDOW_S)


def test_without_any_evidence_nobody_listens() -> None:
    assert seen(0) == ABSENT == nobody_listens(AgentId(1))
    assert not ABSENT.is_listening


@pytest.mark.parametrize("event", [event for event in SessionEvent if event is not SessionEvent.END])
def test_whatever_a_hook_tells_is_listening_until_the_window_is_over(event: SessionEvent) -> None:
    session = played((0, event))
    assert session is not None

    assert listening_until(session, WINDOW_S) == at(WINDOW_S)
    assert seen(0, session).via is ListeningVia.HOOK
    assert seen(WINDOW_S - 0.001, session).is_listening
    assert not seen(WINDOW_S, session).is_listening


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.text(alphabet="\0 provenu"))
def test_no_name_without_proof_is_hashed_as_one_with_proof(name: str, before: str) -> None:
    proven = SessionName(name, is_proven=True).hash

    assert SessionName(f"{before}{name}", is_proven=False).hash != proven
    assert SessionName(f"proven {name}", is_proven=False).hash != proven
    assert SessionName(f"proven\0{name}", is_proven=False).hash != proven


def test_a_session_that_has_ended_is_none() -> None:
    assert played((0, SessionEvent.TURN), (1, SessionEvent.END)) is None


@pytest.mark.parametrize("live", [ListeningVia.WAIT, ListeningVia.STREAM])
def test_what_stands_open_is_told_before_what_a_hook_said(live: ListeningVia) -> None:
    assert seen(0, played((0, SessionEvent.IDLE)), live=live).via is live
    assert seen(0, live=live) == Presence(via=live)


S = SessionEvent


@pytest.mark.parametrize(
    ("events", "busy_since"),
    [
        ([(0, S.START)], None),
        ([(0, S.START), (5, S.TURN)], 5),
        ([(5, S.TURN), (7, S.TOOL), (9, S.TOOL)], 5),
        ([(7, S.TOOL)], 7),
        ([(5, S.TURN), (8, S.IDLE)], None),
        ([(5, S.TURN), (8, S.IDLE), (9, S.TOOL)], 9),
        ([(5, S.TURN), (8, S.TURN)], 8),  # Interrupted: the client did not tell that it was idle.
        ([(5, S.TURN), (8, S.START)], None),
        ([(5, S.TURN), (8, S.END), (9, S.START)], None),
    ],
)
def test_busy_is_since_the_turn_or_tool_that_was_told_of_until_it_is_idle(
    events: list[tuple[float, SessionEvent]], busy_since: float | None
) -> None:
    assert seen(10, played(*events)).busy_since == (None if busy_since is None else at(busy_since))


def test_a_long_tool_is_still_known_to_run_when_nobody_listens_any_more_but_not_for_ever() -> None:
    session = played((0, S.TURN))

    assert seen(WINDOW_S, session) == Presence(busy_since=at(0))
    assert seen(BUSY_KNOWN_S, session) == ABSENT


def test_of_several_sessions_the_one_that_has_been_busy_longest_counts() -> None:
    sessions = [played((5, S.TURN), name="a"), played((2, S.TURN), name="b"), played((9, S.IDLE), name="c")]

    assert seen(10, *sessions).busy_since == at(2)


def test_a_session_that_fell_silent_is_not_busy_beside_one_that_is_heard() -> None:
    killed, newer = played((0, S.TURN), name="killed"), played((WINDOW_S, S.IDLE), name="newer")

    assert seen(WINDOW_S + 1, killed, newer) == Presence(via=ListeningVia.HOOK)


def test_a_clock_that_is_set_back_keeps_nobody_listening_for_long() -> None:
    session = played((0, S.TURN))

    assert seen(-1, session) == Presence(via=ListeningVia.HOOK, busy_since=at(-1))
    assert not seen(-WINDOW_S, session).is_listening


def test_a_tool_that_goes_on_over_a_clock_that_is_set_back_began_no_later_than_now() -> None:
    session = played((0, S.TURN), (-100, S.TOOL))

    assert seen(-50, session).busy_since == at(-100)


@given(
    events=st.lists(st.tuples(st.integers(-200, 200), st.sampled_from(SessionEvent)), max_size=12),
    now=st.integers(-5_000, 5_000),
)
def test_nobody_listens_by_hooks_beyond_a_window_of_the_last_word(
    events: list[tuple[float, SessionEvent]], now: int
) -> None:
    presence = seen(now, played(*events))

    last = events[-1] if events else None
    is_fresh = last is not None and last[1] is not S.END and abs(now - last[0]) < WINDOW_S
    assert presence.via is (ListeningVia.HOOK if is_fresh else None)
    assert presence.busy_since is None or presence.busy_since <= at(now)
    if last is None or last[1] in (S.START, S.IDLE, S.END):
        assert presence.busy_since is None
