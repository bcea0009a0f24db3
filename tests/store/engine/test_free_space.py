from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from mcp_agent_mail.core.disk_space import DiskFull
from mcp_agent_mail.core.git.process import GitDiskFull, GitFailed
from mcp_agent_mail.store.engine import free_space
from mcp_agent_mail.store.engine.free_space import told_when_full


def _io_error() -> sqlite3.Error:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    return error


def _raised(error: Exception) -> Exception:
    """As closing raises: another error, while the first one is handled."""
    try:
        try:
            raise error
        finally:
            raise ValueError("while closing")
    except ValueError as later:
        return later


_FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("error", "free", "is_told"),
    [
        (_FULL, 10**9, True),
        (ExceptionGroup("tasks", [ValueError("other"), ExceptionGroup("within", [_FULL])]), 10**9, True),
        (_raised(_FULL), 10**9, True),
        (_io_error(), 8_192, True),
        (ExceptionGroup("tasks", [_io_error()]), 0, True),
        (GitDiskFull("no room"), 10**9, True),
        (_raised(GitDiskFull("no room")), 10**9, True),
        (GitFailed("damaged"), 0, False),
        (_io_error(), 10**9, False),
        (sqlite3.IntegrityError("broken"), 0, False),
        (ValueError("other"), 0, False),
    ],
)
def test_want_of_room_is_told_whatever_it_comes_wrapped_in(
    error: Exception, free: int, is_told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(free_space, "free_bytes", lambda _: free)

    with pytest.raises(DiskFull if is_told else type(error)) as raised, told_when_full(tmp_path):
        raise error

    assert is_told or raised.value is error


def _in_a_circle() -> Exception:
    one, other = ValueError("one"), ValueError("other")
    one.__context__, other.__context__ = other, one
    return one


def test_causes_that_go_in_a_circle_are_each_looked_at_once(tmp_path: Path) -> None:
    error = _in_a_circle()

    with pytest.raises(ValueError, match="one"), told_when_full(tmp_path):
        raise error


def test_where_nothing_fails_nothing_is_looked_at(tmp_path: Path) -> None:
    with told_when_full(tmp_path):
        (tmp_path / "file").touch()

    assert (tmp_path / "file").exists()


def test_who_is_told_learns_the_disk_the_place_and_the_next_step(tmp_path: Path) -> None:
    place = tmp_path / "not" / "there" / "yet"

    with pytest.raises(DiskFull) as told, told_when_full(place):
        raise _FULL

    data = told.value.data
    assert data["path"] == str(place)
    assert os.path.ismount(data["disk"])
    assert tmp_path.resolve().is_relative_to(data["disk"])
    assert data["free_mib"] == pytest.approx(shutil.disk_usage(tmp_path).free / 2**20, rel=0.5)
    assert told.value.message.startswith(f"The disk mounted at {data['disk']}, which holds {place}, is full")
    assert f"du -xh {data['disk']}" in told.value.hint
    assert "STORAGE_ROOT" in told.value.hint


def test_of_several_places_the_one_with_the_least_room_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = {tmp_path / "roomy": 10**9, tmp_path / "tight": 100}
    monkeypatch.setattr(free_space, "free_bytes", free.__getitem__)

    with pytest.raises(DiskFull) as told, told_when_full(*free):
        raise _io_error()

    assert told.value.data["path"] == str(tmp_path / "tight")
