"""Agents at rest, over the real store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, OutboxSeq, ProjectId
from mcp_agent_mail.domain.agents import Agent, AgentKind, AgentStatus, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.archive_format.layout import profile_snapshot
from mcp_agent_mail.domain.events import ArchiveCommit, EventKind, NewEvent
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx


def add_project(tx: Tx, key: str = "/code/app") -> ProjectId:
    return tx.projects.add(slug=key.replace("/", "-"), human_key=key, plain_slug="plain", now=Micros(1)).id


def add_agent(tx: Tx, project_id: ProjectId, name: str, at: int = 10, kind: AgentKind = AgentKind.AGENT) -> Agent:
    new = NewAgent(
        project_id=project_id,
        kind=kind,
        name=name,
        program="p",
        model="m",
        task_description="",
        attachments_policy=AttachmentsPolicy.AUTO,
        token_hash=f"{project_id} {name}".encode(),
    )
    return tx.agents.add(new, Micros(at))


async def test_a_name_is_found_in_any_case_and_shown_as_registered(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        added = await store.write(lambda tx: add_agent(tx, add_project(tx), "BlueLake"))

        found = await store.read(lambda view: view.agents.find_by_name(added.project_id, " bLUElake\n"))

    assert found == added
    assert found is not None
    assert found.name == "BlueLake"


@pytest.mark.parametrize("names", [[" RedStone\n"], [" RedStone\n", "BLUELAKE", "Nobody"]])
async def test_several_are_found_by_the_key_of_the_name_asked_for_one_as_well(tmp_path: Path, names: list[str]) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        red = await store.write(lambda tx: add_agent(tx, add_project(tx), "RedStone"))
        blue = await store.write(lambda tx: add_agent(tx, red.project_id, "BlueLake"))

        found = await store.read(lambda view: view.agents.find_by_names(red.project_id, names))

    assert found == ({"redstone": red} if len(names) == 1 else {"redstone": red, "bluelake": blue})


async def test_a_project_and_an_agent_of_it_are_found_in_one_statement(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        added = await store.write(lambda tx: add_agent(tx, add_project(tx), "BlueLake"))
        await store.write(lambda tx: add_agent(tx, add_project(tx, "/code/lib"), "RedStone"))
        statements: list[str] = []
        store._reading.set_trace_callback(statements.append)

        found = await store.read(lambda view: view.agents.find_by_name_at("/code/app", " bLUElake\n"))

        assert [sql.split()[0] for sql in statements] == ["BEGIN", "SELECT", "ROLLBACK"]
        assert found == (await store.read(lambda view: view.projects.find(added.project_id)), added)
        assert await store.read(lambda view: view.agents.find_by_name_at("/code/app", "RedStone")) is None
        assert await store.read(lambda view: view.agents.find_by_name_at("/code/none", "BlueLake")) is None


async def test_the_store_itself_refuses_a_second_agent_of_a_name(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        added = await store.write(lambda tx: add_agent(tx, add_project(tx), "BlueLake"))

        with pytest.raises(sqlite3.IntegrityError):
            await store.write(lambda tx: add_agent(tx, added.project_id, "BLUELAKE"))


async def test_an_agent_is_found_by_its_token_hash_alone(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        added = await store.write(lambda tx: add_agent(tx, add_project(tx), "BlueLake"))

        by_hash = await store.read(lambda view: view.agents.find_by_token_hash(f"{added.project_id} BlueLake".encode()))
        by_other = await store.read(lambda view: view.agents.find_by_token_hash(b"other"))

    assert (by_hash, by_other) == (added, None)


async def test_agents_are_listed_last_active_first_without_human_system_and_retired(tmp_path: Path) -> None:
    def arrange(tx: Tx) -> ProjectId:
        project_id = add_project(tx)
        for name, at in (("One", 10), ("Two", 30), ("Three", 20), ("Gone", 40)):
            add_agent(tx, project_id, name, at)
        add_agent(tx, project_id, "Human", 50, AgentKind.HUMAN)
        add_agent(tx, project_id, "System", 60, AgentKind.SYSTEM)
        gone = tx.agents.find_by_name(project_id, "gone")
        assert gone is not None
        tx.agents.set_retired(gone.id, Micros(70), Micros(70))
        return project_id

    async with Store(tmp_path / "mail.sqlite3") as store:
        project_id = await store.write(arrange)

        def look(include_retired: bool, since: int, limit: int) -> tuple[list[str], int]:
            view = store._view
            listed = view.agents.list_(project_id, include_retired=include_retired, active_since=since, limit=limit)
            total = view.agents.count(project_id, include_retired=include_retired, active_since=since)
            return [agent.name for agent in listed], total

        assert look(include_retired=False, since=0, limit=10) == (["Two", "Three", "One"], 3)
        assert look(include_retired=True, since=0, limit=2) == (["Gone", "Two"], 4)
        assert look(include_retired=False, since=20, limit=10) == (["Two", "Three"], 2)
        assert await store.read(lambda view: view.agents.names(project_id)) == ["Human", "Two", "Three", "One"]
        assert await store.read(lambda view: view.agents.names(project_id, is_retired=True)) == ["Gone"]


async def test_a_name_is_found_in_every_project_that_is_not_archived(tmp_path: Path) -> None:
    def arrange(tx: Tx) -> None:
        for key in ("/a", "/b", "/c"):
            add_agent(tx, add_project(tx, key), "BlueLake")
        tx.projects.set_archived(ProjectId(2), Micros(5))

    async with Store(tmp_path / "mail.sqlite3") as store:
        await store.write(arrange)

        found = await store.read(lambda view: view.agents.find_everywhere("bluelake"))

    assert [agent.project_id for agent in found] == [1, 3]


async def test_of_the_newest_agents_those_of_other_projects_are_candidates_for_a_name(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:

        def unit(tx: Tx) -> list[list[str]]:
            home, other, shut = (add_project(tx, f"/code/{name}") for name in ("home", "other", "shut"))
            add_agent(tx, home, "BlueLake")
            for name in ("OldFern", "GoneFern", "NewFern"):
                add_agent(tx, other, name)
            add_agent(tx, other, "Human", kind=AgentKind.HUMAN)
            add_agent(tx, shut, "ShutFern")
            gone = tx.agents.find_by_name(other, "GoneFern")
            assert gone is not None
            tx.agents.set_retired(gone.id, tx.now, tx.now)
            tx.projects.set_archived(shut, tx.now)
            return [[one.name for one in tx.agents.newest_elsewhere(home, limit)] for limit in (300, 3)]

        assert await store.write(unit) == [["NewFern", "OldFern"], ["NewFern"]]


async def test_activity_never_goes_back(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        added = await store.write(lambda tx: add_agent(tx, add_project(tx), "BlueLake", 100))

        await store.write(lambda tx: tx.agents.touch_many([(added.id, Micros(50)), (AgentId(99), Micros(1))]))
        earlier = await store.read(lambda view: view.agents.find(added.id))
        await store.write(lambda tx: tx.agents.touch_many([(added.id, Micros(200))]))
        later = await store.read(lambda view: view.agents.find(added.id))

    assert earlier is not None
    assert later is not None
    assert (earlier.last_active_ts, later.last_active_ts) == (100, 200)


async def test_a_changed_status_is_kept_and_a_note_left_out_is_cleared(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        added = await store.write(lambda tx: add_agent(tx, add_project(tx), "BlueLake"))

        busy = await store.write(lambda tx: tx.agents.set_status(added.id, AgentStatus.BUSY, "tests", Micros(7)))
        ready = await store.write(lambda tx: tx.agents.set_status(added.id, AgentStatus.READY, None, Micros(8)))

    assert (busy.status, busy.status_note, busy.status_ts) == (AgentStatus.BUSY, "tests", 7)
    assert (ready.status, ready.status_note, ready.status_ts) == (AgentStatus.READY, None, 8)


async def test_recent_commits_are_the_agents_own_in_its_own_project_newest_first(tmp_path: Path) -> None:
    def arrange(tx: Tx) -> AgentId:
        home, other = add_project(tx, "/a"), add_project(tx, "/b")
        me, peer = add_agent(tx, home, "BlueLake"), add_agent(tx, home, "RedStone")
        story = [("aaa", home, me), ("bbb", home, me), ("ccc", home, peer), ("ddd", other, me), ("eee", home, me)]
        for number, (hexsha, project_id, agent) in enumerate(story):
            last = OutboxSeq(0)
            for _ in range(2):
                event = NewEvent(
                    project_id=project_id,
                    kind=EventKind.PROFILE,
                    agent_id=agent.id,
                    message_id=None,
                    snapshot=profile_snapshot(agent),
                )
                last = tx.outbox.add(event, Micros(number))
            tx.outbox.mark(
                ArchiveCommit(
                    project_id=project_id, hexsha=hexsha, summary="s", authored_ts=Micros(number), last_seq=last
                )
            )
        return me.id

    async with Store(tmp_path / "mail.sqlite3") as store:
        me = await store.write(arrange)

        commits = await store.read(lambda view: view.agents.recent_commits(me, 2))
        everything = await store.read(lambda view: view.agents.recent_commits(me, 50))

    assert [commit.hexsha for commit in commits] == ["eee", "bbb"]
    assert [commit.hexsha for commit in everything] == ["eee", "bbb", "aaa"]


async def test_a_clock_that_steps_back_does_not_make_an_agent_less_active(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        added = await store.write(lambda tx: add_agent(tx, add_project(tx), "BlueLake", 100))

        changed = await store.write(
            lambda tx: tx.agents.update_profile(
                added.id,
                program="other",
                model="m",
                task_description="",
                attachments_policy=AttachmentsPolicy.FILE,
                now=Micros(60),
            )
        )

    assert (changed.last_active_ts, changed.profiled_ts, changed.program) == (100, 60, "other")
