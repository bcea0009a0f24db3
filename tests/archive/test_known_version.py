from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.known_version import CONVERSION_NOTE, VERSION_NOTE, is_outdated, note_version, noted_tip
from mcp_agent_mail.archive.ownership import ArchiveOwner, OutboxPosition
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.commit_message import CommitText
from tests.archive_harness import git, refresh

AT = Micros(1_800_000_000 * SECOND)
FILES = {"archive.json": b'{"format": 2, "store_id": "s", "project": {"id": 1}}'}


def open_writer(path: Path) -> ArchiveWriter:
    owner = ArchiveOwner(store_id="s", author_name="mcp-agent", author_email="a@example.com")
    return ArchiveWriter(path, owner, OutboxPosition(highest_seq=OutboxSeq(9)), fault_hook=no_fault)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An archive of this version, whole."""
    writer = open_writer(tmp_path / "app")
    writer.commit(FILES, CommitText(subject="mail", agents=(), last_seq=OutboxSeq(3)), AT)
    refresh(writer)
    return tmp_path / "app"


def test_who_needs_no_conversion_is_known_without_opening_it(path: Path, tmp_path: Path) -> None:
    (tmp_path / "never-opened/.git/agent-mail").mkdir(parents=True)

    assert (path / VERSION_NOTE).read_text() == f"2 {git(path, 'rev-parse', 'main').strip()}\n"
    assert not is_outdated(path)
    assert not is_outdated(tmp_path / "none")
    assert is_outdated(tmp_path / "never-opened")


def test_a_new_archive_needs_none(tmp_path: Path) -> None:
    writer = open_writer(tmp_path / "new")

    assert (writer.version, writer.conversion.is_needed, is_outdated(tmp_path / "new")) == (2, False, False)


def test_a_link_to_an_archive_is_not_looked_into(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(path)
    (path / VERSION_NOTE).unlink()

    assert (is_outdated(path), is_outdated(tmp_path / "link")) == (True, False)


def test_somebody_s_commit_is_a_reason_to_look_and_packing_the_branch_is_none(path: Path) -> None:
    git(path, "pack-refs", "--all")
    packed = is_outdated(path)
    git(path, "commit", "-q", "--allow-empty", "-m", "Mine")
    committed = is_outdated(path)
    refresh(open_writer(path))

    assert (packed, committed, is_outdated(path)) == (False, True, False)


def test_what_is_noted_is_the_newest_commit_and_that_no_conversion_is_under_way(path: Path) -> None:
    (path / CONVERSION_NOTE).write_text("{}")
    was = is_outdated(path)
    note_version(path, "1" * 40)

    assert (was, noted_tip(path)) == (True, "1" * 40)
    assert not (path / CONVERSION_NOTE).exists()


@pytest.mark.parametrize("noted", ["", "2\n", f"1 {'1' * 40}\n", "2 a b\n", "\0"])
def test_what_names_no_commit_of_this_version_proves_nothing(path: Path, noted: str) -> None:
    (path / VERSION_NOTE).write_text(noted)

    assert (noted_tip(path), is_outdated(path)) == (None, True)


def test_what_no_commit_is_called_is_not_told_to_git(path: Path, tmp_path: Path) -> None:
    (path / VERSION_NOTE).write_text(f"2 --output={tmp_path / 'written'}\n")

    assert noted_tip(path) is None
    open_writer(path)

    assert not (tmp_path / "written").exists()
