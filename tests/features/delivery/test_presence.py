from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.presence import ABSENT, ListeningVia, Presence, SessionEvent, SessionName
from mcp_agent_mail.features.delivery.presence import MAX_SESSIONS, Presences
from tests.features.macros.harness import APP, MacrosHarness, open_macros, refused
from tests.seeded_store import SetClock

A_HOOK = Credentials(via="rpc")
OPERATOR = Credentials(via="local", bearer_token="unused")
RED = AgentId(1)
NOT_LISTENING = (False, None, None)


class Open:
    """What stands open, by agent."""

    def __init__(self) -> None:
        self.by_agent: dict[AgentId, ListeningVia] = {}

    def via_of(self, agent_id: AgentId) -> ListeningVia | None:
        return self.by_agent.get(agent_id)


def a_board(**more: Any) -> Presences:
    return Presences(**{"window_s": 60, "clock": SetClock(), **more})


def named(session: str, *, is_proven: bool = True) -> SessionName:
    return SessionName(session, is_proven)


def test_who_was_never_heard_does_not_listen() -> None:
    assert a_board().of(RED) == ABSENT


def test_one_session_that_ends_leaves_the_others_listening() -> None:
    board = a_board()
    board.hear(RED, named("a"), SessionEvent.START)
    board.hear(RED, named("b"), SessionEvent.START)

    ended = board.hear(RED, named("a"), SessionEvent.END)

    assert (ended, board.of(RED).via) == (None, ListeningVia.HOOK)
    board.hear(RED, named("b"), SessionEvent.END)
    assert board.of(RED) == ABSENT
    assert board.hear(RED, named("never begun"), SessionEvent.END) is None


def test_an_open_wait_is_listening_as_long_as_it_stands() -> None:
    live = Open()
    board = a_board(live=live)

    live.by_agent[RED] = ListeningVia.WAIT
    waiting = board.of(RED)
    del live.by_agent[RED]

    assert (waiting, board.of(RED)) == (Presence(via=ListeningVia.WAIT), ABSENT)


def test_of_one_agents_sessions_those_heard_last_are_kept() -> None:
    clock = SetClock()
    board = a_board(clock=clock)
    board.hear(RED, named("first"), SessionEvent.TURN)
    first = clock.now
    for number in range(MAX_SESSIONS - 1):
        clock.step()
        board.hear(RED, named(f"s{number}"), SessionEvent.IDLE)
    kept = board.of(RED).busy_since

    board.hear(RED, named("first"), SessionEvent.TOOL)
    board.hear(RED, named("one more"), SessionEvent.IDLE)
    again = board.of(RED).busy_since
    for number in range(MAX_SESSIONS):
        board.hear(RED, named(f"t{number}"), SessionEvent.IDLE)

    assert (kept, again, board.of(RED).busy_since) == (first, first, None)
    assert len(board._sessions[RED]) == MAX_SESSIONS


def test_sessions_without_proof_end_and_push_out_none_with_it() -> None:
    board = a_board()
    board.hear(RED, named("mine"), SessionEvent.TURN)
    for number in range(2 * MAX_SESSIONS):
        board.hear(RED, named(f"s{number}", is_proven=False), SessionEvent.IDLE)
    board.hear(RED, named("mine", is_proven=False), SessionEvent.END)

    kept = [one.name for one in board._sessions[RED]]

    others = [named(f"s{number}", is_proven=False) for number in range(MAX_SESSIONS, 2 * MAX_SESSIONS)]
    assert kept == [named("mine"), *others]


def test_of_all_agents_those_heard_last_are_kept() -> None:
    board = a_board(max_agents=2)
    board.hear(AgentId(1), named("s"), SessionEvent.IDLE)
    board.hear(AgentId(2), named("s"), SessionEvent.IDLE)
    board.hear(AgentId(1), named("s"), SessionEvent.IDLE)

    board.hear(AgentId(3), named("s"), SessionEvent.IDLE)

    assert [board.of(AgentId(number)).is_listening for number in (1, 2, 3)] == [True, False, True]


