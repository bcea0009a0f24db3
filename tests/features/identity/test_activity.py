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
from tests.features.identity.harness import PROJECT, IdentityHarness, Ticking, open_identity, with_token


async def an_agent(harness: IdentityHarness, name: str = "BlueLake") -> Agent:
    await harness.call("ensure_project", human_key=PROJECT)
    await harness.register(name)
    await harness.activity.flush()
    project = (await harness.store.read(lambda view: view.projects.newest(1)))[0]
    agent = await harness.store.read(lambda view: view.agents.find_by_name(project.id, name))
    assert agent is not None
    return agent


async def stored(harness: IdentityHarness) -> int:
    return int((await harness.rows("SELECT max(last_active_ts) FROM agents WHERE kind = 'agent'"))[0][0])


async def test_what_is_noted_is_shown_at_once_and_written_later(tmp_path: Path) -> None:
    async with open_identity(tmp_path, clock=Ticking()) as harness:
        agent = await an_agent(harness)

        harness.activity.note(agent)
        shown = harness.activity.with_activity([agent])[0].last_active_ts

        assert shown > agent.last_active_ts
        assert (await stored(harness)) == agent.last_active_ts
        await harness.activity.flush()
        assert (await stored(harness)) == shown
        assert harness.activity.with_activity([agent]) == [agent]


async def test_notes_are_written_at_each_interval_by_the_activity_itself(tmp_path: Path) -> None:
    async with open_identity(tmp_path, clock=Ticking()) as harness:
        agent = await an_agent(harness)
        written = asyncio.Event()
        async with Activity(harness.store, clock=Ticking(2_000_000_000), interval_s=0) as activity:
            harness.store.on_commit(written.set)
            activity.note(agent)
            await written.wait()

            assert (await stored(harness)) == 2_000_000_001_000_000
            written.clear()
            activity.note(agent)
            await written.wait()

            assert (await stored(harness)) == 2_000_000_002_000_000


async def test_closing_writes_what_is_noted(tmp_path: Path) -> None:
    async with open_identity(tmp_path, clock=Ticking()) as harness:
        agent = await an_agent(harness)
        activity = Activity(harness.store, clock=Ticking(2_000_000_000), interval_s=600)
        activity.note(agent)

        await activity.close()
        await activity.close()

        assert (await stored(harness)) == 2_000_000_001_000_000


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
    async with open_identity(tmp_path, clock=Ticking()) as harness:
        agent = await an_agent(harness)
        refusing = RefusingOnce(harness.store)
        activity = Activity(refusing, clock=Ticking(2_000_000_000), interval_s=600)  # type: ignore[arg-type]  # its write alone
        activity.note(agent)

        with pytest.raises(Unavailable):
            await activity.flush()
        between = await stored(harness)
        await activity.close()

        assert (refusing.refusals, between) == (0, agent.last_active_ts)
        assert (await stored(harness)) == 2_000_000_001_000_000


async def test_the_notes_are_bounded(tmp_path: Path) -> None:
    async with open_identity(tmp_path, clock=Ticking()) as harness:
        one = await an_agent(harness, "BlueLake")
        two = await an_agent(harness, "RedStone")
        activity = Activity(harness.store, clock=Ticking(2_000_000_000), interval_s=600, max_noted=1)

        activity.note(one)
        activity.note(two)
        activity.note(one)

        assert activity.noted_in(one.project_id) == [one.id]
        await activity.close()


async def test_a_proven_agent_is_active_by_any_call(tmp_path: Path) -> None:
    async with open_identity(tmp_path, clock=Ticking()) as harness:
        agent = await an_agent(harness)
        token = (await harness.register("RedStone"))["registration_token"]
        await harness.activity.flush()
        peer = await harness.store.read(lambda view: view.agents.find_by_name(agent.project_id, "RedStone"))
        assert peer is not None

        await harness.call("whois", by=with_token(token), project_key=PROJECT, agent_name="BlueLake")

        assert harness.activity.noted_in(agent.project_id) == [peer.id]
        assert harness.activity.with_activity([agent])[0].last_active_ts == Micros(agent.last_active_ts)
