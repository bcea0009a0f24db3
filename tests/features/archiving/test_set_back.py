"""A branch that somebody moves under a running archiver: set back, nothing is written on top; put right, it goes on."""

from __future__ import annotations

import shutil

import pytest

from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.protocol import Recovered
from tests.archive_harness import ArchiveHarness, git, sealed_seqs


def add(harness: ArchiveHarness) -> tuple[Project, Agent, Agent]:
    project = harness.add_project("/code/app")
    blue, red = (harness.add_agent(project, name) for name in ("BlueLake", "RedStone"))
    return project, blue, red


def commit(harness: ArchiveHarness, drain: Drain) -> None:
    """Everything pending, at its pace; a pause after a failure is over too."""
    for _ in range(3):
        harness.clock.step(0.6)
        drain.step()


def be_quiet(harness: ArchiveHarness, drain: Drain) -> None:
    harness.clock.step(3)
    harness.tidy(drain)


@pytest.mark.parametrize("is_packed", [False, True], ids=["loose", "packed"])
@pytest.mark.parametrize("is_whole", [False, True], ids=["before-the-index-follows", "after"])
def test_a_branch_set_back_is_not_written_to_until_it_is_put_right(
    harness: ArchiveHarness, is_whole: bool, is_packed: bool
) -> None:
    project, blue, red = add(harness)
    path = harness.path(project)
    with harness.drain() as drain:
        commit(harness, drain)
        harness.send(blue, [red], subject="Important")
        commit(harness, drain)
        right = git(path, "rev-parse", "main").strip()
        if is_whole:
            be_quiet(harness, drain)
        git(path, "reset", "--quiet", "--hard", "HEAD~1")
        if is_packed:
            git(path, "pack-refs", "--all", "--prune")
        wrong = git(path, "rev-parse", "main")
        harness.send(blue, [red], subject="Later")
        commit(harness, drain)
        after = git(path, "rev-parse", "main")
        told = harness.failures[-1]
        git(path, "reset", "--quiet", "--hard", right)
        harness.clock.step(60)
        commit(harness, drain)

    assert after == wrong
    assert "it was set back, or is older" in told.message
    assert "am doctor repair" in told.hint
    assert harness.archive() == 0
    assert harness.verify().findings == ()


def test_an_older_copy_of_all_files_put_into_the_same_place_is_not_written_to(harness: ArchiveHarness) -> None:
    project, blue, red = add(harness)
    path = harness.path(project)
    with harness.drain() as drain:
        commit(harness, drain)
        be_quiet(harness, drain)
        shutil.copytree(path, harness.root / "backup")
        harness.send(blue, [red], subject="Important")
        commit(harness, drain)
        be_quiet(harness, drain)
        for entry in (path / ".git").iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        shutil.copytree(harness.root / "backup" / ".git", path / ".git", dirs_exist_ok=True)
        wrong = git(path, "rev-parse", "main")
        harness.send(blue, [red], subject="Later")
        commit(harness, drain)

    assert git(path, "rev-parse", "main") == wrong
    assert "it was set back, or is older" in harness.failures[-1].message


def test_it_is_told_by_what_follows_a_commit_without_further_mail(harness: ArchiveHarness) -> None:
    project, blue, red = add(harness)
    path = harness.path(project)
    with harness.drain() as drain:
        commit(harness, drain)
        harness.send(blue, [red])
        commit(harness, drain)
        git(path, "reset", "--quiet", "--hard", "HEAD~1")
        harness.clock.step(3)
        drain.step()
        told = list(harness.failures)
        git(path, "reset", "--quiet", "--hard", "ORIG_HEAD")
        harness.clock.step(60)
        drain.step()
        be_quiet(harness, drain)

    assert "it was set back, or is older" in told[-1].message
    assert any(isinstance(report, Recovered) for report in harness.reports)
    assert harness.verify().findings == ()


def test_set_back_in_the_last_moment_before_a_commit_nothing_is_lost(harness: ArchiveHarness) -> None:
    project, blue, red = add(harness)
    path = harness.path(project)
    is_wanted = False

    def set_back(point: FailPoint) -> None:
        if is_wanted and point is FailPoint.BEFORE_IMPORT:
            git(path, "update-ref", "refs/heads/main", "main~1")

    with harness.drain(set_back) as drain:
        commit(harness, drain)
        harness.send(blue, [red], subject="Important")
        commit(harness, drain)
        is_wanted = True
        harness.send(blue, [red], subject="Later")
        commit(harness, drain)
        is_wanted = False

    assert harness.archive() == 0
    assert len(sealed_seqs(path)) == 3
    assert harness.verify().findings == ()


def test_a_commit_of_a_person_in_that_moment_stays_and_ours_follows(harness: ArchiveHarness) -> None:
    project, blue, red = add(harness)
    path = harness.path(project)
    is_wanted = False

    def add_note(point: FailPoint) -> None:
        nonlocal is_wanted
        if is_wanted and point is FailPoint.BEFORE_IMPORT:
            is_wanted = False
            (path / "NOTES.md").write_text("mine")
            git(path, "add", "NOTES.md")
            git(path, "commit", "--quiet", "-m", "mine", "--", "NOTES.md")

    with harness.drain(add_note) as drain:
        commit(harness, drain)
        be_quiet(harness, drain)
        is_wanted = True
        harness.send(blue, [red])
        commit(harness, drain)
        harness.clock.step(60)
        commit(harness, drain)

    assert git(path, "show", "main:NOTES.md") == "mine"
    assert len(sealed_seqs(path)) == 2
    assert harness.verify().findings == ()


@pytest.mark.parametrize("is_packed", [False, True], ids=["loose", "packed"])
def test_where_the_branch_stands_is_read_without_git(
    harness: ArchiveHarness, is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _, _ = add(harness)
    harness.archive()
    repository = ArchiveRepository(harness.path(project))
    tip = repository.tip()
    if is_packed:
        git(harness.path(project), "pack-refs", "--all", "--prune")
    monkeypatch.setattr(ArchiveRepository, "tip", lambda _: None)

    assert repository.stands_at(tip)
    assert not repository.stands_at("0" * 40)
