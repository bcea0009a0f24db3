"""One file for each inbox with unread mail: whole or not there, whatever lies in its place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import parse_time
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.signals import NewestUnread, UnreadInbox
from mcp_agent_mail.notify.signal_files import SignalFiles


@pytest.fixture
def files(tmp_path: Path) -> SignalFiles:
    return SignalFiles(tmp_path / "signals", with_metadata=True)


@pytest.fixture
def place(files: SignalFiles) -> Path:
    return files.root / "projects" / "code-app" / "agents" / "RedStone.signal"


def _inbox(newest: int | None, *, agent: str = "RedStone") -> UnreadInbox:
    message = newest and NewestUnread(
        id=newest,
        sender="BlueLake",
        subject="caf\u00e9",
        importance="normal",
        delivered_ts=parse_time("2027-01-15T08:00:00Z"),
    )
    return UnreadInbox(agent_id=AgentId(1), agent=agent, project_slug="code-app", newest=message or None)


def test_a_file_says_what_is_unread_and_is_its_owners_alone(files: SignalFiles, place: Path) -> None:
    shown = files.show(_inbox(7))

    assert shown is True
    assert json.loads(place.read_bytes()) == {
        "timestamp": "2027-01-15T08:00:00.000000+00:00",
        "project": "code-app",
        "agent": "RedStone",
        "message": {"id": 7, "from": "BlueLake", "subject": "caf\u00e9", "importance": "normal"},
    }
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [path.name for path in place.parent.iterdir()] == ["RedStone.signal"]


def test_without_metadata_it_names_no_message(files: SignalFiles, place: Path) -> None:
    SignalFiles(files.root, with_metadata=False).show(_inbox(7))

    assert sorted(json.loads(place.read_bytes())) == ["agent", "project", "timestamp"]


def test_what_says_so_already_is_left_and_a_newer_one_comes_whole(files: SignalFiles, place: Path) -> None:
    files.show(_inbox(7))
    before = place.stat().st_ino

    again, same = files.show(_inbox(7)), place.stat().st_ino
    newer = files.show(_inbox(8))

    assert (again, same, newer) == (False, before, True)
    assert place.stat().st_ino != before


def test_it_goes_with_the_last_unread_message(files: SignalFiles, place: Path) -> None:
    before = files.show(_inbox(None))
    files.show(_inbox(7))

    gone, again = files.show(_inbox(None)), files.show(_inbox(None))

    assert (before, gone, again) == (False, True, False)
    assert not place.exists()


def test_where_a_file_lies_in_the_way_there_is_no_signal_to_take_away(files: SignalFiles) -> None:
    files.root.write_text("in the way")

    assert files.show(_inbox(None)) is False
    with pytest.raises(NotADirectoryError):
        files.show(_inbox(7))


def test_a_link_in_its_place_is_replaced_and_not_followed(files: SignalFiles, place: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    place.parent.mkdir(parents=True)
    place.symlink_to(target)
    place.with_name(".RedStone.signal.new").symlink_to(target)

    files.show(_inbox(7))

    assert target.read_text() == "precious"
    assert not place.is_symlink()


@pytest.mark.parametrize("name", ["RedStone.signal", ".RedStone.signal.new"])
def test_a_pipe_in_its_place_is_replaced_and_holds_up_nobody(files: SignalFiles, place: Path, name: str) -> None:
    place.parent.mkdir(parents=True)
    os.mkfifo(place.with_name(name))

    files.show(_inbox(7))

    assert json.loads(place.read_bytes())["agent"] == "RedStone"
    assert [path.name for path in place.parent.iterdir()] == ["RedStone.signal"]


def test_what_a_killed_server_left_half_written_is_replaced(files: SignalFiles, place: Path) -> None:
    place.parent.mkdir(parents=True)
    place.with_name(".RedStone.signal.new").write_text("half")

    files.show(_inbox(7))

    assert [path.name for path in place.parent.iterdir()] == ["RedStone.signal"]


def test_a_folder_in_its_place_is_told_and_nothing_is_left_beside(files: SignalFiles, place: Path) -> None:
    place.mkdir(parents=True)

    with pytest.raises(IsADirectoryError):
        files.show(_inbox(7))

    assert [path.name for path in place.parent.iterdir()] == ["RedStone.signal"]


def test_a_name_that_may_not_be_part_of_a_path_is_refused(files: SignalFiles) -> None:
    with pytest.raises(ValueError, match="no names of files"):
        files.show(_inbox(7, agent="../../etc"))

    assert not files.root.exists()
