"""Which folders of a project lend files: those that are the project's at the one look that finds them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.project_identity import IdentityMode, identify
from mcp_agent_mail.domain.projects import AliasKind, Project
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.features.projects.lent_folders import FolderLook
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.workspace.identity import WorkspaceIdentities
from mcp_agent_mail.workspace.lent_places import find_folder
from tests.seeded_store import add_project
from tests.workspace.code_repository import commit, git, write


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store(tmp_path / "mail.sqlite3") as opened:
        yield opened


@pytest.fixture
def app(tmp_path: Path) -> Path:
    for folder in ("app/deep", "other/deep"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path / "app"


async def project_at(store: Store, path: Path) -> Project:
    return await store.write(lambda tx: add_project(tx, str(path)))


async def look(store: Store, project: Project, key: str | Path, mode: IdentityMode = IdentityMode.DIR) -> list[Path]:
    """The paths of those found."""
    found = await FolderLook(store, Identities(WorkspaceIdentities(), mode)).find(project, str(key))
    assert all(folder.identity == find_folder(folder.path).identity for folder in found.found)
    assert not {folder.named for folder in found.found} & set(found.elsewhere)
    return [folder.path for folder in found.found]


async def test_a_link_to_the_projects_directory_is_found_as_what_it_leads_to(store: Store, app: Path) -> None:
    project = await project_at(store, app)
    (app.parent / "link").symlink_to(app)

    assert await look(store, project, app.parent / "link") == [app]
    assert await look(store, project, project.slug) == [app]
    assert await look(store, project, f" {app}/deep/.. ") == [app]


def replace_by_link(app: Path) -> None:
    app.rename(app.with_name("moved"))
    app.symlink_to(app.with_name("other"))


@pytest.mark.parametrize("key", ["{app}/link/..", "{app}/link", "{app}/../other", "{app}/deep", "{base}/gone"])
async def test_where_links_and_dots_lead_that_is_not_the_projects_is_not_found(
    store: Store, app: Path, key: str
) -> None:
    project = await project_at(store, app)
    (app / "link").symlink_to(app.parent / "other" / "deep")

    assert await look(store, project, key.format(app=app, base=app.parent)) == [app]


async def test_a_project_whose_directory_was_replaced_by_a_link_lends_none(store: Store, app: Path) -> None:
    project = await project_at(store, app)
    replace_by_link(app)

    assert await look(store, project, app) == []
    assert await look(store, project, project.slug) == []

    await project_at(store, app.with_name("other"))
    assert await look(store, project, app) == []


async def test_a_directory_whose_name_ends_in_blanks_is_another_one(store: Store, app: Path) -> None:
    project = await project_at(store, app)
    (app.parent / "app ").mkdir()
    (app.parent / "link").symlink_to(app.parent / "app ")

    assert await look(store, project, app.parent / "link") == [app]


async def test_a_directory_that_is_tied_to_the_project_is_found_where_the_mode_ties_it(store: Store, app: Path) -> None:
    git(app, "init", "-q", "-b", "trunk")
    write(app, "main.py")
    commit(app)
    git(app, "worktree", "add", "-q", str(app.with_name("feature")))
    mode = IdentityMode.GIT_COMMON_DIR
    project = await project_at(store, app)
    tie = identify(WorkspaceIdentities().facts(str(app)), mode).tie
    assert tie is not None
    await store.write(lambda tx: tx.aliases.add(project.id, tie, AliasKind.TIE, tx.now))
    feature = app.with_name("feature")

    assert await look(store, project, feature, mode) == [feature, app]
    assert await look(store, project, feature) == [app]
    feature.with_name("feature ").mkdir()
    feature.with_name("link").symlink_to(feature.with_name("feature "))
    assert await look(store, project, feature.with_name("link"), mode) == [app]
    assert await look(store, project, app.with_name("other"), mode) == [app]
