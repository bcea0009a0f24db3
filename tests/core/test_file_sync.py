from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.core import file_sync
from mcp_agent_mail.core.file_sync import sync_path, sync_tree
from tests.on_disk import OnDisk


def _synced(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is put on disk, in that order; `everything` at once."""
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(Path(f"/proc/self/fd/{fd}").readlink().name))
    monkeypatch.setattr(os, "sync", lambda: synced.append("everything"))
    sync_tree(path)
    return synced


def _tree(root: Path) -> Path:
    tree = root / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "inner" / "file").touch()
    (tree / "link").symlink_to("/nowhere")
    os.mkfifo(tree / "pipe")
    return tree


def test_files_are_synced_before_the_folders_that_name_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _synced(_tree(tmp_path), monkeypatch) == ["file", "inner", "tree"]


def test_of_many_files_all_is_synced_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_sync, "SYNCED_ONE_BY_ONE", 4)

    assert _synced(_tree(tmp_path), monkeypatch) == ["everything"]


def test_one_file_is_synced_and_what_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()

    assert _synced(tmp_path / "file", monkeypatch) == ["file"]
    with pytest.raises(FileNotFoundError):
        sync_tree(tmp_path / "missing")


def test_a_link_is_synced_as_what_it_leads_to_unless_links_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    on_disk = OnDisk(monkeypatch)

    with pytest.raises(OSError, match="symbolic links"):
        sync_path(tmp_path / "link", follow=False)
    assert not on_disk.has(tmp_path / "file")
    sync_path(tmp_path / "link")
    assert on_disk.has(tmp_path / "file")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="Invalid argument"):
        sync_path(tmp_path / "pipe")
