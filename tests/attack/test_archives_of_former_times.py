"""An archive that lies in its project whole, Git directory and all, as they did formerly: who can write to the project
could write into that directory. It is moved into the store as data, or refused."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.archive import relocation
from mcp_agent_mail.archive.relocation import MOVING_FOLDER
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER
from mcp_agent_mail.features.archiving.renew import RenewedArchive, renew_archive
from mcp_agent_mail.store.database import Store
from tests.archive_harness import ArchiveHarness, git, write


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    return tmp_path / "code" / ".mcp-mail"


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that says that it was run."""
    program = tmp_path / "trap"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    program.chmod(0o755)
    return program


def fill(harness: ArchiveHarness, work_tree: Path) -> Project:
    project = harness.add_project(str(work_tree.parent))
    blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
    harness.send(blue, [red])
    harness.archive()
    return project


def make_former(harness: ArchiveHarness, project: Project, work_tree: Path) -> Path:
    """As it was laid out formerly; the link to it in the store."""
    link = harness.root / PROJECTS_FOLDER / project.slug
    (work_tree / ".git").unlink()
    (link / ".git").rename(work_tree / ".git")
    link.rmdir()
    link.symlink_to(work_tree)
    git(work_tree, "config", "--unset", "core.worktree")
    (work_tree / ".git/agent-mail/work-tree").unlink()
    shutil.rmtree(work_tree / ".git/info")
    return link


def mail_in(archive: Path) -> int:
    return len(list(archive.glob("messages/*/*/*/*.md")))


def test_it_is_moved_at_start_and_gone_on_with(harness: ArchiveHarness, work_tree: Path) -> None:
    project = fill(harness, work_tree)
    link = make_former(harness, project, work_tree)
    git(work_tree, "gc", "-q")
    tip = git(work_tree, "rev-parse", "main")

    harness.archive()

    assert not link.is_symlink()
    assert git(link, "rev-parse", "main") == tip
    assert (work_tree / ".git").read_text() == f"gitdir: {link}/.git\n"
    assert (work_tree / ".git.set-aside" / "HEAD").is_file()
    assert list((harness.root / MOVING_FOLDER).iterdir()) == []
    write(harness, project)
    assert harness.archive() == 0
    assert harness.failures == []
    assert mail_in(work_tree) == 2
    assert git(work_tree, "status", "--porcelain") == ""
    assert git(link, "fsck", "--strict") == ""
    assert harness.verify().findings == ()


def test_months_that_were_put_away_stay_away(harness: ArchiveHarness, work_tree: Path) -> None:
    harness.max_tracked_files = 5
    project = fill(harness, work_tree)
    harness.clock.step(200 * 86_400)
    write(harness, project)
    harness.archive()
    shown = mail_in(work_tree)
    make_former(harness, project, work_tree)

    harness.archive()
    harness.archive()

    assert shown == mail_in(work_tree) == 1
    assert harness.failures == []
    assert git(work_tree, "status", "--porcelain") == ""
    assert harness.verify().findings == ()


def test_nothing_but_objects_and_the_branch_is_taken(harness: ArchiveHarness, work_tree: Path, trap: Path) -> None:
    project = fill(harness, work_tree)
    link = make_former(harness, project, work_tree)
    for name in ("core.fsmonitor", "core.sshCommand", "filter.trap.clean", "filter.trap.smudge", "core.pager"):
        git(work_tree, "config", name, str(trap))
    git(work_tree, "config", "extensions.worktreeConfig", "true")
    (work_tree / ".git/config.worktree").write_text(f'[core]\n\tfsmonitor = "{trap}"\n')
    (work_tree / ".git/info").mkdir()
    (work_tree / ".git/info/attributes").write_text("* filter=trap\n")
    (work_tree / ".git/info/grafts").write_text("")
    hooks = work_tree / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "post-commit", "pre-auto-gc"):
        shutil.copy2(trap, hooks / hook)
    for letter in work_tree.glob("messages/*/*/*/*.md"):
        os.utime(letter, (1, 1))
    write(harness, project)

    assert harness.archive() == 0

    assert not trap.with_name("ran").exists()
    assert "trap" not in (link / ".git/config").read_text()
    assert not (link / ".git/config.worktree").exists()
    assert not (link / ".git/hooks").exists()
    assert harness.verify().findings == ()


