from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.store_limits import Shortage, StoreLimits, StoreSize
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.growth_limit import StoreTooLarge
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.transaction import Tx, View, open_view
from tests.seeded_store import SetClock, add_agent, add_project, open_seeded_store


async def test_a_unit_that_adds_is_refused_where_the_store_may_not_grow_and_others_are_not(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        await store.write(lambda tx: tx.require_room())
        store.growth.note(Shortage.TOO_LARGE, StoreLimits(max_used=1, min_free=0), StoreSize(used=2, free=0))

        def add(tx: Tx) -> None:
            tx.meta.note_check(Micros(1))
            tx.require_room()

        with pytest.raises(StoreTooLarge):
            await store.write(add)
        await store.write(lambda tx: tx.meta.note_check(Micros(2)))

        assert await store.read(lambda view: view.meta.checked_at()) == 2


def test_without_a_limit_a_unit_may_always_add(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "mail.sqlite3")) as connection:
        Tx(connection, SetClock()).require_room()


async def test_time_stands_still_within_a_unit_of_work_and_within_a_read(tmp_path: Path) -> None:
    ticks = itertools.count(1_000)
    async with Store(tmp_path / "mail.sqlite3", clock=lambda: Micros(next(ticks))) as store:

        def twice(view: View) -> tuple[Micros, Micros]:
            return view.now, view.now

        first, second = await store.write(twice), await store.write(twice)
        third, fourth = await store.read(twice), await store.read(twice)

    assert all(one == other for one, other in (first, second, third, fourth))
    assert first < second < third < fourth


async def test_the_nouns_of_a_unit_of_work_see_what_the_others_wrote(tmp_path: Path) -> None:
    def unit(tx: Tx) -> tuple[bool, int]:
        project = add_project(tx, "/code/new")
        add_agent(tx, project, "BlueLake")
        return tx.agents.has_members(project.id), tx.agents.count(project.id)

    async with open_seeded_store(tmp_path) as seeded:
        assert await seeded.store.write(unit) == (True, 1)


async def test_nouns_over_a_reading_connection_read_and_cannot_write(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        with closing(open_reading(seeded.store.path)) as connection:
            view = View(connection, seeded.clock)

            assert view.projects.find(seeded.app.id) == seeded.app
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                view.projects.set_archived(ProjectId(seeded.app.id), view.now)


async def test_the_time_is_that_of_the_last_beginning(tmp_path: Path) -> None:
    clock = SetClock()
    async with Store(tmp_path / "mail.sqlite3", clock=clock) as store:
        with closing(open_reading(store.path)) as connection:
            view = View(connection, clock)
            first = view.now
            clock.step()
            still = view.now
            view.begin()

    assert (still, view.now) == (first, clock.now)


async def test_a_view_of_its_own_is_unchanging_beside_a_writer_and_cannot_write(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        with open_view(tmp_path / "mail.sqlite3") as view:
            before = view.agents.count(seeded.app.id)
            await seeded.store.write(lambda tx: add_agent(tx, seeded.app, "LateFox"))

            assert view.agents.count(seeded.app.id) == before
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                view.agents.touch_many([(seeded.blue.id, Micros(1))])

        with open_view(tmp_path / "mail.sqlite3") as view:
            assert view.agents.count(seeded.app.id) == before + 1
