"""Indexes are refreshed beside commits: a Git that hangs there holds up nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.index_refresh import LOOK_S
from tests.archive_room import LOOKS, ArchiveRoom, git, open_archive_room, sealed_seqs


@pytest.fixture
def room(tmp_path: Path) -> Iterator[ArchiveRoom]:
    with open_archive_room(tmp_path) as opened:
        yield opened


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


def add(room: ArchiveRoom, path: str) -> Project:
    project = room.add_project(path)
    blue, red = (room.add_agent(project, name) for name in ("BlueLake", "RedStone"))
    room.send(blue, [red])
    return project


def refresh_until_clean(room: ArchiveRoom, drain: Drain, path: Path) -> None:
    """That Git runs at low priority: as many looks, with a pause, as the machine may need."""
    for _ in range(LOOKS):
        if git(path, "status", "--porcelain") == "":
            return
        drain.step()
        threading.Event().wait(LOOK_S)
    raise AssertionError(room.reports)


def write(room: ArchiveRoom, drain: Drain) -> None:
    """Everything pending, at its pace."""
    for _ in range(3):
        drain.step()
        room.clock.step(0.6)


def test_a_refresh_that_hangs_holds_up_no_commit_and_no_other_archive(
    room: ArchiveRoom, hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung, fine = add(room, "/code/hung"), add(room, "/code/fine")
    agents = {agent.name: agent for agent in room.tx.agents.list_(hung.id, include_retired=True, limit=10)}
    monkeypatch.setenv("PATH", f"{hanging}:{os.environ['PATH']}")
    with room.drain() as drain:
        write(room, drain)
        room.clock.step(3)
        drain.step()
        room.send(agents["BlueLake"], [agents["RedStone"]], subject="Meanwhile")
        write(room, drain)
        refresh_until_clean(room, drain, room.path(fine))
        wait = drain.step()
        left = drain.flush(Micros(room.clock() + SECOND // 2))

    assert left == 0
    assert wait is not None
    assert wait <= LOOK_S
    assert len(sealed_seqs(room.path(hung))) == 2
    assert git(room.path(fine), "status", "--porcelain") == ""
    assert "cannot refresh the index" in room.failures[-1].message
    assert room.failures[-1].part == "index"


def test_a_stop_in_the_middle_of_a_refresh_leaves_it_to_the_next_start(
    room: ArchiveRoom, hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = add(room, "/code/hung")
    with monkeypatch.context() as slow, room.drain() as drain:
        slow.setenv("PATH", f"{hanging}:{os.environ['PATH']}")
        write(room, drain)
        room.clock.step(3)
        drain.step()

    room.archive()

    assert git(room.path(hung), "status", "--porcelain") == ""
    assert room.verify().findings == ()


def test_an_archive_that_is_opened_anew_ends_its_refresh_first(
    room: ArchiveRoom, hanging: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = add(room, "/code/hung")
    agents = {agent.name: agent for agent in room.tx.agents.list_(hung.id, include_retired=True, limit=10)}
    with room.drain() as drain:
        with monkeypatch.context() as slow:
            slow.setenv("PATH", f"{hanging}:{os.environ['PATH']}")
            write(room, drain)
            room.clock.step(3)
            drain.step()
        room.path(hung).rename(tmp_path / "away")
        room.send(agents["BlueLake"], [agents["RedStone"]])
        write(room, drain)
        drain.step()
        was_running = any(seat.committer._tidy.is_running for seat in drain._kept.values())
        (tmp_path / "away").rename(room.path(hung))
        room.clock.step(120)
        write(room, drain)
        room.clock.step(3)
        room.tidy(drain)

    assert not was_running
    assert git(room.path(hung), "status", "--porcelain") == ""
    assert room.verify().findings == ()
