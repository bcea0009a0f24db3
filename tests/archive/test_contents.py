"""Contents beside the database, read in pieces; and what an archive lacks of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.archive.contents import (
    CHUNK,
    NO_CONTENTS,
    Contents,
    ContentsMissing,
    MissingContents,
    contents_of_branch,
    without_known,
)
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.domain.archive_format.layout import Changes
from mcp_agent_mail.domain.attachments import StoredContent
from tests.archive.one_archive import add_commit, begin
from tests.on_disk import OnDisk
from tests.stored_contents import content_path, keep_content

LARGE = bytes(range(256)) * (CHUNK // 256) + b"and a little more"


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(AttachmentFiles(tmp_path / ATTACHMENTS_FOLDER))


def told(contents: Contents, content: StoredContent) -> tuple[bool, list[bytes]]:
    said: list[bytes] = []
    return contents.tell(content, said.append), said


@pytest.mark.parametrize("data", [b"", b"some text\n", LARGE])
def test_a_content_is_told_piece_by_piece(tmp_path: Path, contents: Contents, data: bytes) -> None:
    content = keep_content(tmp_path, data)

    is_whole, said = told(contents, content)

    assert is_whole
    assert b"".join(said) == data
    assert max(map(len, said), default=0) <= CHUNK
    assert contents.has(content)
    assert contents.problem_of(content.sha256) is None


def _remove(path: Path) -> None:
    path.unlink()


def _cut(path: Path) -> None:
    path.write_bytes(b"so")


def _lead_elsewhere(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _put_a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _put_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [_remove, _cut, _lead_elsewhere, _put_a_fifo, _put_a_folder])
def test_of_what_is_no_plain_file_of_its_size_nothing_is_told(
    tmp_path: Path, contents: Contents, harm: Callable[[Path], None]
) -> None:
    content = keep_content(tmp_path, b"some text\n")
    harm(content_path(tmp_path, content))

    assert told(contents, content) == (False, [])
    assert not contents.has(content)
    assert contents.problem_of(content.sha256) == ("missing" if harm is _remove else "different")


def test_of_what_is_another_content_of_its_size_all_is_told_and_it_is_said(tmp_path: Path, contents: Contents) -> None:
    content = keep_content(tmp_path, b"some text\n")
    content_path(tmp_path, content).write_bytes(b"some tExt\n")

    assert told(contents, content) == (False, [b"some tExt\n"])
    with pytest.raises(OSError, match="cannot be read"):
        contents.require(content, lambda _: None)
    assert contents.problem_of(content.sha256) == "different"


def test_what_shrinks_while_it_is_told_is_filled_up(tmp_path: Path, contents: Contents) -> None:
    content = keep_content(tmp_path, LARGE)
    said: list[bytes] = []

    def say(chunk: bytes) -> None:
        os.truncate(content_path(tmp_path, content), CHUNK)
        said.append(chunk)

    assert not contents.tell(content, say)
    assert b"".join(said) == LARGE[:CHUNK] + bytes(len(LARGE) - CHUNK)


def test_where_there_are_none_none_is_there() -> None:
    content = StoredContent(sha256=hashlib.sha256().hexdigest(), bytes=0, extension="txt")

    assert not NO_CONTENTS.has(content)
    assert NO_CONTENTS.problem_of(content.sha256) == "missing"


def test_what_a_commit_has_is_known_by_its_path(tmp_path: Path) -> None:
    repository = begin(tmp_path / "app")
    known, new = keep_content(tmp_path, b"known"), keep_content(tmp_path, b"new")
    files: Changes = {known.path: known, new.path: new, "messages/a.md": b"mail", "messages/b.md": None}
    assert without_known(repository, None, files) == files

    tip = add_commit(repository, {known.path: b"known", "messages/a.md": b"mail"})

    assert without_known(repository, tip, files).keys() == files.keys() - {known.path}


def test_what_is_lacked_is_noted_and_outlives_the_process(tmp_path: Path) -> None:
    note = tmp_path / "app" / ".git" / "agent-mail" / "lacked"
    note.parent.mkdir(parents=True)
    one, other = keep_content(tmp_path, b"one"), keep_content(tmp_path, b"other")
    lacked = MissingContents(note)
    assert not lacked

    lacked.note({one.path: one, other.path: other})
    lacked.remove([one.path, "messages/a.md"])

    again = MissingContents(note)
    assert again.files == {other.path: other}
    with pytest.raises(ContentsMissing, match=f"app lacks 1 .* {other.path}") as refused:
        again.require_none()
    assert refused.value.data == {"paths": [other.path]}

    again.remove([other.path])
    assert not again
    assert not note.exists()
    again.require_none()


def test_what_is_lacked_and_is_lacked_no_more_is_on_disk_with_the_name_of_its_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "lacked"
    one, other = keep_content(tmp_path, b"one"), keep_content(tmp_path, b"other")
    lacked = MissingContents(note)
    on_disk, replace = OnDisk(monkeypatch), Path.replace

    def replace_whole(fresh: Path, place: Path) -> Path:
        assert on_disk.has(fresh)
        return replace(fresh, place)

    monkeypatch.setattr(Path, "replace", replace_whole)

    lacked.note({one.path: one, other.path: other})
    assert (on_disk.has(note), on_disk.has(tmp_path)) == (True, True)

    lacked.remove([one.path])
    assert (on_disk.has(note), on_disk.has(tmp_path)) == (True, True)


def test_which_ones_the_last_commit_went_without_is_told_apart(tmp_path: Path) -> None:
    one, other = keep_content(tmp_path, b"one"), keep_content(tmp_path, b"other")
    lacked = MissingContents(tmp_path / "lacked")

    lacked.note({one.path: one})
    lacked.note({other.path: other})

    assert lacked.newest == {other.path}
    assert lacked.files == {one.path: one, other.path: other}
    lacked.note({})
    assert not lacked.newest


@pytest.mark.parametrize("text", ["", "{", "7", "[[1]]", "[7]"])
def test_a_note_that_cannot_be_read_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "lacked").write_text(text)

    assert not MissingContents(tmp_path / "lacked")


def test_the_contents_of_a_branch_are_known_by_their_paths(tmp_path: Path) -> None:
    repository = begin(tmp_path / "app")
    content = keep_content(tmp_path, b"content")
    assert contents_of_branch(repository) == []

    add_commit(repository, {content.path: b"content", "attachments/ab/abc.txt": b"a person's", "messages/a": b"mail"})

    assert contents_of_branch(repository) == [content]
    assert contents_of_branch(ArchiveRepository(tmp_path / "none")) == []
