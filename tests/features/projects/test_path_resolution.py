"""Directories by other names: looked at beside the event loop, after the names alone said nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.domain.project_identity import MARKER_FILE, IdentityMode
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.features.projects.path_resolution import MAX_TIES, PathResolver
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.workspace.identity import WorkspaceIdentities
from tests.features.identity.harness import (
    PROFILE,
    open_identity,
)
from tests.features.projects.harness import UID, ensured, open_desk
from tests.seeded_store import add_project
from tests.workspace.code_repository import commit, git, write


async def test_a_symbolic_link_and_its_target_are_one_project(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    async with open_identity(tmp_path) as harness:
        through_link = await harness.call("ensure_project", human_key=f"{tmp_path}/link/sub/../sub")
        direct = await harness.call("ensure_project", human_key=f"{tmp_path}/real/sub")
        found = await harness.call("list_agents", project_key=f"{tmp_path}/link/sub")

    assert through_link == direct
    assert through_link["human_key"] == str((tmp_path / "real").resolve() / "sub")
    assert found == {"agents": [], "total": 0}


async def test_a_directory_never_ensured_is_found_where_the_mode_ties_it_and_nothing_is_written(
    code: Path, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, IdentityMode.GIT_COMMON_DIR) as harness:
        made = await ensured(harness, code)
        before = (
            await harness.rows("SELECT count(*) FROM project_aliases"),
            await harness.rows("SELECT count(*) FROM outbox"),
        )

        read = await harness.read(f"resource://project/{tmp_path / 'feature' / 'src'}")
        after = (
            await harness.rows("SELECT count(*) FROM project_aliases"),
            await harness.rows("SELECT count(*) FROM outbox"),
        )
        registered = await harness.call(
            "register_agent", project_key=str(tmp_path / "feature"), name="BlueLake", **PROFILE
        )
        with pytest.raises(NotFound):
            await harness.call("list_agents", project_key=str(tmp_path / "elsewhere"))

    assert read["id"] == made["id"] == registered["project_id"]
    assert before == after


async def test_with_the_mode_dir_a_link_to_a_project_is_the_project_and_nothing_else_is(
    code: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(code)
    async with open_desk(tmp_path, IdentityMode.DIR) as harness:
        made = await ensured(harness, code)
        by_link = await harness.call("register_agent", project_key=str(link), name="BlueLake", **PROFILE)
        with pytest.raises(NotFound) as caught:
            await harness.call("list_agents", project_key=f"{code}s")

    assert by_link["project_id"] == made["id"]
    assert caught.value.data["nearest"] == [made["human_key"]]


@dataclass
class Links:
    """Symbolic links to directories of projects, and calls that name some of them."""

    store: Store
    folder: Path
    resolver: PathResolver
    calls: int = 0

    async def add(self, name: str) -> None:
        (self.folder / "real" / name).mkdir(parents=True)
        (self.folder / name).symlink_to(self.folder / "real" / name)
        await self.store.write(lambda tx: add_project(tx, str((self.folder / "real" / name).resolve())))

    async def run(self, *names: str) -> list[str]:
        async def call() -> list[str]:
            self.calls += 1
            keys = [f"{self.folder}/{name}" for name in names]
            projects = await self.store.read(lambda view: [require_project(view, key) for key in keys])
            return [Path(project.human_key).name for project in projects]

        found: list[str] = await self.resolver.run(call)
        return found


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Links]:
    async with Store(tmp_path / "mail.sqlite3") as store:
        identities = Identities(WorkspaceIdentities(), IdentityMode.DIR)
        opened = Links(store, tmp_path, PathResolver(store, identities))
        for name in ("one", "two", "three", "four"):
            await opened.add(name)
        yield opened


async def test_a_call_may_name_its_project_and_two_more_by_other_names(links: Links) -> None:
    assert await links.run("one", "two", "three") == ["one", "two", "three"]
    assert links.calls == 1 + MAX_TIES


async def test_a_fourth_name_is_refused_with_what_it_is_like(links: Links) -> None:
    with pytest.raises(NotFound) as refused:
        await links.run("one", "two", "three", "four")

    assert refused.value.data["path"] == f"{links.folder}/four"
    assert "nearest" in refused.value.data


async def test_a_directory_that_is_nobodys_is_looked_at_once_and_then_refused(links: Links) -> None:
    with pytest.raises(NotFound) as refused:
        await links.run("nowhere")

    assert links.calls == 2
    assert "nearest" in refused.value.data


async def test_what_names_no_path_is_refused_without_a_look(links: Links) -> None:
    calls = []

    async def call() -> None:
        calls.append(1)
        await links.store.read(lambda view: require_project(view, "no-slug"))

    with pytest.raises(NotFound):
        await links.resolver.run(call)

    assert calls == [1]


async def test_with_the_mode_dir_a_directory_never_ensured_is_not_found_by_its_mark(code: Path, tmp_path: Path) -> None:
    write(code, MARKER_FILE, content=f"{UID}\n")
    commit(code)
    git(tmp_path, "clone", "--quiet", str(code), "clone")
    async with open_desk(tmp_path, IdentityMode.DIR) as harness:
        await ensured(harness, code)

        with pytest.raises(NotFound):
            await harness.call("list_agents", project_key=str(tmp_path / "clone"))
