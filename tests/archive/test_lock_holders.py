"""Who holds a lock, as the kernel tells it; only a dead archiver's Git is ended."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.archive.lock_holders import LockHolder, end_orphans, holders, named

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only there the kernel tells")


@contextmanager
def _child(lock_file: Path, *, locked: bool = True) -> Iterator[int]:
    """A child of ours that has the file open, and its lock if it is `locked`."""
    with lock_file.open("w") as file:
        if locked:
            fcntl.flock(file, fcntl.LOCK_EX)
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(file.fileno(),))
        with child:
            yield child.pid


@contextmanager
def _orphan(lock_file: Path, *, in_a_group_of_its_own: bool) -> Iterator[int]:
    """A process with the lock whose parent has ended."""
    with lock_file.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = ["sh", "-c", "sleep 600 >/dev/null & echo $!"]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            pass_fds=(file.fileno(),),
            start_new_session=in_a_group_of_its_own,
            check=True,
        )
    orphan = int(done.stdout)
    try:
        yield orphan
    finally:
        _kill(orphan)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def test_the_others_that_hold_it_are_told_with_their_programs(tmp_path: Path) -> None:
    with _child(tmp_path / "lock") as child:
        found = holders(tmp_path / "lock")

    assert found == [LockHolder(pid=child, command="cat")]
    assert (named(found), named([])) == (f"process {child} (cat)", "another process")


def test_who_merely_has_the_file_open_holds_nothing(tmp_path: Path) -> None:
    with _child(tmp_path / "lock", locked=False):
        assert holders(tmp_path / "lock") == []


def test_who_holds_another_lock_or_is_another_user_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").touch()
    with _child(tmp_path / "lock"):
        of_another_file = holders(tmp_path / "other")
        monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
        of_another_user = holders(tmp_path / "lock")

    assert (of_another_file, of_another_user) == ([], [])


def test_a_link_to_the_file_is_the_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("lock")
    with _child(tmp_path / "lock") as child:
        assert [holder.pid for holder in holders(tmp_path / "link")] == [child]


def test_what_we_have_started_is_spared(tmp_path: Path) -> None:
    with _child(tmp_path / "lock") as child:
        ended = end_orphans(tmp_path / "lock")
        still_there = [holder.pid for holder in holders(tmp_path / "lock")]

    assert (ended, still_there) == ([], [child])


@pytest.mark.parametrize("in_a_group_of_its_own", [True, False])
def test_what_a_dead_archiver_left_is_ended_and_nobody_else(tmp_path: Path, in_a_group_of_its_own: bool) -> None:
    with _orphan(tmp_path / "lock", in_a_group_of_its_own=in_a_group_of_its_own) as orphan:
        ended = end_orphans(tmp_path / "lock")

        assert ended == [LockHolder(pid=orphan, command="sleep")]
        with (tmp_path / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
