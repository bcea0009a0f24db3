from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.features.importing.projects import ArchiveKnown
from tests.features.importing.scripted import ScriptedReader, agent, at, copy, message, project
from tests.features.importing.test_service import bring, found
from tests.rebuild.world import THE_OPERATOR, World


async def test_a_project_that_is_made_is_as_old_as_where_it_comes_from(world: World) -> None:
    await bring(world, ScriptedReader(all_projects=[project()]))

    assert world.rows("SELECT human_key, created_ts FROM projects") == [("/old/app", at(0))]


async def test_a_project_that_is_there_stays_as_it_is(world: World) -> None:
    await world.call("ensure_project", human_key="/old/app")
    before = world.rows("SELECT * FROM projects")

    report = await bring(world, ScriptedReader(all_projects=[project()], all_agents=[agent("a1", "Blue")]))

    assert world.rows("SELECT * FROM projects") == before
    assert found(report)["projects"] == (1, 0, 0)


async def test_into_a_project_that_is_set_aside_nothing_goes(world: World) -> None:
    await bring(world, ScriptedReader(all_projects=[project()]))
    await world.call("archive_project", THE_OPERATOR, project_key="/old/app")
    reader = ScriptedReader(
        all_projects=[project()], all_agents=[agent("a1", "Blue")], all_messages=[message("m1", "a1", copy("a1"))]
    )

    with pytest.raises(AgentMailError) as refused:
        await bring(world, reader)

    assert refused.value.code == "CONFLICT"
    assert world.rows("SELECT count(*) FROM messages") == [(0,)]


async def test_a_slug_that_is_none_here_is_refused_before_anything_is_written(world: World) -> None:
    with pytest.raises(AgentMailError) as refused:
        await bring(world, ScriptedReader(all_projects=[project(human_key=None, slug=None)]), into="no-such")

    assert refused.value.code == "NOT_FOUND"
    assert world.rows("SELECT count(*) FROM projects") == [(0,)]


async def test_when_a_project_is_adopted_what_comes_later_goes_where_it_is(world: World) -> None:
    reader = ScriptedReader(all_projects=[project()], all_agents=[agent("a1", "Blue")])
    await bring(world, reader)
    await world.call("ensure_project", human_key="/new/app")
    await world.drain()
    await world.adopt("/old/app", "/new/app")
    reader.all_agents.append(agent("a2", "Red"))

    report = await bring(world, reader)
    await world.drain()

    assert found(report)["agents"] == (1, 1, 0)
    names = world.rows("SELECT a.name FROM agents a JOIN projects p ON p.id = a.project_id WHERE a.kind = 'agent'")
    assert sorted(names) == [("Blue",), ("Red",)]
    assert world.rows("SELECT human_key FROM projects") == [("/new/app",)]
    known = world.rows("SELECT number, project_id FROM imported WHERE kind = 'projects'")
    assert known == world.rows("SELECT id, id FROM projects")


@pytest.mark.parametrize("apply", [True, False])
async def test_an_archive_whose_mail_came_in_with_its_database_is_refused(world: World, *, apply: bool) -> None:
    whole = ScriptedReader(
        all_projects=[project()], all_agents=[agent("a1", "Blue")], all_messages=[message("m1", "a1", copy("a1"))]
    )
    await bring(world, whole)
    before = world.rows("SELECT name FROM agents")
    archive = replace(whole, store_id="its archive", oldest_mail=("m0", "m1"), all_agents=[agent("other-key", "Blue")])

    with pytest.raises(ArchiveKnown) as refused:
        await bring(world, archive, apply=apply)

    assert "am import mcp-agent-mail DATABASE --archive ARCHIVE" in str(refused.value.hint)
    assert world.rows("SELECT name FROM agents") == before


async def test_an_archive_goes_on_where_it_was_brought_in_by_itself(world: World) -> None:
    archive = ScriptedReader(
        oldest_mail=("m1",),
        all_projects=[project()],
        all_agents=[agent("a1", "Blue")],
        all_messages=[message("m1", "a1", copy("a1"))],
    )
    await bring(world, archive)
    archive.all_projects.append(project("p2", human_key="/old/lib", slug="lib"))

    assert found(await bring(world, archive))["projects"] == (1, 1, 0)
