"""A whole store comes in: what is kept, counted and archived; twice, dry, and by a small limit."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.importing.report import ImportReport
from mcp_agent_mail.domain.importing.steps import MissingProject
from mcp_agent_mail.features.doctor.verify import verify_archives
from mcp_agent_mail.features.doctor.verify_store import verify_store
from mcp_agent_mail.features.importing.projects import KeptElsewhere
from mcp_agent_mail.store.rebuild.dump import dump
from tests.features.importing.driving import brought_by
from tests.features.importing.scripted import ScriptedReader, agent, at, copy, message, project, whole_store
from tests.rebuild.histories import Played
from tests.rebuild.rebuilding import compare, rebuild
from tests.rebuild.world import World


async def bring(world: World, reader: ScriptedReader, *, apply: bool = True, into: str | None = None) -> ImportReport:
    return await brought_by(world.services.importing, reader, project=into, apply=apply)


def found(report: ImportReport) -> dict[str, tuple[int, int, int]]:
    return {kind.value: (one.added, one.known, one.left) for kind, one in report.counts.items()}


def tables(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        own = [name for (name,) in names if "fts" not in name]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in own}


async def test_everything_comes_in_and_is_counted_once(world: World) -> None:
    report = await bring(world, whole_store())

    assert found(report) == {
        "projects": (2, 0, 0),
        "agents": (5, 0, 0),
        "messages": (7, 0, 0),
        "copies": (9, 0, 0),
        "attachments": (2, 0, 1),
        "leases": (4, 0, 0),
        "links": (3, 0, 0),
        "products": (1, 0, 0),
    }
    assert [(one.kind, one.count) for one in report.left] == [("attachments", 1), ("build slots", 3)]
    assert report.notes == (
        "Leases that reach further end in 30 days, as all do here.",
        "Two directories share the slug old-app.",
    )


async def test_a_second_run_changes_nothing_at_all(world: World) -> None:
    await bring(world, whole_store())
    await world.call("mark_message_read", project_key="/old/app", agent_name="RedStone", message_id=_id(world, "m3"))
    before = list(dump(world.settings.database_path))

    report = await bring(world, whole_store())

    assert list(dump(world.settings.database_path)) == before
    assert {kind: one[0] for kind, one in found(report).items()} == dict.fromkeys(found(report), 0)
    assert found(report)["messages"] == (0, 7, 0)


async def test_a_dry_run_counts_the_same_and_writes_nothing(world: World) -> None:
    await bring(world, ScriptedReader(store_id="other"))
    before = tables(world.settings.database_path)

    dry = await bring(world, whole_store(), apply=False)

    assert tables(world.settings.database_path) == before
    assert not (world.settings.storage_root / "attachments").exists()
    applied = await bring(world, whole_store())
    assert found(dry) == found(applied)
    assert dry.left == applied.left
    assert [(one.name, one.why) for one in dry.names] == [(one.name, one.why) for one in applied.names]


async def test_what_is_new_since_is_added_behind(world: World) -> None:
    reader = whole_store()
    await bring(world, reader)
    reader.all_agents.append(agent("a6", "NewPond"))
    reader.all_messages.append(message("m7", "a6", copy("a1")))

    report = await bring(world, reader)

    assert found(report)["agents"] == (1, 5, 0)
    assert found(report)["messages"] == (1, 7, 0)
    inbox = await world.call("fetch_inbox", project_key="/old/app", agent_name="BlueLake")
    assert [one["subject"] for one in inbox] == ["About m7", "About m6", "About m2"]


async def test_only_the_operator_brings_something_in(world: World) -> None:
    anybody = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)

    with pytest.raises(PermissionDenied):
        await brought_by(world.services.importing, whole_store(), caller=anybody)


async def test_one_project_is_taken_by_its_slug_and_the_rest_is_listed(world: World) -> None:
    report = await bring(world, whole_store(), into="old-lib")

    assert found(report)["projects"] == (1, 0, 1)
    assert found(report)["agents"] == (1, 0, 4)
    assert found(report)["messages"] == (0, 0, 7)
    assert world.rows("SELECT human_key FROM projects") == [("/old/lib",)]


async def test_a_project_that_the_store_has_not_is_named_with_those_it_has(world: World) -> None:
    with pytest.raises(MissingProject) as refused:
        await bring(world, whole_store(), into="old-web")

    assert refused.value.data["projects"] == ["/old/app", "/old/lib"]


async def test_what_knows_no_project_goes_where_doors_have_theirs_or_where_one_says(world: World) -> None:
    reader = ScriptedReader(all_projects=[project(human_key=None, slug=None)], all_agents=[agent("a1", "BlueLake")])

    await bring(world, reader)
    reader.store_id = "two"
    await bring(world, reader, into="/code/app")

    home = str(world.settings.storage_root / "neighbours")
    assert world.rows("SELECT human_key FROM projects ORDER BY id") == [(home,), ("/code/app",)]


async def test_a_store_goes_on_where_it_was_brought_and_another_project_is_refused(world: World) -> None:
    reader = ScriptedReader(all_projects=[project(human_key=None, slug=None)], all_agents=[agent("a1", "BlueLake")])
    await bring(world, reader, into="/code/app")
    reader.all_agents.append(agent("a2", "RedStone"))

    for apply in (False, True):
        with pytest.raises(KeptElsewhere) as refused:
            await bring(world, reader, into="/code/lib", apply=apply)
        assert "/code/app" in refused.value.hint
    unasked = await bring(world, reader)
    named = await bring(world, reader, into="/code/app")

    assert world.rows("SELECT human_key FROM projects") == [("/code/app",)]
    assert (found(unasked)["agents"], unasked.notes) == ((1, 1, 0), ("This store goes on in /code/app, as before.",))
    assert named.notes == ()


async def test_what_has_no_directory_is_none_of_the_project_that_was_asked_for(world: World) -> None:
    reader = whole_store()
    reader.all_projects.append(project("p3", None, "old-nowhere"))
    reader.all_agents.append(agent("a6", "FarFox", "p3"))
    reader.all_messages.append(message("m7", "a6", copy("a6"), project_key="p3"))

    report = await bring(world, reader, into="/old/app")

    assert found(report)["projects"] == (1, 0, 2)
    assert world.rows("SELECT human_key FROM projects") == [("/old/app",)]
    assert world.rows("SELECT name FROM agents WHERE name = 'FarFox'") == []


async def test_limits_of_size_list_what_they_keep_out(world: World) -> None:
    reader = whole_store()
    reader.all_messages.append(
        message("m8", "a1", copy("a2"), body_md="x" * (world.settings.message_body_max_bytes + 1))
    )

    report = await bring(world, reader)

    assert found(report)["messages"] == (7, 0, 1)
    assert found(report)["copies"] == (9, 0, 1)
    assert [one.why for one in report.left if one.kind == "messages"] == [
        "its body is over 1,048,576 bytes (MESSAGE_BODY_MAX_BYTES)"
    ]


async def test_what_came_in_is_rebuilt_from_its_archives_as_it_was(world: World, tmp_path: Path) -> None:
    await bring(world, whole_store())
    await world.drain()
    played = Played(root=world.settings.storage_root, now=world.clock.now, succeeded=Counter(), refused=Counter())

    rebuilt = rebuild(played, tmp_path / "rebuilt")
    compared = await compare(played, rebuilt, tmp_path / "asked")

    assert compared.is_equal, str(compared)
    assert _keys(rebuilt) == _keys(world.settings.database_path)
    assert len(_keys(rebuilt)) == 2 + 5 + 7 + 4 + 3 + 1


async def test_archives_and_store_are_as_the_doctor_wants_them(world: World) -> None:
    await bring(world, whole_store())
    await world.drain()

    report = verify_archives(world.settings.storage_root, world.settings.database_path, progress=lambda *_: None)

    assert [*report.findings, *verify_store(world.settings.database_path)] == []


async def test_while_archives_are_far_behind_a_step_waits_and_a_dry_run_does_not(world: World) -> None:
    pace = world.services.archiving.pace
    pace.note(1_000_000, is_failing=False)
    await bring(world, whole_store(), apply=False)
    coming = asyncio.create_task(bring(world, whole_store()))
    for _ in range(20):
        await world.store.write(lambda _: None)
    held_back = world.rows("SELECT count(*) FROM projects")

    pace.note(0, is_failing=False)
    await coming

    assert (held_back, world.rows("SELECT count(*) FROM projects")) == ([(0,)], [(2,)])


async def test_each_unit_tells_a_bounded_number_of_events(world: World) -> None:
    reader = whole_store()
    reader.all_agents += [agent(f"b{number}", f"Reader{number}") for number in range(60)]
    reader.all_messages = [
        message(f"m{number}", "a1", *(copy(f"b{one}", read_ts=at(600), ack_ts=at(601)) for one in range(60)))
        for number in range(10)
    ]

    report = await bring(world, reader)

    assert found(report)["copies"] == (600, 0, 0)
    units = world.rows("SELECT count(*) FROM imported WHERE kind = 'messages' GROUP BY unit_id")
    assert max(count for (count,) in units) <= 2


def _id(world: World, key: str) -> int:
    ((number,),) = world.rows("SELECT number FROM imported WHERE kind = 'messages' AND source_key = ?", key)
    return int(number)


def _keys(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            "SELECT system, store_id, kind, source_key, number, project_id, unit_id FROM imported ORDER BY 3, 4"
        ).fetchall()
