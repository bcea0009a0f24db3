from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from mcp_agent_mail.archive import conversion
from mcp_agent_mail.archive.fast_import import import_folders
from mcp_agent_mail.archive.git_folder import NotOurGitFolder
from mcp_agent_mail.archive.known_version import CONVERSION_NOTE, VERSION_NOTE, is_outdated
from mcp_agent_mail.archive.ownership import NewerArchive
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.commit_message import CommitText
from tests.archive.old_archive import COPY, FILES, MAIL, convert, make_old_archive, open_writer
from tests.archive.one_archive import AT
from tests.archive_harness import Killed, git, refresh, version_1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_old_archive(tmp_path / "app")


def test_mail_gets_its_newline_blocks_their_names_and_all_else_stays(path: Path) -> None:
    convert(path)

    names = git(path, "ls-tree", "-r", "-z", "--name-only", "main").split("\0")[:-1]
    assert sorted(names) == sorted(
        name.replace("/11/0/", "/11/0-499/").replace("/11/1/", "/11/500-999/") for name in FILES
    )
    assert git(path, "show", f"main:{MAIL.replace('/0/', '/0-499/')}") == "body\n"
    assert git(path, "show", 'main:messages/2026/11/0-499/a "b\u00e4.txt') == "mine"
    assert git(path, "status", "--porcelain") == ""
    assert git(path, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
    git(path, "fsck", "--strict")


def test_it_is_noted_once_all_is_done(path: Path) -> None:
    before = is_outdated(path)
    convert(path)

    assert (before, is_outdated(path)) == (True, False)
    assert not (path / CONVERSION_NOTE).exists()


def test_one_that_is_cut_off_before_its_files_are_on_disk_goes_on(path: Path) -> None:
    writer = open_writer(path)
    while writer.convert(OutboxSeq(3), AT) is None:
        pass
    cut_off = open_writer(path)

    assert cut_off.conversion.is_half_done
    assert is_outdated(path)
    assert (path / MAIL).exists()
    convert(path)
    assert not (path / MAIL).exists()
    assert (path / MAIL.replace("/0/", "/0-499/")).read_bytes() == b"body\n"


def set_back(path: Path, *files: tuple[str, bytes]) -> None:
    """What a program of the version before writes, to an archive that has been converted."""
    for name, content in files:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    git(path, "add", "-f", *(name for name, _ in files))
    git(path, "commit", "-q", "-m", "Former", "--", *(name for name, _ in files))


def test_what_lies_in_both_folders_of_a_block_is_there_after_another_conversion(path: Path) -> None:
    convert(path)
    other = MAIL.replace("__7.md", "__8.md")
    set_back(
        path, ("archive.json", FILES["archive.json"]), (MAIL, b"other"), (other, b"eight"), (f"{other}.d/x", b"mine")
    )

    convert(path)

    folder = MAIL.rpartition("/")[0].replace("/0", "/0-499")
    names = git(path, "ls-tree", "-r", "-z", "--name-only", "main", folder + "/").split("\0")[:-1]
    assert [name.rpartition("11/0-499/")[2] for name in names] == [
        MAIL.rpartition("/")[2],
        other.rpartition("/")[2],
        f"{other.rpartition('/')[2]}.d/x",
        'a "b\u00e4.txt',
    ]
    assert (path / MAIL.replace("/0/", "/0-499/")).read_bytes() == b"other\n"
    assert (path / other.replace("/0/", "/0-499/")).read_bytes() == b"eight\n"
    assert not (path / other).exists()
    git(path, "fsck", "--strict")


def test_what_a_program_of_before_writes_into_a_converted_archive_is_moved(path: Path) -> None:
    convert(path)
    other = MAIL.replace("__7.md", "__8.md")
    set_back(path, (MAIL, b"newer"), (other, b"eight"))

    writer = open_writer(path)
    was_needed = (writer.version, writer.conversion.is_needed)
    convert(path)

    assert was_needed == (2, True)
    assert {file.name: file.read_bytes() for file in (path / MAIL).parents[1].glob("*/*.md")} == {
        MAIL.rpartition("/")[2]: b"newer\n",
        other.rpartition("/")[2]: b"eight\n",
    }
    assert not (path / MAIL).parent.exists()
    assert git(path, "log", "-1", "--format=%s").strip() == "archive: format 2 (some of it was 1 again)"
    assert git(path, "status", "--porcelain") == ""


def test_a_copy_of_a_folder_under_its_former_name_changes_nothing(path: Path) -> None:
    convert(path)
    set_back(path, (MAIL, b"body\n"))

    convert(path)

    assert git(path, "show", f"main:{MAIL.replace('/0/', '/0-499/')}") == "body\n"


def test_it_is_looked_for_in_all_of_an_archive_whose_last_known_commit_is_gone(path: Path) -> None:
    convert(path)
    set_back(path, (MAIL, b"newer"))
    (path / VERSION_NOTE).write_text(f"2 {'1' * 40}\n")

    assert open_writer(path).conversion.is_needed


def test_one_that_is_cut_off_before_its_commit_leaves_the_files_where_they_are(path: Path) -> None:
    def die(reached: FailPoint) -> None:
        if reached is FailPoint.BEFORE_IMPORT:
            raise Killed

    writer = open_writer(path, die)
    with pytest.raises(Killed):
        list(iter(lambda: writer.convert(OutboxSeq(3), AT), 0))
    writer = open_writer(path)
    while writer.conversion.is_half_done:
        writer.convert(OutboxSeq(3), AT)

    assert writer.conversion.is_needed
    assert (path / MAIL).exists()


def test_no_part_is_longer_the_more_its_folders_hold(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "FILES_AT_ONCE", 2)
    monkeypatch.setattr(conversion, "PART_S", 0.0)
    with version_1():
        writer = open_writer(path)
        mails: dict[str, bytes | None] = {MAIL.replace("__7", f"__{at}"): b"%d" % at for at in range(10, 15)}
        writer.commit(mails, CommitText(subject="mail", agents=(), last_seq=OutboxSeq(3)), AT)
        refresh(writer)
    writer = open_writer(path)
    lying: list[tuple[int, int]] = []
    while writer.conversion.is_needed:
        writer.convert(OutboxSeq(3), AT)
        # In a folder of mail, and in the last that is cleared.
        lying.append((len(list(path.glob("messages/*/*/0-499/*.md"))), len(list(path.glob("agents/*/*/*/*/0/*.md")))))

    assert lying[:5] == [(0, 1)] * 5
    assert {later[0] - before[0] for before, later in pairwise(lying)} == {0, 1}
    assert lying.index((6, 0)) > lying.index((6, 1)) + 1


def test_files_that_could_not_be_moved_are_moved_by_a_later_step(path: Path) -> None:
    writer = open_writer(path)
    while writer.convert(OutboxSeq(3), AT) is None:
        pass
    (path / ".git/agent-mail/conversion").rename(path / "away")
    with pytest.raises(FileNotFoundError):
        writer.convert(OutboxSeq(3), AT)
    (path / "away").rename(path / ".git/agent-mail/conversion")
    while writer.conversion.is_needed:
        writer.convert(OutboxSeq(3), AT)

    assert (path / MAIL.replace("/0/", "/0-499/")).exists()
    assert not (path / MAIL).exists()


@pytest.mark.parametrize("said", ['{"before": "--output=x"}', "[" * 100_000, None], ids=["option", "deep", "fifo"])
def test_git_is_told_no_more_of_the_note_than_a_commit(path: Path, said: str | None) -> None:
    writer = open_writer(path)
    while writer.convert(OutboxSeq(3), AT) is None:
        pass
    note = path / ".git/agent-mail/conversion"
    note.unlink()
    if said is None:
        os.mkfifo(note)
    else:
        note.write_text(said)

    with pytest.raises(NotOurGitFolder, match="does not say which commit"):
        writer.convert(OutboxSeq(3), AT)


def test_a_file_that_is_blocked_meanwhile_is_written_at_its_new_place(path: Path) -> None:
    writer = open_writer(path)
    with version_1():
        (path / MAIL).unlink()
        (path / MAIL).mkdir()
        text = CommitText(subject="mail", agents=(), last_seq=OutboxSeq(4))
        writer.commit({MAIL: b"new"}, text, AT)
    was_blocked = writer.has_blocked
    while writer.convert(OutboxSeq(4), AT) is None:
        pass
    writer.write_blocked()

    assert (was_blocked, writer.has_blocked) == (True, False)
    assert (path / MAIL.replace("/0/", "/0-499/")).read_bytes() == b"new\n"


def test_a_link_in_place_of_a_folder_is_not_followed(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (path / "agents/RedStone/inbox/2026/11/0").rename(elsewhere)
    (path / "agents/RedStone/inbox/2026/11/0").symlink_to(elsewhere)

    convert(path)

    assert [file.name for file in elsewhere.iterdir()] == [COPY.rpartition("/")[2]]
    assert (path / COPY.replace("/0/", "/0-499/")).exists()


def test_contents_and_folders_are_in_git_before_any_commit_names_them(path: Path) -> None:
    repository = ArchiveRepository(path)

    import_folders(repository, lambda put_blob, _: put_blob(b"unnamed"))

    assert len(git(path, "fsck", "--unreachable").splitlines()) == 1


def test_a_version_to_come_is_refused(path: Path) -> None:
    (path / "archive.json").write_text('{"format": 3, "store_id": "s"}')
    git(path, "commit", "-q", "-m", "Newer", "--", "archive.json")

    with pytest.raises(NewerArchive, match="version 3"):
        open_writer(path)
