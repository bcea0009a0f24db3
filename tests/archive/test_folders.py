"""Folders that others can write to: entered step by step, and never through a link."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from mcp_agent_mail.archive.folders import (
    NotAFile,
    OtherSize,
    RealFolder,
    blob_of,
    facts_of,
    names_in,
    opened,
    opened_file,
    opened_in,
    remove_unfinished,
    renew_file,
    replace_file,
    sync_files,
    unfinished,
    write_new,
)


def test_folders_are_made_only_where_that_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), opened(tmp_path, "a/b"):
        pass
    assert list(tmp_path.iterdir()) == []

    with opened(tmp_path, "a/b", make=True) as fd, opened_in(fd, "c", make=True) as inner:
        write_new(inner, "file", b"x")

    assert (tmp_path / "a/b/c/file").read_bytes() == b"x"
    with opened(tmp_path, "a/b", make=True) as fd:
        assert names_in(fd) == {"c"}


@pytest.mark.parametrize("way", ["link", "file", "a/../link", "a/.."])
def test_nothing_is_entered_through_a_link_a_file_or_the_folder_above(tmp_path: Path, way: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "file").touch()

    with pytest.raises(NotADirectoryError), opened(tmp_path, way, make=True):
        pass


def test_a_real_folder_is_refused_once_its_way_leads_over_a_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")

    with opened(tmp_path / "link" / "inner"), opened(RealFolder(tmp_path / "real" / "inner")):
        pass
    with pytest.raises(NotADirectoryError), opened(RealFolder(tmp_path / "link" / "inner")):
        pass


@pytest.mark.parametrize("name", ["link", "pipe", "socket", "folder"])
def test_only_plain_files_are_opened_and_nothing_waits(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # A socket's path is short.
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as there:
        there.bind("socket")

    with opened(tmp_path) as fd, pytest.raises(NotAFile, match="is no plain file"), opened_file(fd, name):
        pass


def test_a_file_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    with opened(tmp_path) as fd, pytest.raises(FileNotFoundError), opened_file(fd, "gone"):
        pass


def test_a_file_has_gits_name_for_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"what is up, doc?")

    assert blob_of(tmp_path, "a/file", size=16) == "bd9dbf5aae1a3862dd1526723246b20206e5fc37"
    assert facts_of(RealFolder(tmp_path), "a/file").st_size == 16


def test_a_file_of_another_size_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"what is up, doc?")

    for size in (15, 17):
        with pytest.raises(OtherSize):
            blob_of(tmp_path, "file", size=size)


def test_a_new_file_leaves_the_other_names_of_what_was_there_alone(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(b"theirs")
    os.link(tmp_path / "theirs", tmp_path / "new")
    os.link(tmp_path / "theirs", tmp_path / "renewed")
    os.link(tmp_path / "theirs", tmp_path / "replaced")

    with opened(tmp_path) as fd:
        write_new(fd, "new", b"ours", mode=0o600)
        renew_file(fd, "renewed", b"ours")
        replace_file(fd, "replaced", b"ours")

    contents = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert contents == {"theirs": b"theirs", "new": b"ours", "renewed": b"ours", "replaced": b"ours"}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


def test_a_replacement_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "name").mkdir()

    with opened(tmp_path) as fd, pytest.raises(IsADirectoryError):
        replace_file(fd, "name", b"ours")

    assert [path.name for path in tmp_path.iterdir()] == ["name"]


def test_what_a_replacement_that_was_cut_off_left_goes_and_nothing_else(tmp_path: Path) -> None:
    for name in ("config.0a1b2c3d", "config.0a1b2c3", "config.0A1B2C3D", "xconfig.0a1b2c3d", "config"):
        (tmp_path / name).touch()
    (tmp_path / "config.00000000").mkdir()

    with opened(tmp_path) as fd:
        found = unfinished(fd, "config")
        remove_unfinished(fd, "config")
        left = names_in(fd)

    assert found == {"config.0a1b2c3d", "config.00000000"}
    assert left == {"config.00000000", "config.0a1b2c3", "config.0A1B2C3D", "xconfig.0a1b2c3d", "config"}


def test_what_is_gone_or_was_replaced_meanwhile_holds_up_no_sync(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").touch()
    os.link(tmp_path / "a" / "file", tmp_path / "a" / "second")
    (tmp_path / "a" / "link").symlink_to("file")
    (tmp_path / "b").touch()

    sync_files(tmp_path, {"a/file", "a/second", "a/link", "a/gone", "b/under-a-file", "gone/file"})
