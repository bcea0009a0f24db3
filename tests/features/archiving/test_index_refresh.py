"""Indexes are refreshed beside commits: a Git that hangs there holds up nothing else."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.index_refresh import LOOK_S
from tests.archive_harness import LOOKS, ArchiveHarness, git, sealed_seqs


@pytest.fixture
def hanging(tmp_path: Path) -> Path:
    """A Git whose refresh of the index never ends in the archive of `hung`."""
    place = tmp_path / "hanging"
    place.mkdir()
    script = place / "git"
    script.write_text(
        "#!/bin/sh\n"
        'case "$*" in *projects/code-hung/*update-index*) sleep 600;; esac\n'
        'PATH="${PATH#*:}" exec git "$@"\n'
    )
    script.chmod(0o755)
    return place


def add(harness: ArchiveHarness, path: str) -> Project:
    project = harness.add_project(path)
    blue, red = (harness.add_agent(project, name) for name in ("BlueLake", "RedStone"))
    harness.send(blue, [red])
    return project


def refresh_until_clean(harness: ArchiveHarness, drain: Drain, path: Path) -> None:
    """That Git runs at low priority: as many looks, with a pause, as the machine may need."""
    for _ in range(LOOKS):
        if git(path, "status", "--porcelain") == "":
            return
        drain.step()
        threading.Event().wait(LOOK_S)
    raise AssertionError(harness.reports)


def write(harness: ArchiveHarness, drain: Drain) -> None:
    """Everything pending, at its pace."""
    for _ in range(3):
        drain.step()
        harness.clock.step(0.6)


def test_a_refresh_that_hangs_holds_up_no_commit_and_no_other_archive(
    harness: ArchiveHarness, hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung, fine = add(harness, "/code/hung"), add(harness, "/code/fine")
    agents = {agent.name: agent for agent in harness.tx.agents.list_(hung.id, include_retired=True, limit=10)}
    monkeypatch.setenv("PATH", f"{hanging}:{os.environ['PATH']}")
    with harness.drain() as drain:
        write(harness, drain)
        harness.clock.step(3)
        drain.step()
        harness.send(agents["BlueLake"], [agents["RedStone"]], subject="Meanwhile")
        write(harness, drain)
        refresh_until_clean(harness, drain, harness.path(fine))
        wait = drain.step()
        left = drain.flush(Micros(harness.clock() + SECOND // 2))

    assert left == 0
    assert wait is not None
    assert wait <= LOOK_S
    assert len(sealed_seqs(harness.path(hung))) == 2
    assert git(harness.path(fine), "status", "--porcelain") == ""
    assert "cannot refresh the index" in harness.failures[-1].message
    assert harness.failures[-1].part == "index"


def test_a_stop_in_the_middle_of_a_refresh_leaves_it_to_the_next_start(
    harness: ArchiveHarness, hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = add(harness, "/code/hung")
    with monkeypatch.context() as slow, harness.drain() as drain:
        slow.setenv("PATH", f"{hanging}:{os.environ['PATH']}")
        write(harness, drain)
        harness.clock.step(3)
        drain.step()

    harness.archive()

    assert git(harness.path(hung), "status", "--porcelain") == ""
    assert harness.verify().findings == ()


def test_an_archive_that_is_opened_anew_ends_its_refresh_first(
    harness: ArchiveHarness, hanging: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = add(harness, "/code/hung")
    agents = {agent.name: agent for agent in harness.tx.agents.list_(hung.id, include_retired=True, limit=10)}
    with harness.drain() as drain:
        with monkeypatch.context() as slow:
            slow.setenv("PATH", f"{hanging}:{os.environ['PATH']}")
            write(harness, drain)
            harness.clock.step(3)
            drain.step()
        harness.path(hung).rename(tmp_path / "away")
        harness.send(agents["BlueLake"], [agents["RedStone"]])
        write(harness, drain)
        drain.step()
        was_running = any(seat.committer._tidy.is_running for seat in drain._kept.values())
        (tmp_path / "away").rename(harness.path(hung))
        harness.clock.step(120)
        write(harness, drain)
        harness.clock.step(3)
        harness.tidy(drain)

    assert not was_running
    assert git(harness.path(hung), "status", "--porcelain") == ""
    assert harness.verify().findings == ()
