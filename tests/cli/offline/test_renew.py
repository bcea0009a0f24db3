from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.cli.offline.renew import renew_offline
from mcp_agent_mail.cli.offline.store_lock import StoreOccupied
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.archiving.renew import NothingToRenew
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.cli.conftest import Post
from tests.cli.shell import Shell


@pytest.fixture
def settings(at_stopped: Shell) -> Settings:
    return at_stopped.context().settings


@pytest.fixture
def archive(stopped_post: Post) -> Path:
    """Of a project with mail."""
    return stopped_post.archive()


def letters(archive: Path) -> set[str]:
    return {path.name for path in archive.glob("messages/2*/**/*.md")}


def test_a_lost_archive_is_written_again(settings: Settings, archive: Path, stopped_post: Post) -> None:
    before = letters(archive)
    shutil.rmtree(archive)

    renewed = renew_offline(settings, stopped_post.project)

    assert renewed == {
        "project": archive.name,
        "path": str(archive),
        "events": renewed["events"],
        "problem": None,
    }
    assert renewed["events"] > 3
    assert letters(archive) == before
    assert len(before) == 3


def test_what_could_not_be_written_is_told_and_stays_queued(
    archive: Path, at_stopped: Shell, stopped_post: Post
) -> None:
    shutil.rmtree(archive.parent)
    archive.parent.write_text("no folder")

    done = at_stopped.am("archive", "renew", stopped_post.project)
    told = dict(done.lines())
    archive.parent.unlink()
    at_stopped.call("set_status", project_key=stopped_post.project, agent_name="BlueLake", status="busy")

    assert (done.code, told["project"]) == (1, archive.name)
    assert str(archive) in told["problem"]
    assert len(letters(archive)) == 3


def test_what_fails_in_another_archive_is_not_this_ones_problem(
    settings: Settings, archive: Path, at_stopped: Shell, stopped_post: Post
) -> None:
    in_the_way = archive.parent / at_stopped.call("ensure_project", human_key="/code/other")["slug"]
    shutil.rmtree(in_the_way)
    in_the_way.write_text("no folder")
    at_stopped.call("register_agent", project_key="/code/other", name="GrayFox", program="t", model="t")
    shutil.rmtree(archive)

    renewed = renew_offline(settings, stopped_post.project)

    assert renewed["problem"] is None
    assert len(letters(archive)) == 3


def test_an_archive_that_is_whole_is_left_alone(settings: Settings, stopped_post: Post) -> None:
    with pytest.raises(NothingToRenew):
        renew_offline(settings, stopped_post.project)


def test_beside_a_server_and_for_an_unknown_project_it_is_refused(settings: Settings) -> None:
    with StoreLock(settings.storage_root, settings.database_path), pytest.raises(StoreOccupied):
        renew_offline(settings, "/code/nowhere")
    with pytest.raises(NotFound):
        renew_offline(settings, "/code/nowhere")


def test_without_a_store_there_is_nothing_to_renew(shell: Shell) -> None:
    done = shell.am("archive", "renew", "/code/app")

    assert done.code == 69
    assert done.err.startswith(f"Error (UNAVAILABLE): There is no store in {shell.home}/.mcp_agent_mail.")
    assert list(shell.home.iterdir()) == []