def of_another(git_path: Path) -> None:
    shutil.rmtree(git_path)
    git(git_path.parent, "init", "-q", "-b", "main")
    git(git_path.parent, "commit", "-q", "--allow-empty", "-m", "Theirs")


def test_one_that_somebody_changed_is_refused_by_name(harness: ArchiveHarness, work_tree: Path) -> None:
    project = fill(harness, work_tree)
    link = make_former(harness, project, work_tree)
    of_another(work_tree / ".git")
    write(harness, project)

    assert harness.archive() == 1

    failure = harness.failures[0]
    assert f"{work_tree} is not taken for the archive" in failure.message
    assert "am doctor repair" in failure.hint
    assert link.is_symlink()
    assert list((harness.root / MOVING_FOLDER).iterdir()) == []


def with_many_files(git_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (git_path / "objects/pack" / f"tmp_{number}").touch()
    monkeypatch.setattr(relocation, "MOST_FILES", 20)


def test_one_that_has_no_room_in_the_store_is_left_where_it_is_until_it_has(
    harness: ArchiveHarness, work_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = fill(harness, work_tree)
    link = make_former(harness, project, work_tree)
    write(harness, project)
    with monkeypatch.context() as planted:
        with_many_files(work_tree / ".git", planted)
        left = harness.archive()
        was_link = link.is_symlink()
        moved = list((harness.root / MOVING_FOLDER).iterdir())
    for planted_file in list(work_tree.glob(".git/objects/pack/tmp_*")):
        planted_file.unlink()

    assert (left, was_link, moved) == (1, True, [])
    assert "more than 20 files" in harness.failures[0].message
    assert "free some space" in harness.failures[0].hint
    assert harness.archive() == 0
    assert harness.verify().findings == ()


def test_one_that_was_refused_is_written_again_as_it_is_told(harness: ArchiveHarness, work_tree: Path) -> None:
    project = fill(harness, work_tree)
    link = make_former(harness, project, work_tree)
    of_another(work_tree / ".git")
    harness.archive()

    async def renew() -> RenewedArchive:
        async with Store(harness.database) as store:
            return await renew_archive(store, harness.settings, project)

    work_tree.rename(work_tree.with_name("away"))
    link.unlink()
    renewed = asyncio.run(renew())

    assert renewed.failed == []
    assert mail_in(work_tree) == 1
    assert harness.verify().findings == ()


def test_a_move_that_was_cut_off_is_finished_or_begun_again(harness: ArchiveHarness, work_tree: Path) -> None:
    project = fill(harness, work_tree)
    link = make_former(harness, project, work_tree)
    half = harness.root / MOVING_FOLDER / f"{project.slug}.half"
    (half / ".git").mkdir(parents=True)
    harness.archive()
    moving = harness.root / MOVING_FOLDER / project.slug
    link.rename(moving)
    write(harness, project)

    assert harness.archive() == 0

    assert not half.exists()
    assert not moving.exists()
    assert mail_in(work_tree) == 2
    assert harness.verify().findings == ()


def test_readers_run_no_git_there_before_it_is_moved(harness: ArchiveHarness, work_tree: Path) -> None:
    project = fill(harness, work_tree)
    make_former(harness, project, work_tree)
    shutil.rmtree(work_tree / ".git/objects")
    for name in ("months", "work-tree", "open"):
        (work_tree / ".git/agent-mail" / name).unlink(missing_ok=True)
        os.mkfifo(work_tree / ".git/agent-mail" / name)

    findings = harness.verify().findings

    assert [(finding.check, finding.problem) for finding in findings] == [("archive", "missing")]