# --- As callers see it -------------------------------------------------------------------------------------------


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[MacrosHarness]:
    """BlueLake and RedStone have registered, and called."""
    async with open_macros(tmp_path) as opened:
        await opened.start("BlueLake")
        await opened.start("RedStone")
        yield opened


async def beat(
    team: MacrosHarness, event: str, name: str = "RedStone", session: str = "s1", by: Credentials = A_HOOK
) -> Any:
    given = {"project_key": APP, "agent_name": name, "session": session, "event": event, "client": "kimi 1.0"}
    return await team.call("heartbeat", by, **given)


def told(shown: dict[str, Any]) -> tuple[Any, ...]:
    return shown["listening"], shown["listening_via"], shown["busy_since"]


async def everywhere(team: MacrosHarness) -> dict[str, tuple[Any, ...]]:
    """What each answer says of RedStone."""
    known = await team.call("whois", project_key=APP, agent_name="RedStone")
    listed = (await team.call("list_agents", project_key=APP))["agents"]
    started = await team.start("BlueLake")
    status = await team.call("set_status", project_key=APP, agent_name="RedStone", status="ready")
    sent = await team.send("BlueLake", "RedStone")
    (recipient,) = sent["deliveries"][0]["payload"]["recipients"]
    number = sent["deliveries"][0]["payload"]["id"]
    reply = await team.call("reply_message", project_key=APP, message_id=number, sender_name="BlueLake", body_md="b")
    (answered,) = reply["deliveries"][0]["payload"]["recipients"]
    (copy,) = (await team.call("message_status", project_key=APP, message_id=number))["recipients"]
    return {
        "whois": told(known),
        "list_agents": told(next(one for one in listed if one["name"] == "RedStone")),
        "macro_start_session": told(next(one for one in started["peers"] if one["name"] == "RedStone")),
        "set_status": told(status),
        "send_message": told(recipient),
        "reply_message": told(answered),
        "message_status": told(copy),
    }


async def test_registering_and_calling_is_not_listening(team: MacrosHarness) -> None:
    assert set((await everywhere(team)).values()) == {NOT_LISTENING}


async def test_every_answer_with_an_agent_says_that_it_listens_and_since_when_it_is_busy(team: MacrosHarness) -> None:
    await beat(team, "turn")
    since = iso(team.clock.now)

    found = await everywhere(team)

    assert set(found.values()) == {(True, "hook", since)}, found


async def test_the_window_is_the_settings(tmp_path: Path) -> None:
    async with open_macros(tmp_path, LISTENING_WINDOW_SECONDS="5") as team:
        await team.start("RedStone")
        heard = await beat(team, "idle")
        until = iso(Micros(team.clock.now + 5 * SECOND))

        fresh = told(await team.call("whois", project_key=APP, agent_name="RedStone"))
        team.clock.step(5)
        stale = told(await team.call("whois", project_key=APP, agent_name="RedStone"))

    assert heard == {"listening_until": until}
    assert (fresh, stale) == ((True, "hook", None), NOT_LISTENING)


async def test_an_end_ends_at_once(team: MacrosHarness) -> None:
    await beat(team, "turn")

    ended = await beat(team, "end")

    assert ended == {"listening_until": None}
    assert told(await team.call("whois", project_key=APP, agent_name="RedStone")) == NOT_LISTENING


async def test_a_repeat_of_a_send_says_what_the_first_answer_said(team: MacrosHarness) -> None:
    await beat(team, "idle")
    first = await team.send("BlueLake", "RedStone", idempotency_key="k")
    await beat(team, "end")

    again = await team.send("BlueLake", "RedStone", idempotency_key="k")

    (before,) = first["deliveries"][0]["payload"]["recipients"]
    (after,) = again["deliveries"][0]["payload"]["recipients"]
    assert (before, after["listening"], again["idempotent_replay"]) == (after, True, True)


