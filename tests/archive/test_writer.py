"""One archive: what a commit leaves on disk, and what people may do beside it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from mcp_agent_mail.archive.ownership import ArchiveAhead, ArchiveOwner, ForeignArchive, OutboxPosition
from mcp_agent_mail.archive.recovery import WINDOW_S
from mcp_agent_mail.archive.writer import MANY_PACKS, ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.commit_message import CommitText
from tests.archive_harness import git, refresh

AT = Micros(1_800_000_000 * SECOND)
OWNER = ArchiveOwner(store_id="this-store", author_name="mcp-agent", author_email="mcp-agent@example.com")
IDENTITY = json.dumps({"store_id": "this-store"}).encode()
NOTE = "messages/note.md"
LONG_S = 60.0


def open_writer(path: Path, *, highest_seq: int = 1_000) -> ArchiveWriter:
    return ArchiveWriter(path, OWNER, OutboxPosition(highest_seq=OutboxSeq(highest_seq)), fault_hook=no_fault)


def text(seq: int, *agents: str) -> CommitText:
    return CommitText(subject=f"archive: {seq}", agents=agents, last_seq=OutboxSeq(seq))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app"


@pytest.fixture
def writer(path: Path) -> ArchiveWriter:
    """With one commit, which holds seq 1."""
    opened = open_writer(path)
    opened.commit({"archive.json": IDENTITY, NOTE: b"one"}, text(1), AT)
    return opened


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


@pytest.mark.usefixtures("writer")
def test_the_archive_of_another_store_is_refused_and_untouched(path: Path) -> None:
    other = ArchiveOwner(store_id="other-store", author_name="x", author_email="x")
    tip = git(path, "rev-parse", "main")

    with pytest.raises(ForeignArchive, match="belongs to store this-store; this is store other-store") as refusal:
        ArchiveWriter(path, other, OutboxPosition(highest_seq=OutboxSeq(1_000)), fault_hook=no_fault)

    assert "STORAGE_ROOT" in refusal.value.hint
    assert git(path, "rev-parse", "main") == tip


def test_a_repository_that_is_no_archive_is_refused(path: Path) -> None:
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    git(path, "commit", "-q", "--allow-empty", "-m", "Somebody's work")

    with pytest.raises(ForeignArchive, match="no archive of this store"):
        open_writer(path)


def test_an_archive_ahead_of_its_database_is_refused(writer: ArchiveWriter, path: Path) -> None:
    writer.commit({"a": b"a"}, text(50), AT)

    with pytest.raises(ArchiveAhead, match="up to 50; the database has given out 49"):
        open_writer(path, highest_seq=49)


def test_after_an_unclean_stop_recent_files_equal_the_branch_again(writer: ArchiveWriter, path: Path) -> None:
    writer.commit({"messages/torn.md": b"whole", "messages/gone.md": b"there"}, text(2), AT)
    (path / "messages/torn.md").write_bytes(b"who\0\0")
    (path / "messages/gone.md").unlink()

    refresh(open_writer(path))

    assert (path / "messages/torn.md").read_bytes() == b"whole"
    assert (path / "messages/gone.md").read_bytes() == b"there"
    assert git(path, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    "name",
    [
        "archive.json",
        "agents/Red/profile.json",
        "agents/Red/inbox/2027/01/held.md",
        "contacts/Red/Blue.json",
        "products/id.json",
        "file_reservations/id-1.json",
        "build_slots/id-1.json",
        "messages/2027/01/tombstone.md",
    ],
)
def test_after_an_unclean_stop_a_file_that_is_as_it_was_two_commits_ago_equals_the_branch_again(
    writer: ArchiveWriter, path: Path, name: str
) -> None:
    first = IDENTITY if name == "archive.json" else b"as it was"
    writer.commit({name: first}, text(2), AT)
    later = Micros(AT + 2 * WINDOW_S * SECOND)
    writer.commit({name: b'{"store_id": "this-store", "changed": true}'}, text(3), later)
    between = (path / name).read_bytes()
    writer.commit({name: first}, text(4), later)
    (path / name).unlink()
    (path / name).write_bytes(between)

    open_writer(path)

    assert (path / name).read_bytes() == first


def test_after_an_unclean_stop_a_person_s_commit_from_the_future_hides_none_of_ours(
    writer: ArchiveWriter, path: Path
) -> None:
    refresh(writer)
    writer.commit({NOTE: b"two"}, text(2), AT)
    (path / "NOTES.md").write_text("mine")
    git(path, "add", "NOTES.md")
    named = ("git", "-C", str(path), "-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    subprocess.run(
        [*named, "commit", "-q", "-m", "Mine", "--", "NOTES.md"],
        env={"PATH": os.environ["PATH"], "GIT_COMMITTER_DATE": "2099-01-01T00:00:00Z", "HOME": str(path)},
        check=True,
    )
    (path / NOTE).unlink()

    open_writer(path)

    assert (path / NOTE).read_bytes() == b"two"


@pytest.mark.usefixtures("writer")
def test_after_an_unclean_stop_a_person_s_file_with_a_line_end_in_its_name_stops_no_mending(path: Path) -> None:
    odd = "messages/two\nlines.md"
    (path / odd).write_text("mine")
    git(path, "add", odd)
    git(path, "commit", "-q", "-m", "Mine", "--", odd)
    git(path, "rm", "-q", odd)
    git(path, "commit", "-q", "-m", "Not mine", "--", odd)
    (path / NOTE).unlink()

    open_writer(path)

    assert (path / NOTE).read_bytes() == b"one"


def test_after_an_orderly_stop_a_person_s_edit_is_left_alone(writer: ArchiveWriter, path: Path) -> None:
    refresh(writer)
    (path / NOTE).write_bytes(b"edited")

    open_writer(path)

    assert (path / NOTE).read_bytes() == b"edited"


def test_locks_of_a_killed_git_are_removed_at_the_next_start(writer: ArchiveWriter, path: Path) -> None:
    for name in ("index.lock", "refs/heads/main.lock"):
        (path / ".git" / name).touch()
    with pytest.raises(GitFailed):
        writer.commit({"a": b"a"}, text(2), AT)

    later = open_writer(path)
    later.commit({"a": b"a"}, text(2), AT)
    refresh(later)

    assert git(path, "status", "--porcelain") == ""


def test_a_commit_of_files_that_git_has_already_is_a_pack_too(writer: ArchiveWriter, path: Path) -> None:
    writer.commit({NOTE: b"one"}, text(2), AT)

    assert git(path, "count-objects").startswith("0 objects")


@pytest.mark.usefixtures("writer")
def test_the_mark_of_an_import_that_was_cut_off_is_removed_and_a_person_s_is_not(path: Path) -> None:
    theirs, ours = (path / f".git/objects/pack/pack-{name * 40}.keep" for name in "ab")
    theirs.write_text("mine\n")
    ours.write_text("fast-import")

    open_writer(path)

    assert theirs.exists()
    assert not ours.exists()


def test_a_torn_index_is_built_again(writer: ArchiveWriter, path: Path) -> None:
    refresh(writer)
    writer.commit({"a": b"a"}, text(2), AT)
    (path / ".git/index").write_bytes(b"torn")

    refresh(open_writer(path))

    assert git(path, "status", "--porcelain") == ""


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


@pytest.mark.usefixtures("writer")
def test_marks_that_a_loss_of_power_emptied_go_and_a_persons_older_one_stays(path: Path) -> None:
    (pack,) = (path / ".git/objects/pack").glob("pack-*.pack")
    torn = pack.with_name(f"pack-{'0' * 40}.keep")
    torn.touch()
    theirs = pack.with_suffix(".keep")
    theirs.touch()
    os.utime(theirs, (1_700_000_000, 1_700_000_000))

    open_writer(path)

    assert not torn.exists()
    assert theirs.exists()


# What Python takes for a line end, and Git does not; and no UTF-8 at all.
STRANGE_NAMES = [f"a{end}b.md".encode() for end in ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r")]


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("name", [*STRANGE_NAMES, b"gr\xfc\xdfe.md"])
def test_a_persons_file_of_any_name_that_is_gone_again_stops_no_mending(path: Path, name: bytes) -> None:
    theirs = path / "messages" / os.fsdecode(name)
    theirs.write_text("mine")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "mine")
    git(path, "rm", "-q", "-r", "--", str(theirs))
    git(path, "commit", "-q", "-m", "gone")
    (path / NOTE).unlink()

    open_writer(path)

    assert (path / NOTE).read_bytes() == b"one"


@pytest.mark.parametrize(
    "message", ["mine\x1fand mine", "mine\n\nOutbox-Seq: \u00b2", f"mine\n\nOutbox-Seq: {'9' * 5_000}"]
)
def test_a_persons_commit_of_any_message_stops_no_opening(writer: ArchiveWriter, path: Path, message: str) -> None:
    refresh(writer)
    git(path, "commit", "-q", "--allow-empty", "-m", message)

    again = open_writer(path)
    again.commit({NOTE: b"two"}, text(2), AT)

    assert [commit.last_seq for commit in again.sealed_after(OutboxSeq(0))] == [1, 2]
