"""An archive as people look through it. Names and contents are a stranger's."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.reading import browser
from mcp_agent_mail.archive.reading.bounded_reader import ArchiveNotFound
from mcp_agent_mail.archive.reading.browser import (
    ArchiveReader,
    ShownFile,
    ShownFolder,
    UnfitArchivePath,
    UnknownCommit,
    UnknownPath,
)
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.clock import SECOND, Micros
from tests.archive.one_archive import AT, IDENTITY, NOTE, add_commit, begin

HOSTILE = "messages/--output=x \u202egnp<b>.md"


@pytest.fixture
def repository(tmp_path: Path) -> ArchiveRepository:
    return begin(tmp_path / "app")


def look(repository: ArchiveRepository) -> ArchiveReader:
    return ArchiveReader(repository.path)


def test_commits_come_newest_first_and_go_on_behind_one(repository: ArchiveRepository) -> None:
    made = [add_commit(repository, {NOTE: b"%d\n" % number}, seq=number) for number in range(1, 5)]

    first = look(repository).commits(after=None, limit=2)
    rest = look(repository).commits(after=first[-1].hexsha, limit=9)

    assert [one.hexsha for one in (*first, *rest)] == made[::-1]


def test_a_change_has_its_message_files_and_lines(repository: ArchiveRepository) -> None:
    first = add_commit(repository, {NOTE: b"one\ntwo\n"}, seq=1)
    second = add_commit(repository, {NOTE: b"one\n2\n", HOSTILE: b"x\n"}, seq=2)

    change = look(repository).change(second[:12], with_files=True)

    assert (change.entry.hexsha, change.parents) == (second, (first,))
    assert change.told == "work\n\nOutbox-Seq: 2"
    assert {(one.path, one.added, one.removed) for one in change.files} == {(NOTE, 1, 1), (HOSTILE, 1, 0)}
    assert "-two\n+2\n" in change.diff
    assert change.is_whole_diff
    assert not change.has_more_files


def test_the_first_commit_shows_what_it_brought(repository: ArchiveRepository) -> None:
    first = add_commit(repository, {NOTE: b"one\n"}, seq=1)

    change = look(repository).change(first, with_files=True)

    assert [one.path for one in change.files] == [NOTE]
    assert "+one" in change.diff


def test_without_files_nothing_of_a_change_is_read(repository: ArchiveRepository) -> None:
    first = add_commit(repository, {NOTE: b"secret\n"}, seq=1)

    change = look(repository).change(first, with_files=False)

    assert (change.files, change.diff) == ((), "")
    assert change.entry.summary == "work"


def test_a_change_is_cut_where_it_is_long(repository: ArchiveRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "MOST_DIFF_BYTES", 1_000)
    monkeypatch.setattr(browser, "MOST_FILES", 3)
    files = {f"messages/{number}.md": b"line\n" * 100 for number in range(5)}
    commit = add_commit(repository, files, seq=1)

    change = look(repository).change(commit, with_files=True)

    assert len(change.diff) == 1_000
    assert not change.is_whole_diff
    assert len(change.files) == 3
    assert change.has_more_files


@pytest.mark.parametrize("name", ["", "main", "HEAD", "--output=x", "0" * 40, "a" * 65, "refs/heads/main"])
def test_what_names_no_commit_is_unknown(repository: ArchiveRepository, name: str) -> None:
    add_commit(repository, {NOTE: b"one\n"}, seq=1)

    with pytest.raises(UnknownCommit):
        look(repository).change(name, with_files=True)
    if name:
        with pytest.raises(UnknownCommit):
            look(repository).commits(after=name, limit=1)


def test_a_blob_is_no_commit(repository: ArchiveRepository) -> None:
    add_commit(repository, {NOTE: b"one\n"}, seq=1)
    blob = repository.blobs_at("main", [NOTE])[0]
    assert blob is not None

    with pytest.raises(UnknownCommit):
        look(repository).change(blob, with_files=True)


def test_a_folder_lists_folders_first_and_a_file_is_read(repository: ArchiveRepository) -> None:
    add_commit(repository, {"archive.json": IDENTITY, NOTE: b"one\n", HOSTILE: b"two"}, seq=1)

    root, messages = look(repository).look(""), look(repository).look("messages/")
    hostile = look(repository).look(HOSTILE)

    assert isinstance(root, ShownFolder)
    assert [(one.name, one.is_folder) for one in root.listed] == [("messages", True), ("archive.json", False)]
    assert isinstance(messages, ShownFolder)
    assert {(one.name, one.size_bytes) for one in messages.listed} == {
        ("note.md", 4),
        (HOSTILE.removeprefix("messages/"), 3),
    }
    assert hostile == ShownFile(path=HOSTILE, size_bytes=3, content=b"two")


def test_a_long_folder_and_a_large_file_are_bounded(
    repository: ArchiveRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "MOST_LISTED", 2)
    monkeypatch.setattr(browser, "MOST_FILE_BYTES", 3)
    add_commit(repository, {f"messages/{number}.md": b"1234" for number in range(3)}, seq=1)

    folder, file = look(repository).look("messages"), look(repository).look("messages/0.md")

    assert isinstance(folder, ShownFolder)
    assert (len(folder.listed), folder.has_more) == (2, True)
    assert file == ShownFile(path="messages/0.md", size_bytes=4, content=None)


def test_a_long_folder_goes_on_until_all_of_it_was_listed(
    repository: ArchiveRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "MOST_LISTED", 2)
    files = {f"messages/{number}.md": b"x" * number for number in range(4)} | {"messages/b/x.md": b"1"}
    add_commit(repository, files, seq=1)

    pages = [look(repository).look("messages", skip=skip) for skip in (0, 2, 4, 6, 10**14)]

    assert all(isinstance(page, ShownFolder) for page in pages)
    listed = [[(one.name, one.size_bytes) for one in page.listed] for page in pages if isinstance(page, ShownFolder)]
    assert listed == [[("0.md", 0), ("1.md", 1)], [("2.md", 2), ("3.md", 3)], [("b", None)], [], []]
    assert [page.has_more for page in pages if isinstance(page, ShownFolder)] == [True, True, False, False, False]


@pytest.mark.parametrize("path", ["../x", "messages/../../etc", "a\0b", "x" * 1_001, "."])
def test_what_is_no_path_is_refused(repository: ArchiveRepository, path: str) -> None:
    add_commit(repository, {NOTE: b"one\n"}, seq=1)

    with pytest.raises(UnfitArchivePath):
        look(repository).look(path)


@pytest.mark.parametrize("path", ["nothing", "messages/*", ":(glob)**", "messages/note.md/below", "--"])
def test_a_path_is_taken_letter_by_letter(repository: ArchiveRepository, path: str) -> None:
    add_commit(repository, {NOTE: b"one\n"}, seq=1)

    with pytest.raises(UnknownPath):
        look(repository).look(path)


def test_times_are_those_since_then(repository: ArchiveRepository) -> None:
    later = Micros(AT + 3_600 * SECOND)
    add_commit(repository, {NOTE: b"one\n"}, seq=1)
    add_commit(repository, {NOTE: b"two\n"}, seq=2, at=later)

    assert look(repository).times(Micros(AT + SECOND)) == [later]
    assert look(repository).times(AT) == [later, AT]


def test_no_more_times_are_read_than_so_many_of_the_newest(
    repository: ArchiveRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = Micros(AT + 3_600 * SECOND)
    add_commit(repository, {NOTE: b"one\n"}, seq=1)
    add_commit(repository, {NOTE: b"two\n"}, seq=2, at=later)
    monkeypatch.setattr(browser, "MOST_TIMES", 1)

    assert look(repository).times(AT) == [later]


def test_where_no_archive_is_that_is_told(tmp_path: Path) -> None:
    with pytest.raises(ArchiveNotFound):
        ArchiveReader(tmp_path / "nowhere").commits(after=None, limit=1)
