"""Creating, finding and archiving projects, through the tools."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound
from mcp_agent_mail.domain.identity.caller import AgentAuth, TokenMissing, WrongToken
from tests.features.identity.harness import OPERATOR, PROJECT, Ticking, open_identity, with_token


async def test_ensuring_a_project_tells_where_its_archive_is(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        made = await harness.call("ensure_project", human_key="/code/./app/")

    assert sorted(made) == ["archive_path", "created_at", "human_key", "id", "slug"]
    assert made["human_key"] == "/code/app"
    assert made["archive_path"] == str(tmp_path / "projects" / made["slug"])


async def test_a_new_project_has_human_and_system_and_its_first_archive_events(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        await harness.call("ensure_project", human_key=PROJECT)

        residents = await harness.rows("SELECT name, kind, token_hash FROM agents ORDER BY id")
        events = await harness.rows("SELECT kind, snapshot FROM outbox ORDER BY seq")

    assert residents == [("Human", "human", None), ("System", "system", None)]
    assert [kind for kind, _ in events] == ["project", "profile", "profile"]
    assert json.loads(events[0][1])["human_key"] == PROJECT


async def test_twenty_callers_ensuring_one_project_at_once_make_one(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        answers = await asyncio.gather(*(harness.call("ensure_project", human_key=PROJECT) for _ in range(20)))

        assert len({json.dumps(answer) for answer in answers}) == 1
        assert (await harness.rows("SELECT count(*) FROM projects")) == [(1,)]
        assert (await harness.rows("SELECT count(*) FROM agents")) == [(2,)]
        assert (await harness.rows("SELECT count(*) FROM outbox")) == [(3,)]


async def test_paths_of_one_plain_slug_are_two_projects(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        dashed = await harness.call("ensure_project", human_key="/x/a-b")
        by_plain_slug = await harness.read("resource://project/x-a-b")
        nested = await harness.call("ensure_project", human_key="/x/a/b")

        with pytest.raises(NotFound, match="names several projects") as refused:
            await harness.read("resource://project/x-a-b")

    assert dashed["slug"] != nested["slug"]
    assert by_plain_slug["id"] == dashed["id"]
    assert refused.value.data["nearest"] == ["/x/a-b", "/x/a/b"]


async def test_a_symbolic_link_and_its_target_are_one_project(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    async with open_identity(tmp_path) as harness:
        through_link = await harness.call("ensure_project", human_key=f"{tmp_path}/link/sub/../sub")
        direct = await harness.call("ensure_project", human_key=f"{tmp_path}/real/sub")
        found = await harness.call("list_agents", project_key=f"{tmp_path}/link/sub")

    assert through_link == direct
    assert through_link["human_key"] == str((tmp_path / "real").resolve() / "sub")
    assert found == {"agents": [], "total": 0}


async def test_a_project_keeps_its_key_when_its_path_becomes_a_link(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        before = await harness.call("ensure_project", human_key=f"{tmp_path}/app")
        (tmp_path / "moved").mkdir()
        (tmp_path / "app").symlink_to(tmp_path / "moved")

        assert await harness.call("ensure_project", human_key=f"{tmp_path}/app") == before


@pytest.mark.parametrize("key", ["work/app", "~/app", "/a\nb", "/" + "x" * 1_050])
async def test_an_unfit_path_makes_no_project(key: str, tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        with pytest.raises(InvalidInput):
            await harness.call("ensure_project", human_key=key)

        assert (await harness.rows("SELECT count(*) FROM projects")) == [(0,)]


async def test_an_unknown_project_is_told_with_the_nearest_known_ones(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        made = await harness.call("ensure_project", human_key="/code/application")

        with pytest.raises(NotFound) as by_path:
            await harness.call("list_agents", project_key="/code/aplication")
        with pytest.raises(NotFound) as by_slug:
            await harness.call("list_agents", project_key=made["slug"][:-1])
        with pytest.raises(NotFound) as unlike:
            await harness.call("list_agents", project_key="zzz")

    assert by_path.value.data["nearest"] == ["/code/application"]
    assert "ensure_project(human_key='/code/aplication')" in by_path.value.hint
    assert by_slug.value.data["nearest"] == ["/code/application"]
    assert unlike.value.data["nearest"] == []


@pytest.mark.parametrize("spelling", ["{slug}", " {slug} ", "{SLUG}", "/code/app", "/code//app/", "CODE-app"])
async def test_a_project_is_found_by_path_slug_and_plain_slug(spelling: str, tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        made = await harness.call("ensure_project", human_key=PROJECT)
        key = spelling.format(slug=made["slug"], SLUG=made["slug"].upper())

        assert (await harness.call("archive_project", project_key=key))["slug"] == made["slug"]


WRITES: list[tuple[str, dict[str, Any]]] = [
    ("register_agent", {"program": "p", "model": "m"}),
    ("register_agent", {"program": "p", "model": "m", "name": "BlueLake"}),
    ("create_agent_identity", {"program": "p", "model": "m"}),
    ("deregister_agent", {"agent_name": "BlueLake"}),
    ("unretire_agent", {"agent_name": "BlueLake"}),
    ("set_status", {"agent_name": "BlueLake", "status": "busy"}),
]


@pytest.mark.parametrize(("tool", "arguments"), WRITES)
async def test_an_archived_project_refuses_writes_and_says_how_to_go_on(
    tool: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    async with open_identity(tmp_path) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        await harness.register("BlueLake")
        await harness.call("archive_project", project_key=PROJECT)

        with pytest.raises(Conflict, match="is archived") as refused:
            await harness.call(tool, project_key=PROJECT, **arguments)

        assert (await harness.rows("SELECT count(*) FROM agents")) == [(3,)]
    assert refused.value.data["suggested_tool_calls"] == [
        {"tool": "unarchive_project", "arguments": {"project_key": PROJECT}}
    ]


async def test_archiving_keeps_its_first_time_and_can_be_undone(tmp_path: Path) -> None:
    async with open_identity(tmp_path, clock=Ticking()) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        first = await harness.call("archive_project", project_key=PROJECT)
        again = await harness.call("archive_project", project_key=PROJECT)
        back = await harness.call("unarchive_project", project_key=PROJECT)
        events = await harness.rows("SELECT count(*) FROM outbox WHERE kind = 'project'")

        await harness.register("BlueLake")

    assert first == again
    assert (first["archived"], first["archived_at"] is not None) == (True, True)
    assert (back["archived"], back["archived_at"]) == (False, None)
    assert events == [(3,)]  # created, archived, brought back: the repeat told nothing


async def test_archived_projects_are_listed_only_when_asked_for_and_stay_readable(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        for key in ("/a", "/b", "/c"):
            await harness.call("ensure_project", human_key=key)
        await harness.call("archive_project", project_key="/b")

        listed = await harness.read("resource://projects")
        everything = await harness.read("resource://projects?include_archived=true")
        page = await harness.read("resource://projects?limit=1&after_id=1")
        shown = await harness.read("resource://project//b")

    assert [project["human_key"] for project in listed] == ["/a", "/c"]
    assert [project["human_key"] for project in everything] == ["/a", "/b", "/c"]
    assert [project["human_key"] for project in page] == ["/c"]
    assert sorted(listed[0]) == ["created_at", "human_key", "id", "slug"]
    assert shown["archived_at"] == everything[1]["archived_at"]


async def test_in_strict_mode_archiving_needs_a_token_of_the_project_or_the_operator(tmp_path: Path) -> None:
    async with open_identity(tmp_path, auth=AgentAuth.STRICT) as harness:
        for key in (PROJECT, "/code/other"):
            await harness.call("ensure_project", human_key=key)
        insider = with_token((await harness.register("BlueLake"))["registration_token"])
        outsider = with_token((await harness.register("RedStone", project_key="/code/other"))["registration_token"])

        with pytest.raises(TokenMissing):
            await harness.call("archive_project", project_key=PROJECT)
        with pytest.raises(WrongToken):
            await harness.call("archive_project", by=outsider, project_key=PROJECT)
        archived = await harness.call("archive_project", by=insider, project_key=PROJECT)
        back = await harness.call("unarchive_project", by=OPERATOR, project_key=PROJECT)

    assert (archived["archived"], back["archived"]) == (True, False)
