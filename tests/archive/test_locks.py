from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.archive import locks
from mcp_agent_mail.archive.locks import ArchiveLock, ArchivesBusy
from mcp_agent_mail.core.plain_files import UnfitPlace

HOLDER = """
import os, subprocess, sys
from pathlib import Path
from mcp_agent_mail.archive import locks
from mcp_agent_mail.archive.locks import ArchiveLock
with ArchiveLock(Path(sys.argv[1]), timeout_s=0) as lock:
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(lock.fd,))
    print(child.pid, flush=True)
    sys.stdin.read()
"""


@contextmanager
def orphan_of_a_killed_holder(lock_file: Path) -> Iterator[int]:
    """A stopped Git, as it were, which holds the lock though who started it is dead; its process id."""
    command = [sys.executable, "-c", HOLDER, str(lock_file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        orphan = int(holder.stdout.readline())
        os.kill(orphan, signal.SIGSTOP)  # It reads from a pipe of its parent, and would end with it.
        holder.kill()
        holder.wait()
        yield orphan


def test_a_second_holder_is_refused_with_the_next_step(tmp_path: Path) -> None:
    lock_file = tmp_path / "archive.lock"

    with ArchiveLock(lock_file, timeout_s=0), pytest.raises(ArchivesBusy) as refusal:
        ArchiveLock(lock_file, timeout_s=0).__enter__()

    assert "am status" in refusal.value.hint


def test_a_refusal_names_the_archive_whose_lock_it_is(tmp_path: Path) -> None:
    lock_file = tmp_path / "archive-locks" / "code-app"

    with ArchiveLock(lock_file, timeout_s=0), pytest.raises(ArchivesBusy) as refusal:
        ArchiveLock(lock_file, timeout_s=0, archive="code-app").__enter__()

    assert "the lock of the archive code-app alone" in refusal.value.message
    assert f"fuser {lock_file}" in refusal.value.hint
    assert "Other archives go on" in refusal.value.hint


def test_it_is_free_once_its_holder_is_done(tmp_path: Path) -> None:
    with ArchiveLock(tmp_path / "archive.lock", timeout_s=0):
        pass

    with ArchiveLock(tmp_path / "archive.lock", timeout_s=0) as lock:
        assert lock.fd >= 0


def test_git_that_outlives_a_killed_archiver_holds_the_lock_on(tmp_path: Path) -> None:
    lock_file = tmp_path / "archive.lock"
    with orphan_of_a_killed_holder(lock_file) as orphan:
        with pytest.raises(ArchivesBusy):
            ArchiveLock(lock_file, timeout_s=0).__enter__()
        os.kill(orphan, signal.SIGCONT)
        with ArchiveLock(lock_file, timeout_s=10) as lock:
            assert lock.fd >= 0


def test_git_that_a_dead_archiver_left_in_an_archive_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "ORPHANS_END_WITHIN_S", 0.0)
    lock_file = tmp_path / "code-app"
    with orphan_of_a_killed_holder(lock_file), ArchiveLock(lock_file, timeout_s=20, archive="code-app") as lock:
        assert lock.fd >= 0


def test_git_of_our_own_is_left_to_its_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "ORPHANS_END_WITHIN_S", 0.0)
    lock_file = tmp_path / "code-app"
    with ArchiveLock(lock_file, timeout_s=0) as lock:
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(lock.fd,))

    with child, pytest.raises(ArchivesBusy) as refusal:
        ArchiveLock(lock_file, timeout_s=0.2, archive="code-app").__enter__()

    assert refusal.value.message.startswith(f"Process {child.pid} (cat) holds {lock_file}")
    assert f"kill -9 {child.pid}" in refusal.value.hint
    assert child.returncode == 0


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only there a process can see its open files")
def test_a_lock_that_cannot_be_had_leaves_no_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    before = open_files()
    with monkeypatch.context() as broken:
        broken.setattr(fcntl, "flock", no_locks)
        with pytest.raises(OSError, match="No locks available"):
            ArchiveLock(tmp_path / "archive.lock", timeout_s=0).__enter__()

    assert open_files() == before


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only there a process can see its open files")
def test_nor_does_one_whose_wait_cannot_be_told(tmp_path: Path) -> None:
    def tell(_: ArchivesBusy | UnfitPlace) -> None:
        raise BrokenPipeError

    with ArchiveLock(tmp_path / "archive.lock", timeout_s=0):
        before = open_files()
        with pytest.raises(BrokenPipeError):
            ArchiveLock(tmp_path / "archive.lock", timeout_s=0, tell=tell).__enter__()

        assert open_files() == before


def test_a_folder_and_a_ring_of_links_are_no_lock_and_are_left_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "ring").symlink_to("ring")

    told: list[str] = []

    for name in ("folder", "ring"):
        lock = ArchiveLock(tmp_path / name, timeout_s=0, tell=lambda unfit: told.append(unfit.message))
        with pytest.raises(UnfitPlace, match=name), lock:
            pass

    assert [one.partition(" is ")[0] for one in told] == [str(tmp_path / name) for name in ("folder", "ring")]

    assert (tmp_path / "folder").is_dir()
    assert (tmp_path / "ring").is_symlink()
