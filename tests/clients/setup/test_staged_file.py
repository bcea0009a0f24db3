from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
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


def at_the_first_lock(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Something happens between the opening of a file and the try to lock it."""
    lock = fcntl.flock
    coming = [happens]

    def lock_late(descriptor: int, operation: int) -> None:
        if coming:
            coming.pop()()
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", lock_late)


def test_who_was_taken_for_a_rest_before_it_had_its_lock_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".env"
    at_the_first_lock(monkeypatch, lambda: remove_left(path))

    with staged_alone(path, patience_s=0) as descriptor:
        is_there = os.path.samestat(os.fstat(descriptor), staged_at(path).lstat())

    assert is_there


def test_what_is_found_and_made_anothers_before_it_is_locked_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".env"
    staged_at(path).write_text("first")

    def end_and_begin() -> None:
        staged_at(path).replace(path)
        staged_at(path).write_text("second")

    at_the_first_lock(monkeypatch, end_and_begin)
    remove_left(path)

    assert (path.read_text(), staged_at(path).read_text()) == ("first", "second")


def test_where_the_file_system_knows_no_locks_a_file_is_made_and_nothing_found_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    path = tmp_path / ".env"
    monkeypatch.setattr(fcntl, "flock", refuse)

    with staged_alone(path, patience_s=0):
        remove_left(path)
        is_there = staged_at(path).exists()

    assert is_there
    assert not staged_at(path).exists()
