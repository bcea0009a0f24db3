"""One archive: what a commit leaves on disk, and what people may do beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.archive.writer import MANY_PACKS, ArchiveWriter
from mcp_agent_mail.core.ids import OutboxSeq
from tests.archive.one_archive import AT, IDENTITY, NOTE, open_writer, text
from tests.archive_harness import git, refresh

LONG_S = 60.0


def test_equal_contents_are_one_file_with_many_names(writer: ArchiveWriter, path: Path) -> None:
    names = ["messages/a.md", "agents/Red/inbox/a.md", "agents/Blue/outbox/a.md"]

    writer.commit(dict.fromkeys(names, b"mail") | {"other.md": b"other"}, text(2), AT)

    assert len({(path / name).stat().st_ino for name in names}) == 1
    assert (path / names[0]).stat().st_nlink == 3
    assert (path / "other.md").stat().st_nlink == 1
    assert git(path, "show", f"main:{names[1]}") == "mail"


def test_a_new_version_of_one_copy_leaves_the_others_alone(writer: ArchiveWriter, path: Path) -> None:
    writer.commit({"a.json": b"same", "b.json": b"same"}, text(2), AT)

    writer.commit({"a.json": b"changed"}, text(3), AT)

    assert (path / "a.json").read_bytes() == b"changed"
    assert (path / "b.json").read_bytes() == b"same"


def test_the_status_is_clean_once_refreshed(writer: ArchiveWriter, path: Path) -> None:
    writer.commit({NOTE: b"two", "agents/Red/inbox/new.md": b"new"}, text(2), AT)
    refresh(writer)

    assert git(path, "status", "--porcelain") == ""
    assert git(path, "fsck", "--strict") == ""


def test_a_later_refresh_takes_in_what_came_since(writer: ArchiveWriter, path: Path) -> None:
    refresh(writer)
    writer.commit({NOTE: b"two", "messages/more.md": b"more"}, text(2), AT)

    refresh(writer)

    assert git(path, "status", "--porcelain") == ""


def test_what_a_person_has_staged_stays_staged(writer: ArchiveWriter, path: Path) -> None:
    refresh(writer)
    (path / "NOTES.md").write_text("mine")
    git(path, "add", "NOTES.md")
    writer.commit({"messages/more.md": b"more"}, text(2), AT)

    refresh(writer)

    assert git(path, "status", "--porcelain") == "A  NOTES.md\n"


def test_a_person_s_commit_stays_and_ours_go_on_top(writer: ArchiveWriter, path: Path) -> None:
    refresh(writer)
    (path / "NOTES.md").write_text("mine")
    git(path, "add", "NOTES.md")
    git(path, "commit", "-q", "-m", "A note of my own")

    later = open_writer(path)
    later.commit({"messages/more.md": b"more"}, text(2), AT)
    refresh(later)

    assert git(path, "log", "--format=%s", "main").splitlines() == ["archive: 2", "A note of my own", "archive: 1"]
    assert git(path, "show", "main:NOTES.md") == "mine"
    assert git(path, "status", "--porcelain") == ""


def test_a_person_s_commit_on_top_does_not_hide_what_is_archived(writer: ArchiveWriter, path: Path) -> None:
    refresh(writer)
    git(path, "commit", "-q", "--allow-empty", "-m", "Outbox-Seq: a person may write this\n\nand more")

    (sealed,) = open_writer(path).sealed_after(OutboxSeq(0))

    assert sealed.last_seq == 1


def test_while_another_branch_is_checked_out_its_index_and_files_are_left_alone(
    writer: ArchiveWriter, path: Path
) -> None:
    refresh(writer)
    git(path, "switch", "-q", "-c", "mine")
    writer.commit({"messages/more.md": b"more"}, text(2), AT)

    refresh(writer)

    assert git(path, "status", "--porcelain") == ""
    git(path, "switch", "-q", "main")
    assert (path / "messages/more.md").read_bytes() == b"more"
    assert git(path, "status", "--porcelain") == ""


def test_a_commit_has_its_agent_as_author_and_us_as_committer(writer: ArchiveWriter, path: Path) -> None:
    writer.commit({"a": b"a"}, text(2, "BlueLake"), AT)

    shown = git(path, "log", "-1", "--format=%an|%cn|%ct|%(trailers:key=Outbox-Seq,valueonly)", "main")

    assert shown.strip() == "BlueLake|mcp-agent|1800000000|2"


def test_after_an_orderly_stop_a_person_s_edit_is_left_alone(writer: ArchiveWriter, path: Path) -> None:
    refresh(writer)
    (path / NOTE).write_bytes(b"edited")

    open_writer(path)

    assert (path / NOTE).read_bytes() == b"edited"


def test_a_commit_of_files_that_git_has_already_is_a_pack_too(writer: ArchiveWriter, path: Path) -> None:
    writer.commit({NOTE: b"one"}, text(2), AT)

    assert git(path, "count-objects").startswith("0 objects")


def test_a_setup_that_was_interrupted_is_begun_again(path: Path) -> None:
    (path / ".git.new").mkdir(parents=True)
    (path / ".git.new/HEAD").write_text("")
    (path / ".git.new/config.lock").write_text("")

    writer = open_writer(path)
    writer.commit({"archive.json": IDENTITY}, text(1), AT)

    assert git(path, "log", "--format=%s", "main") == "archive: 1\n"


def test_many_packs_become_few(writer: ArchiveWriter, path: Path) -> None:
    assert writer.start_repack() is None
    for seq in range(2, MANY_PACKS + 2):
        writer.commit({"a": b"%d" % seq}, text(seq), AT)

    repack = writer.start_repack()
    assert repack is not None
    repack.finish(LONG_S)

    assert len(list((path / ".git/objects/pack").glob("*.pack"))) < 5
    writer.commit({"a": b"after"}, text(900), AT)
    assert git(path, "fsck", "--strict") == ""


def test_a_pack_that_came_while_others_were_joined_stays(writer: ArchiveWriter, path: Path) -> None:
    for seq in range(2, MANY_PACKS + 2):
        writer.commit({"a": b"%d" % seq}, text(seq), AT)
    repack = writer.start_repack()
    assert repack is not None
    writer.commit({"a": b"meanwhile"}, text(900), AT)

    repack.finish(LONG_S)

    assert git(path, "fsck", "--strict") == ""
    assert git(path, "show", "main:a") == "meanwhile"


def test_a_file_left_by_a_crash_is_not_written_through_to_archived_mail(writer: ArchiveWriter, path: Path) -> None:
    os.link(path / NOTE, path / ".git/agent-mail/new")

    writer.commit({"messages/other.md": b"other"}, text(2), AT)

    assert (path / NOTE).read_bytes() == b"one"


def test_a_repository_above_the_archives_is_never_taken_for_one(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "The outer one")

    open_writer(tmp_path / "app").commit({"archive.json": IDENTITY}, text(1), AT)

    assert git(tmp_path, "log", "--format=%s", "main") == "The outer one\n"
    assert git(tmp_path / "app", "log", "--format=%s", "main") == "archive: 1\n"


@pytest.mark.parametrize(
    "message", ["mine\x1fand mine", "mine\n\nOutbox-Seq: \u00b2", f"mine\n\nOutbox-Seq: {'9' * 5_000}"]
)
def test_a_persons_commit_of_any_message_stops_no_opening(writer: ArchiveWriter, path: Path, message: str) -> None:
    refresh(writer)
    git(path, "commit", "-q", "--allow-empty", "-m", message)

    again = open_writer(path)
    again.commit({NOTE: b"two"}, text(2), AT)

    assert [commit.last_seq for commit in again.sealed_after(OutboxSeq(0))] == [1, 2]
