from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.core.plain_files import UnfitPlace
from mcp_agent_mail.core.store_owner import LOCK_FILE, OWNER_FILE, read_owner
from mcp_agent_mail.store.engine.lock import StoreInUse, StoreLock

_URL = "http://127.0.0.1:8765/mcp"
_HOLD = """
import sys
from pathlib import Path
from mcp_agent_mail.store.engine.lock import StoreLock
with StoreLock(Path(sys.argv[1]), Path(sys.argv[2])) as lock:
    lock.announce(sys.argv[3])
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(storage_root: Path, database: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(storage_root), str(database), _URL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_latecomer_is_told_who_owns_the_store_and_what_to_do(tmp_path: Path) -> None:
    with another_process(tmp_path, tmp_path / "mail.sqlite3") as owner, pytest.raises(StoreInUse) as refusal:
        StoreLock(tmp_path, tmp_path / "mail.sqlite3").__enter__()

    assert f"process {owner.pid}, which serves {_URL}" in refusal.value.message
    assert f"kill {owner.pid}" in refusal.value.hint
    assert (refusal.value.data["pid"], refusal.value.data["url"]) == (owner.pid, _URL)


def test_the_owner_is_read_while_it_holds_the_lock_and_no_longer(tmp_path: Path) -> None:
    with another_process(tmp_path, tmp_path / "mail.sqlite3") as process:
        owner = read_owner(tmp_path)
        assert owner is not None
        assert (owner.pid, owner.url) == (process.pid, _URL)
        process.send_signal(signal.SIGKILL)
        process.wait()

    assert (tmp_path / OWNER_FILE).exists()
    assert read_owner(tmp_path) is None


def test_a_killed_owner_leaves_a_store_that_opens_at_once(tmp_path: Path) -> None:
    with another_process(tmp_path, tmp_path / "mail.sqlite3") as process:
        process.send_signal(signal.SIGKILL)
        process.wait()

    with StoreLock(tmp_path, tmp_path / "mail.sqlite3"):
        owner = read_owner(tmp_path)

    assert owner is not None
    assert (owner.pid, owner.url) == (os.getpid(), None)


def test_a_held_lock_is_respected_however_old_its_files_are(tmp_path: Path) -> None:
    with another_process(tmp_path, tmp_path / "mail.sqlite3"):
        for name in (LOCK_FILE, OWNER_FILE):
            os.utime(tmp_path / name, (0, 0))

        with pytest.raises(StoreInUse):
            StoreLock(tmp_path, tmp_path / "mail.sqlite3").__enter__()


def test_a_database_elsewhere_is_locked_for_every_storage_root_that_names_it(tmp_path: Path) -> None:
    database = tmp_path / "data" / "mail.sqlite3"
    (tmp_path / "link.sqlite3").symlink_to(database)

    with another_process(tmp_path / "one", database) as owner, pytest.raises(StoreInUse) as refusal:
        StoreLock(tmp_path / "two", tmp_path / "link.sqlite3").__enter__()

    assert refusal.value.data["pid"] == owner.pid
    assert read_owner(tmp_path / "two") is None


def test_two_storage_roots_are_two_stores(tmp_path: Path) -> None:
    with (
        another_process(tmp_path / "one", tmp_path / "one" / "mail.sqlite3"),
        StoreLock(tmp_path / "two", tmp_path / "two" / "mail.sqlite3") as lock,
    ):
        lock.announce("http://127.0.0.1:1/mcp")
        owner = read_owner(tmp_path / "two")

    assert owner is not None
    assert owner.url == "http://127.0.0.1:1/mcp"


def test_a_release_leaves_no_owner_and_what_lies_there_is_private(tmp_path: Path) -> None:
    root = tmp_path / "new" / "root"
    with StoreLock(root, root / "mail.sqlite3"):
        modes = {entry.name: entry.stat().st_mode & 0o777 for entry in root.iterdir()}
        root_mode = root.stat().st_mode & 0o777

    assert modes == {LOCK_FILE: 0o600, OWNER_FILE: 0o600}
    assert root_mode == 0o700
    assert [entry.name for entry in root.iterdir()] == [LOCK_FILE]


def test_a_lock_file_that_is_removed_leaves_the_store_owned(tmp_path: Path) -> None:
    with another_process(tmp_path, tmp_path / "mail.sqlite3") as process:
        (tmp_path / LOCK_FILE).unlink()

        with pytest.raises(StoreInUse) as refusal:
            StoreLock(tmp_path, tmp_path / "mail.sqlite3").__enter__()
        owner = read_owner(tmp_path)

    assert f"process {process.pid}, which serves {_URL}" in refusal.value.message
    assert f"kill {process.pid}" in refusal.value.hint
    assert owner is not None
    assert (owner.pid, owner.url) == (process.pid, _URL)


def test_where_folders_cannot_be_locked_the_file_has_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock = fcntl.flock

    def of_files_alone(descriptor: int, how: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", of_files_alone)
    assert read_owner(tmp_path) is None

    with StoreLock(tmp_path, tmp_path / "mail.sqlite3"):
        owner = read_owner(tmp_path)
        with pytest.raises(StoreInUse):
            StoreLock(tmp_path, tmp_path / "mail.sqlite3").__enter__()

    assert owner is not None
    assert owner.pid == os.getpid()
    assert read_owner(tmp_path) is None


def test_a_child_of_the_owner_owns_nothing(tmp_path: Path) -> None:
    lock = StoreLock(tmp_path, tmp_path / "mail.sqlite3")
    with (
        lock,
        subprocess.Popen(
            [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=False,
        ) as child,
    ):
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        lock.__exit__(None, None, None)

        owner = read_owner(tmp_path)
        assert child.stdin is not None
        child.stdin.close()

    assert owner is None


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "spoil",
    [Path.unlink, _pipe, _link, lambda path: path.write_text('{"pid": 1'), lambda path: path.write_text("[" * 50_000)],
    ids=["removed", "a pipe", "a link", "torn", "deep"],
)
async def test_what_tells_of_the_owner_is_written_again(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    with StoreLock(tmp_path, tmp_path / "mail.sqlite3") as lock:
        lock.announce(_URL)
        before = read_owner(tmp_path)
        spoil(tmp_path / OWNER_FILE)
        assert read_owner(tmp_path) is not None

        await lock.keep_told()

        assert read_owner(tmp_path) == before
        assert (tmp_path / OWNER_FILE).is_file()
        assert not (tmp_path / OWNER_FILE).is_symlink()
        written = (tmp_path / OWNER_FILE).stat()
        await lock.keep_told()
        assert (tmp_path / OWNER_FILE).stat().st_ino == written.st_ino


def test_reading_the_owner_imports_no_database() -> None:
    script = "import sys, mcp_agent_mail.store.engine.lock; print([m for m in sys.argv[1:] if m in sys.modules])"

    loaded = subprocess.run(
        [sys.executable, "-c", script, "sqlite3", "aiosqlite", "filelock", "asyncio", "sqlmodel"],
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "COVERAGE_PROCESS_CONFIG"},
    )

    assert loaded.stdout == "[]\n"


def test_what_a_rebuild_left_that_was_stopped_is_gone_once_somebody_owns_the_store(tmp_path: Path) -> None:
    database = tmp_path / "elsewhere" / "mail.sqlite3"
    database.parent.mkdir()
    names = [".rebuilt", ".rebuilt-journal", ".rebuilt.new", ".rebuilt.new-journal"]
    left = [database.with_name(f"{database.name}{name}") for name in names]
    others = [database, database.with_name(f"{database.name}.before-0001")]
    for path in (*left, *others):
        path.touch()

    with StoreLock(tmp_path / "store", database):
        assert [path for path in left if path.exists()] == []
        assert all(path.exists() for path in others)


def test_the_address_of_a_killed_owner_is_nobodys_once_the_store_is_owned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / OWNER_FILE).write_text(f'{{"pid": 1, "url": "{_URL}", "listens_on": "{_URL}", "started": "now"}}')
    seen: list[bool] = []
    monkeypatch.setattr(
        "mcp_agent_mail.store.engine.lock.finish_swap", lambda _, **_more: seen.append((tmp_path / OWNER_FILE).exists())
    )

    with StoreLock(tmp_path, tmp_path / "mail.sqlite3"):
        pass

    assert seen == [False]


@pytest.mark.parametrize(("was_one", "lines"), [(True, 1), (False, 0)])
def test_an_interrupted_swap_that_is_finished_with_the_lock_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, was_one: bool, lines: int
) -> None:
    monkeypatch.setattr("mcp_agent_mail.store.engine.lock.finish_swap", lambda _, **_more: was_one)

    with StoreLock(tmp_path, tmp_path / "mail.sqlite3"):
        told = [record.message for record in caplog.records if "interrupted" in record.message]

    assert len(told) == lines


@pytest.mark.parametrize(
    "make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("elsewhere")], ids=["folder", "pipe", "link"]
)
def test_what_is_no_file_in_the_locks_place_is_named_and_stays(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / LOCK_FILE)

    with pytest.raises(UnfitPlace, match=LOCK_FILE), StoreLock(tmp_path, tmp_path / "mail.sqlite3"):
        pass

    assert [one.name for one in tmp_path.iterdir()] == [LOCK_FILE]


def test_a_folder_where_the_owner_is_told_is_named(tmp_path: Path) -> None:
    (tmp_path / OWNER_FILE).mkdir()

    with pytest.raises(UnfitPlace, match=OWNER_FILE), StoreLock(tmp_path, tmp_path / "mail.sqlite3"):
        pass

    assert read_owner(tmp_path) is None


def test_a_database_that_is_a_ring_of_links_keeps_nobody_from_the_lock(tmp_path: Path) -> None:
    (tmp_path / "mail.sqlite3").symlink_to("mail.sqlite3")

    with StoreLock(tmp_path, tmp_path / "mail.sqlite3"):
        assert read_owner(tmp_path) is not None
