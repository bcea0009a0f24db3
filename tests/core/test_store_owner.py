from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.core.store_owner import (
    LOCK_FILE,
    OWNER_FILE,
    Owner,
    is_folder_held,
    is_held,
    owner_by,
    read_owner,
    told_owner,
)

URL = "http://127.0.0.1:8765/mcp"
NOT_TOLD = Owner(pid=None, url=None, started=None)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """As its holder holds the lock of a file, or of a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store's folder whose last owner left its files behind."""
    (tmp_path / LOCK_FILE).touch()
    (tmp_path / OWNER_FILE).write_text(json.dumps({"pid": 7, "url": URL, "listens_on": "0.0.0.0", "started": "now"}))
    return tmp_path


@pytest.mark.parametrize("locked", [LOCK_FILE, "."])
def test_whoever_holds_the_lock_of_the_file_or_of_the_folder_owns_the_store(store: Path, locked: str) -> None:
    with held(store / locked):
        owner = read_owner(store)

    assert owner == Owner(pid=7, url=URL, listens_on="0.0.0.0", started="now")  # nothing listens


def test_while_the_lock_is_free_nobody_owns_the_store_whatever_the_file_says(store: Path) -> None:
    assert read_owner(store) is None
    assert owner_by(store / LOCK_FILE, store / OWNER_FILE) is None


def test_a_store_that_is_not_there_is_nobodys(tmp_path: Path) -> None:
    assert read_owner(tmp_path / "gone") is None
    assert not is_held(tmp_path / "gone")
    assert not is_folder_held(tmp_path / "gone")


def test_a_folders_lock_is_not_looked_for_at_a_file(store: Path) -> None:
    with held(store / LOCK_FILE):
        assert not is_folder_held(store / LOCK_FILE)
        assert is_held(store / LOCK_FILE)


def test_any_lock_can_be_asked_for_by_the_files_of_it(store: Path) -> None:
    other = store / "archive.lock"
    other.touch()

    with held(other):
        owner = owner_by(other, store / OWNER_FILE)

    assert owner is not None
    assert owner.pid == 7


def test_who_only_looks_keeps_nobody_from_locking(store: Path) -> None:
    read_owner(store)

    with held(store / LOCK_FILE), held(store):
        assert is_held(store / LOCK_FILE)
        assert is_folder_held(store)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        "[" * 50_000,
        json.dumps({"pid": "x" * 70_000}),
        '{"pid": "7", "url": 8, "listens_on": [], "started": 9}',
    ],
    ids=["empty", "torn", "a list", "a number", "deep", "large", "other kinds"],
)
def test_what_is_not_written_as_it_should_be_is_not_told(store: Path, text: str) -> None:
    (store / OWNER_FILE).write_text(text)

    assert told_owner(store / OWNER_FILE) == NOT_TOLD


def test_an_owner_that_has_not_written_yet_is_an_owner(store: Path) -> None:
    (store / OWNER_FILE).unlink()

    with held(store):
        assert read_owner(store) == NOT_TOLD


def test_a_pipe_in_place_of_what_is_told_is_not_waited_for(store: Path) -> None:
    (store / OWNER_FILE).unlink()
    os.mkfifo(store / OWNER_FILE)

    assert told_owner(store / OWNER_FILE) == NOT_TOLD


def test_nobody_holds_what_no_lock_is_taken_in(tmp_path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as bound:
        bound.bind(str(tmp_path / "socket"))
    (tmp_path / "ring").symlink_to("ring")

    assert not any(is_held(tmp_path / name) for name in ("socket", "ring"))
