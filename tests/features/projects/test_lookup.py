"""From what a caller calls a project to the project, and what is told where there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.project_identity import derived_uid, slug_alias, uid_tie
from mcp_agent_mail.domain.projects import AliasKind, Project, UnknownProject
from mcp_agent_mail.features.projects.lookup import (
    AmbiguousProject,
    called_by_people,
    is_looked_at,
    looking_at_disk,
    require_project,
    require_writable,
    resolved_path,
    tied_to,
    told_briefly,
)
from tests.features.identity.harness import PROJECT, open_identity
from tests.seeded_store import SeededStore, add_project, open_seeded_store


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
    assert unlike.value.hint == "There is /code/application. It is the absolute path of your working directory."
    assert unlike.value.data["present"] == ["/code/application"]


async def test_of_many_projects_the_ten_newest_are_told_where_none_is_near(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        with pytest.raises(NotFound) as none_there:
            await harness.call("list_agents", project_key="zzz")
        for number in range(11):
            await harness.call("ensure_project", human_key=f"/code/{number}")
        with pytest.raises(NotFound) as unknown:
            await harness.call("list_agents", project_key="zzz")

    assert none_there.value.hint == ""
    assert unknown.value.data["present"] == [f"/code/{number}" for number in range(10, 0, -1)]
    assert unknown.value.hint.startswith("The newest are /code/10, ")


async def test_paths_are_compared_with_paths_and_slugs_with_slugs(tmp_path: Path) -> None:
    path = "/home/somebody/checkouts/of/2026/for/customers/application"
    async with open_identity(tmp_path) as harness:
        made = await harness.call("ensure_project", human_key=path)

        for nearly in (path.replace("pp", "p"), made["slug"][:-1]):
            with pytest.raises(NotFound) as refused:
                await harness.call("list_agents", project_key=nearly)
            assert refused.value.data["nearest"] == [path]


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


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def found(seeded: SeededStore, key: str) -> Project:
    return await seeded.store.read(lambda view: require_project(view, key))


async def test_a_project_is_found_by_its_former_slug_its_uid_and_its_derived_uid(seeded: SeededStore) -> None:
    app, lib = seeded.app, seeded.lib
    await seeded.store.write(lambda tx: tx.aliases.add(app.id, slug_alias("old-name"), AliasKind.FORMER, tx.now))
    await seeded.store.write(lambda tx: tx.aliases.add(app.id, uid_tie("shared-project"), AliasKind.TIE, tx.now))
    store_id = await seeded.store.read(lambda view: view.meta.store_id())

    by_names = [await found(seeded, key) for key in ("old-name", "Shared-Project")]

    assert by_names == [app, app]
    assert await found(seeded, derived_uid(store_id, lib.id)) == lib


@pytest.mark.parametrize("key", ["0" * 32, "old-name", "", "/code/app/src"])
async def test_what_names_nothing_is_refused(key: str, seeded: SeededStore) -> None:
    with pytest.raises(UnknownProject) as refused:
        await found(seeded, key)

    assert refused.value.data["parameter"] == "project_key"
    assert refused.value.data.get("path") == (key if key.startswith("/") else None)


async def test_a_path_that_a_look_has_tied_is_the_projects_inside_and_unknown_outside(seeded: SeededStore) -> None:
    with tied_to("/link", seeded.app.id), tied_to("/nowhere", None):
        inside = await found(seeded, "/link")
        looked = [is_looked_at(path) for path in ("/link", "/nowhere", "/code/app")]
        with pytest.raises(UnknownProject):
            await found(seeded, "/nowhere")

    assert inside == seeded.app
    assert looked == [True, True, False]
    assert not is_looked_at("/link")
    with pytest.raises(UnknownProject):
        await found(seeded, "/link")


async def test_a_refusal_before_the_look_compares_with_nothing_and_one_after_it_does(seeded: SeededStore) -> None:
    with told_briefly():
        with pytest.raises(UnknownProject) as brief:
            await found(seeded, "/code/ap")
        with pytest.raises(UnknownProject) as by_slug:
            await found(seeded, "code-ap")
        with tied_to("/code/ap", None), pytest.raises(UnknownProject) as looked_at:
            await found(seeded, "/code/ap")

    assert brief.value.data == {"parameter": "project_key", "path": "/code/ap"}
    assert {by_slug.value.data["nearest"][0], looked_at.value.data["nearest"][0]} == {"/code/app"}


async def test_a_link_is_followed_at_once_only_where_the_disk_may_be_looked_at(
    seeded: SeededStore, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    real = await seeded.store.write(lambda tx: add_project(tx, str((tmp_path / "real").resolve())))

    with pytest.raises(UnknownProject):
        await found(seeded, f"{tmp_path}/link")
    with looking_at_disk():
        followed = await found(seeded, f"{tmp_path}/link")

    assert followed == real


@pytest.mark.parametrize("path", ["code/app", "/a\nb"])
def test_what_is_no_path_is_not_resolved(path: str) -> None:
    with pytest.raises(InvalidInput):
        resolved_path(path)


async def test_a_project_that_is_not_archived_may_be_written_to(seeded: SeededStore) -> None:
    assert require_writable(seeded.app) is seeded.app


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("/Code/App", ["/code/app"]),
        ("code/app/src", ["/code/app"]),
        ("/code/app/src/lexer", ["/code/app"]),
        ("/home/somebody/lib", ["/code/lib"]),
        ("/home/somebody/App", ["/code/app"]),
        ("lib", ["/code/lib"]),
        ("code/lib", ["/code/lib"]),
        ("/code/ap", ["/code/app"]),
        ("/srv/other", []),
    ],
)
async def test_a_project_is_meant_by_another_case_a_path_within_it_or_the_last_part(
    written: str, meant: list[str], tmp_path: Path
) -> None:
    async with open_identity(tmp_path) as harness:
        await harness.call("ensure_project", human_key="/code/app")
        await harness.call("ensure_project", human_key="/code/lib")

        with pytest.raises(NotFound) as refused:
            await harness.call("list_agents", project_key=written)

    assert refused.value.data["nearest"][: len(meant) or 1] == meant


async def test_of_a_folder_within_several_projects_the_innermost_alone_is_told(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        for key in ("/code/app", "/code", "/code/ap"):
            await harness.call("ensure_project", human_key=key)

        with pytest.raises(NotFound) as refused:
            await harness.call("list_agents", project_key="/code/app/src/lexer")

    assert refused.value.data["nearest"] == ["/code/app"]


async def called(seeded: SeededStore, key: str) -> Project:
    with called_by_people():
        return await found(seeded, key)


async def test_what_people_type_may_be_the_name_that_one_project_alone_has(seeded: SeededStore) -> None:
    assert await called(seeded, " APP ") == seeded.app
    with pytest.raises(UnknownProject):
        await found(seeded, "app")

    await seeded.store.write(lambda tx: add_project(tx, "/elsewhere/app"))
    with pytest.raises(AmbiguousProject) as several:
        await called(seeded, "app")

    assert str(several.value) == "2 projects are called app."
    assert several.value.hint == "Write which: elsewhere-app or code-app."


@pytest.mark.parametrize("key", ["code-lib", "old-name"])
async def test_a_name_stands_behind_every_key_of_another_project(seeded: SeededStore, key: str) -> None:
    lib = seeded.lib
    await seeded.store.write(lambda tx: tx.aliases.add(lib.id, slug_alias("old-name"), AliasKind.FORMER, tx.now))
    await seeded.store.write(lambda tx: add_project(tx, f"/named/{key}"))

    assert await called(seeded, key) == lib


@pytest.mark.parametrize(
    ("by", "is_taken"),
    [
        (Credentials(via="rpc", role=Role.OPERATOR), True),
        (Credentials(via="local"), True),
        (Credentials(via="rpc", role=Role.WRITER), False),
        (Credentials(via="mcp", role=Role.OPERATOR), False),
        (Credentials(via="mcp"), False),
    ],
)
async def test_calls_of_people_name_a_project_as_they_see_it_and_agents_by_its_directory(
    by: Credentials, is_taken: bool, tmp_path: Path
) -> None:
    async def outcome(call: Any) -> bool:
        try:
            await call
        except UnknownProject:
            return False
        return True

    async with open_identity(tmp_path) as harness:
        await harness.call("ensure_project", human_key="/code/some-app")

        assert await outcome(harness.call("list_agents", by=by, project_key="some-app")) is is_taken
        assert await outcome(harness.read("resource://agents/some-app", by=by)) is is_taken


@pytest.mark.parametrize("made", ["/backend", "/srv/other/backend"])
async def test_no_directory_that_is_made_takes_the_name_of_another_project(made: str, tmp_path: Path) -> None:
    person = Credentials(via="local")
    async with open_identity(tmp_path) as harness:
        await harness.call("ensure_project", human_key="/code/backend")
        await harness.call("list_agents", by=person, project_key="backend")
        await harness.call("ensure_project", human_key=made)

        with pytest.raises(AmbiguousProject, match="2 projects are called backend"):
            await harness.call("list_agents", by=person, project_key="backend")
