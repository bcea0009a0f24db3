"""What hooks that bring no token can do to a session that is heard with one, over HTTP: nothing, by whatever name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.rest.test_hooks import Team, a_team, ids


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[Team]:
    async with a_team(tmp_path) as opened:
        yield opened


async def test_without_proof_nobody_has_a_proven_sessions_mail_nor_confirms_it(team: Team) -> None:
    """Whoever names a session at its word has one of its own, whatever it is called."""
    number = await team.send()
    stranger = await team.event({}, least="any")
    mine = await team.event(least="any")
    status, refusal = await team.post("told", {}, claim=mine["claim"])
    await team.told(mine["claim"])
    await team.event({})
    untouched = await team.status(number)
    await team.event()

    assert (ids(stranger), ids(mine)) == ([number], [number])
    assert (status, refusal["error"]["type"]) == (404, "NOT_FOUND")
    assert (untouched, await team.status(number)) == ("handed_over", "shown")


@pytest.mark.parametrize("before", ["proven ", "proven\1", "\1", "1 ", "True"])
async def test_no_name_makes_a_session_without_proof_a_proven_one(team: Team, before: str) -> None:
    number = await team.send()
    mine = await team.event(least="any")
    await team.told(mine["claim"])

    stranger = await team.event({}, session=f"{before}s-1", least="any")

    assert ids(stranger) == [number]
    assert await team.status(number) == "handed_over"


async def test_without_proof_nobody_ends_a_proven_sessions_presence_nor_pushes_it_out(team: Team) -> None:
    await team.event()
    for session in ["s-1", "proven s-1", *(f"x{number}" for number in range(12))]:
        await team.event({}, session=session)
        await team.event({}, session=session, event="end")
    still = await team.is_listening()
    for number in range(12):
        await team.event({}, session=f"x{number}")
    for number in range(12):
        await team.event({}, session=f"x{number}", event="end")
    beside_many = await team.is_listening()
    await team.event(event="end")

    assert (still, beside_many, await team.is_listening()) == (True, True, False)


async def test_a_sub_agents_end_leaves_the_session_listening(team: Team) -> None:
    await team.event()

    await team.event(event="end", subagent=True)

    assert await team.is_listening()