async def test_a_greeting_says_whether_its_reader_listens(team: MacrosHarness) -> None:
    await beat(team, "idle")

    shaken = await team.shake(welcome_subject="Hi", welcome_body="b")

    (recipient,) = shaken["welcome_message"]["deliveries"][0]["payload"]["recipients"]
    assert told(recipient) == (True, "hook", None)


async def test_by_the_operators_word_nobody_listens(team: MacrosHarness) -> None:
    heard = await beat(team, "turn", by=OPERATOR)

    assert heard == {"listening_until": None}
    assert told(await team.call("whois", project_key=APP, agent_name="RedStone")) == (False, None, None)


async def test_over_mcp_there_is_no_heartbeat(team: MacrosHarness) -> None:
    error = await refused(beat(team, "turn", by=Credentials(via="mcp")))

    assert (error.code, error.message) == ("NOT_FOUND", "Unknown tool: heartbeat")


async def test_nobody_listens_for_another_agent_whose_token_it_has_not(tmp_path: Path) -> None:
    async with open_macros(tmp_path, AGENT_AUTH="strict") as team:
        await team.start("BlueLake")
        await team.start("RedStone")
        blue = Credentials(via="rpc", agent_token=team.tokens[APP, "BlueLake"])
        red = Credentials(via="rpc", agent_token=team.tokens[APP, "RedStone"])

        errors = [await refused(beat(team, "turn", by=one)) for one in (blue, A_HOOK)]
        unheard = told(await team.call("whois", red, project_key=APP, agent_name="RedStone"))
        await beat(team, "idle", by=red)

        assert [error.code for error in errors] == ["PERMISSION_DENIED", "AUTHENTICATION_REQUIRED"]
        assert unheard == NOT_LISTENING
        assert told(await team.call("whois", red, project_key=APP, agent_name="RedStone")) == (True, "hook", None)


async def test_a_retired_agents_sessions_can_only_end(team: MacrosHarness) -> None:
    await beat(team, "turn")
    await team.call("deregister_agent", project_key=APP, agent_name="RedStone")

    error = await refused(beat(team, "turn"))
    ended = await beat(team, "end")

    assert (error.code, ended) == ("CONFLICT", {"listening_until": None})


@pytest.mark.parametrize("ends", ["agent", "project"])
async def test_nobody_who_is_gone_listens_whatever_was_heard_of_it(team: MacrosHarness, ends: str) -> None:
    sent = await team.send("BlueLake", "RedStone")
    number = sent["deliveries"][0]["payload"]["id"]
    await beat(team, "turn")

    async def listening() -> list[bool]:
        listed = (await team.call("list_agents", project_key=APP, include_retired=True))["agents"]
        (copy,) = (await team.call("message_status", project_key=APP, message_id=number))["recipients"]
        known = await team.call("whois", project_key=APP, agent_name="RedStone")
        shown = [known, next(one for one in listed if one["name"] == "RedStone"), copy]
        assert {one["listening_via"] for one in shown} == {"hook" if known["listening"] else None}
        return [one["listening"] for one in shown]

    before = await listening()
    if ends == "agent":
        await team.call("deregister_agent", project_key=APP, agent_name="RedStone")
    else:
        await team.store.write(lambda tx: tx.projects.set_archived(ProjectId(1), tx.now))

    assert (before, await listening()) == ([True] * 3, [False] * 3)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"event": "sleeping"}, "event"), ({"session": " "}, "session"), ({"session": "x" * 201}, "session")],
)
async def test_what_a_hook_may_tell_is_bounded(team: MacrosHarness, wrong: dict[str, str], named: str) -> None:
    given = {"project_key": APP, "agent_name": "RedStone", "session": "s1", "event": "turn", **wrong}

    error = await refused(team.call("heartbeat", A_HOOK, **given))

    assert (error.code, error.data["parameter"]) == ("INVALID_INPUT", named)
