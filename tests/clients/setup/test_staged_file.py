from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.staged_file import FileBusy, FileNotWritable, remove_left, staged_alone, staged_at


def test_the_second_is_refused_while_the_first_is_at_it_and_the_file_is_the_first_ones(tmp_path: Path) -> None:
    path = tmp_path / ".env"

    with staged_alone(path) as descriptor:
        os.write(descriptor, b"first")
        with pytest.raises(FileBusy, match="another command is writing it") as busy, staged_alone(path, patience_s=0):
            pass
        remove_left(path)
        held = staged_at(path).read_bytes()

    assert held == b"first"
    assert "rm " in busy.value.hint
    assert list(tmp_path.iterdir()) == []


def test_what_a_kill_has_left_goes_whatever_it_is_and_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    path, others = tmp_path / "a.json", tmp_path / "others"
    others.write_text("others'")

    for leave in (
        lambda: staged_at(path).write_text("half"),
        lambda: staged_at(path).symlink_to(others),
        lambda: staged_at(path).hardlink_to(others),
        lambda: os.mkfifo(staged_at(path)),
    ):
        leave()
        with staged_alone(path, patience_s=0) as descriptor:
            os.write(descriptor, b"new")
        leave()
        remove_left(path)

    assert [one.name for one in tmp_path.iterdir()] == ["others"]
    assert others.read_text() == "others'"


def test_what_has_its_name_is_not_taken_away_again(tmp_path: Path) -> None:
    path = tmp_path / "a.json"

    with staged_alone(path):
        staged_at(path).replace(path)
        with staged_alone(path, patience_s=0):
            pass

    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_a_folder_that_has_its_name_is_named_and_stays(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    staged_at(path).mkdir()

    with pytest.raises(FileNotWritable, match="is in the way") as refused, staged_alone(path, patience_s=0):
        pass
    remove_left(path)

    assert str(staged_at(path)) in refused.value.message
    assert not isinstance(refused.value, FileBusy)
    assert staged_at(path).is_dir()
