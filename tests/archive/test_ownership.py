"""Whose archive it is, and whether it is where the database says."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.git_folder import NotOurGitFolder
from mcp_agent_mail.archive.ownership import (
    ArchiveAhead,
    ArchiveBehind,
    ArchiveNotMoved,
    ArchiveOwner,
    ForeignArchive,
    OutboxPosition,
    Written,
    require_fit,
    require_same,
    store_of,
    version_at,
)
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.ids import OutboxSeq
from tests.archive.one_archive import AT, IDENTITY, add_commit, begin, open_writer, text
from tests.archive_harness import git


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


def _claim(archived: int, highest: int = 100) -> OutboxPosition:
    return OutboxPosition(highest_seq=OutboxSeq(highest), archived_seq=OutboxSeq(archived))


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_place_with_nothing_in_it_fits_a_new_archive_and_no_lost_one(path: Path, is_begun: bool) -> None:
    repository = begin(path) if is_begun else ArchiveRepository(path)

    require_fit(repository, "this-store", _claim(0))

    with pytest.raises(ArchiveBehind, match="holds no archive any more; the database has seen event 3 there"):
        require_fit(repository, "this-store", _claim(3))


def test_it_fits_where_it_holds_what_the_database_has_seen_and_no_more_than_that_has_given_out(path: Path) -> None:
    repository = begin(path)
    add_commit(repository, {"archive.json": IDENTITY}, seq=7)

    require_fit(repository, "this-store", _claim(7, highest=7))

    with pytest.raises(ArchiveBehind, match="holds events up to 7 only"):
        require_fit(repository, "this-store", _claim(8))
    with pytest.raises(ArchiveAhead, match="up to 7; the database has given out 6"):
        require_fit(repository, "this-store", _claim(0, highest=6))
    with pytest.raises(ForeignArchive, match="this is store other"):
        require_fit(repository, "other", _claim(7))


def test_an_archive_without_an_event_of_ours_lacks_all(path: Path) -> None:
    repository = begin(path)
    add_commit(repository, {"archive.json": IDENTITY})

    require_fit(repository, "this-store", _claim(0))

    with pytest.raises(ArchiveBehind, match="up to 0 only"):
        require_fit(repository, "this-store", _claim(1))


def test_one_that_lies_elsewhere_or_was_set_up_by_others_is_not_looked_into(path: Path) -> None:
    add_commit(begin(path), {"archive.json": IDENTITY}, seq=1)
    link = path.with_name("link")
    link.symlink_to(path)

    with pytest.raises(ArchiveNotMoved):
        require_fit(ArchiveRepository(link), "this-store", _claim(1))
    git(path, "config", "core.fsmonitor", "/evil")
    with pytest.raises(NotOurGitFolder):
        require_fit(ArchiveRepository(path), "this-store", _claim(1))


@pytest.mark.parametrize(
    ("content", "store"),
    [(IDENTITY, "this-store"), (None, None), (b"{", None), (b"[]", None), (b"{}", None)],
)
def test_the_store_is_what_the_archives_own_file_says(path: Path, content: bytes | None, store: str | None) -> None:
    repository = begin(path)
    add_commit(repository, {"note": b"x", "archive.json": content})

    assert store_of(repository) == store


def test_a_commit_is_of_our_events_when_it_holds_what_they_wrote(path: Path) -> None:
    repository = begin(path)
    add_commit(repository, {"a": b"a", "b": b"b"}, seq=3)
    (sealed,) = repository.sealed()
    blob_a = git(path, "rev-parse", "main:a").strip()

    require_same(repository, sealed, Written(blobs={"a": blob_a, "b": None}))
    require_same(repository, sealed, Written(blobs={}, is_vague=True))

    others: dict[str, dict[str, str | None]] = {
        "they are none of this project's": {},
        "a differs": {"a": "0" * 40},
        "c differs": {"c": None},
    }
    for how, blobs in others.items():
        with pytest.raises(ArchiveAhead, match=rf"under the numbers up to 3 \({how}\)"):
            require_same(repository, sealed, Written(blobs=blobs))


def test_the_version_is_not_guessed_where_git_cannot_read_what_says_it(path: Path) -> None:
    repository = begin(path)
    (path / "archive.json").write_text('{"format": 1}')
    git(path, "add", "-f", "archive.json")
    git(path, "commit", "-q", "-m", "Begun")
    (path / "mine").write_text("mine")
    git(path, "add", "-f", "mine")
    git(path, "rm", "-q", "--cached", "archive.json")
    git(path, "commit", "-q", "-m", "Without")
    found = [version_at(repository, revision) for revision in ("main~", "main")]
    blob = git(path, "rev-parse", "main~:archive.json").strip()
    (path / ".git/objects" / blob[:2] / blob[2:]).unlink()

    assert found == [1, 2]
    with pytest.raises(GitFailed):
        version_at(repository, "main~")
