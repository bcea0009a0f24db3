"""Activity: noted in memory, bounded, written in one unit, never lost to a store that is busy."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.writer import Unit
from tests.features.identity.desk import PROJECT, Desk, Ticking, open_desk, with_token


async def an_agent(desk: Desk, name: str = "BlueLake") -> Agent:
    await desk.call("ensure_project", human_key=PROJECT)
    await desk.register(name)
    await desk.activity.flush()
    project = (await desk.store.read(lambda view: view.projects.newest(1)))[0]
    agent = await desk.store.read(lambda view: view.agents.find_by_name(project.id, name))
    assert agent is not None
    return agent


async def stored(desk: Desk) -> int:
    return int((await desk.rows("SELECT max(last_active_ts) FROM agents WHERE kind = 'agent'"))[0][0])


async def test_what_is_noted_is_shown_at_once_and_written_later(tmp_path: Path) -> None:
    async with open_desk(tmp_path, clock=Ticking()) as desk:
        agent = await an_agent(desk)

        desk.activity.note(agent)
        shown = desk.activity.with_activity([agent])[0].last_active_ts

        assert shown > agent.last_active_ts
        assert await stored(desk) == agent.last_active_ts
        await desk.activity.flush()
        assert await stored(desk) == shown
        assert desk.activity.with_activity([agent]) == [agent]


async def test_notes_are_written_at_each_interval_by_the_activity_itself(tmp_path: Path) -> None:
    async with open_desk(tmp_path, clock=Ticking()) as desk:
        agent = await an_agent(desk)
        written = asyncio.Event()
        async with Activity(desk.store, clock=Ticking(2_000_000_000), interval_s=0) as activity:
            desk.store.on_commit(written.set)
            activity.note(agent)
            await written.wait()

            assert await stored(desk) == 2_000_000_001_000_000
            written.clear()
            activity.note(agent)
            await written.wait()

            assert await stored(desk) == 2_000_000_002_000_000


async def test_closing_writes_what_is_noted(tmp_path: Path) -> None:
    async with open_desk(tmp_path, clock=Ticking()) as desk:
        agent = await an_agent(desk)
        activity = Activity(desk.store, clock=Ticking(2_000_000_000), interval_s=600)
        activity.note(agent)

        await activity.close()
        await activity.close()

        assert await stored(desk) == 2_000_000_001_000_000


class RefusingOnce:
    """A store whose first write is refused, as by a full disk."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.refusals = 1

    async def write(self, unit: Unit[None]) -> None:
        if self.refusals:
            self.refusals -= 1
            raise Unavailable("full")
        await self._store.write(unit)


async def test_what_cannot_be_written_is_kept_for_the_next_time(tmp_path: Path) -> None:
    async with open_desk(tmp_path, clock=Ticking()) as desk:
        agent = await an_agent(desk)
        refusing = RefusingOnce(desk.store)
        activity = Activity(refusing, clock=Ticking(2_000_000_000), interval_s=600)  # type: ignore[arg-type]  # its write alone
        activity.note(agent)

        with pytest.raises(Unavailable):
            await activity.flush()
        between = await stored(desk)
        await activity.close()

        assert (refusing.refusals, between) == (0, agent.last_active_ts)
        assert await stored(desk) == 2_000_000_001_000_000


async def test_the_notes_are_bounded(tmp_path: Path) -> None:
    async with open_desk(tmp_path, clock=Ticking()) as desk:
        one = await an_agent(desk, "BlueLake")
        two = await an_agent(desk, "RedStone")
        activity = Activity(desk.store, clock=Ticking(2_000_000_000), interval_s=600, max_noted=1)

        activity.note(one)
        activity.note(two)
        activity.note(one)

        assert activity.noted_in(one.project_id) == [one.id]
        await activity.close()


async def test_a_proven_agent_is_active_by_any_call(tmp_path: Path) -> None:
    async with open_desk(tmp_path, clock=Ticking()) as desk:
        agent = await an_agent(desk)
        token = (await desk.register("RedStone"))["registration_token"]
        await desk.activity.flush()
        peer = await desk.store.read(lambda view: view.agents.find_by_name(agent.project_id, "RedStone"))
        assert peer is not None

        await desk.call("whois", by=with_token(token), project_key=PROJECT, agent_name="BlueLake")

        assert desk.activity.noted_in(agent.project_id) == [peer.id]
        assert desk.activity.with_activity([agent])[0].last_active_ts == Micros(agent.last_active_ts)
