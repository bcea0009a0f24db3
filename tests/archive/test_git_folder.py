from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.archive.contents import MissingContents
from mcp_agent_mail.archive.git_folder import STATE, NotOurGitFolder, make_ours, require_ours, require_plain_below
from mcp_agent_mail.archive.known_version import is_outdated, noted_tip
from mcp_agent_mail.archive.months import KeptMonths, MonthsNote
from mcp_agent_mail.archive.notes.thread_pages import read_thread_note
from mcp_agent_mail.archive.ownership import OutboxPosition, require_fit
from mcp_agent_mail.archive.recovery import OpenNote, remove_leftovers, remove_torn_marks
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.ids import OutboxSeq


@pytest.mark.parametrize(
    "left", ["config.0a1b2c3d", "config.set-aside.0a1b2c3d", "info/attributes.0a1b2c3d", "info/exclude.0a1b2c3d"]
)
def test_what_a_replacement_that_was_cut_off_left_goes_at_the_next_opening(left: str, tmp_path: Path) -> None:
    ArchiveRepository(tmp_path / "archive").create()
    unfinished = tmp_path / "archive" / ".git" / left
    unfinished.write_bytes(b"[core")

    make_ours(tmp_path / "archive")

    assert not unfinished.exists()


def _fifo(place: Path) -> None:
    os.mkfifo(place)


def _endless(place: Path) -> None:
    place.symlink_to("/dev/zero")


def _large(place: Path) -> None:
    place.write_bytes(b"/" * (33 << 20))


hostile = pytest.mark.parametrize("put", [_fifo, _endless, _large])


@hostile
@pytest.mark.parametrize("name", ["work-tree", "work-tree.real"])
def test_where_the_files_lie_is_not_read_of_what_is_no_note(
    put: Callable[[Path], None], name: str, tmp_path: Path
) -> None:
    place = tmp_path / "archive"
    ArchiveRepository(place).create(tmp_path / "project" / ".mcp-mail")
    (place / STATE / name).unlink()
    put(place / STATE / name)
    repository = ArchiveRepository(place, only_git=True)

    assert repository.exists()
    with pytest.raises(NotOurGitFolder, match=name):
        _ = repository.work_tree
    with pytest.raises(NotOurGitFolder):
        require_fit(ArchiveRepository(place), "s", OutboxPosition(highest_seq=OutboxSeq(1)))


@hostile
def test_no_note_is_followed_waited_for_or_read_without_end(put: Callable[[Path], None], tmp_path: Path) -> None:
    place = tmp_path / "archive"
    repository = ArchiveRepository(place)
    repository.create()
    for name in ("open", "version", "threads", "months", "indexed", "lacked", "conversion"):
        put(place / STATE / name)
    put(place / ".git" / "objects" / "pack" / "pack-1.keep")

    assert OpenNote(repository).tip().strip("/") == ""
    assert is_outdated(place)
    assert noted_tip(place) is None
    assert read_thread_note(place) is None
    assert MonthsNote(place / STATE).read() == KeptMonths(months=())
    assert not MissingContents(place / STATE / "lacked")
    remove_leftovers(repository)
    remove_torn_marks(repository, 0)
    assert os.path.lexists(place / ".git" / "objects" / "pack" / "pack-1.keep")


@pytest.mark.parametrize(
    "name", ["HEAD", "index", "packed-refs", "refs/heads/main", "info/attributes", "agent-mail/x", "objects/info/packs"]
)
@pytest.mark.parametrize("put", [_fifo, _endless])
def test_git_is_not_run_where_it_would_wait_or_read_without_end(
    put: Callable[[Path], None], name: str, tmp_path: Path
) -> None:
    place = tmp_path / "archive"
    ArchiveRepository(place).create()
    require_ours(place)
    (place / ".git" / name).unlink(missing_ok=True)
    put(place / ".git" / name)

    with pytest.raises(NotOurGitFolder, match="neither a file nor a folder"):
        require_ours(place)


def test_below_a_git_folder_of_a_stranger_there_are_files_and_folders_alone(tmp_path: Path) -> None:
    place = tmp_path / "archive"
    ArchiveRepository(place).create()
    require_plain_below(place)
    (place / ".git" / "objects" / "ab").mkdir()
    (place / ".git" / "objects" / "ab" / ("c" * 38)).symlink_to(tmp_path)

    with pytest.raises(NotOurGitFolder, match="neither a file nor a folder"):
        require_plain_below(place)
