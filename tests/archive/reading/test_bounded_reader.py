from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.archive.reading.bounded_reader import ArchiveNotFound, BoundedReader
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository
from tests.archive.one_archive import NOTE, add_commit, begin


@pytest.fixture
def repository(tmp_path: Path) -> ArchiveRepository:
    return begin(tmp_path / "app")


def reader(repository: ArchiveRepository) -> BoundedReader:
    return BoundedReader(repository.path, timeout_s=30.0)


def test_a_log_is_no_longer_than_asked_and_newest_first(repository: ArchiveRepository) -> None:
    made = [add_commit(repository, {NOTE: b"%d\n" % number}, seq=number) for number in range(1, 5)]

    with closing(reader(repository).log(BRANCH, "--", form="%H", most=3)) as log:
        assert list(log) == made[:0:-1]


def test_objects_are_told_in_their_order_and_what_is_missing_is_none(repository: ArchiveRepository) -> None:
    commit = add_commit(repository, {NOTE: b"one\n"}, seq=1)

    found = reader(repository).objects([f"{commit}:{NOTE}", "0" * 40, commit, f"{commit}:two words missing"])

    assert [None if one is None else one.kind for one in found] == ["blob", None, "commit", None]
    note = found[0]
    assert note is not None
    assert note.size_bytes == 4
    assert reader(repository).blob(note.name) == b"one\n"


def test_a_beginning_says_whether_it_is_all(repository: ArchiveRepository) -> None:
    commit = add_commit(repository, {NOTE: b"one\n"}, seq=1)

    assert reader(repository).beginning("show", f"{commit}:{NOTE}", most=2) == (b"on", False)
    assert reader(repository).beginning("show", f"{commit}:{NOTE}", most=4) == (b"one\n", True)


@pytest.mark.parametrize("fault", ["nowhere", "no revision", "no number"])
def test_what_cannot_be_read_is_told_with_what_to_do(repository: ArchiveRepository, fault: str) -> None:
    add_commit(repository, {NOTE: b"one\n"}, seq=1)
    looked = BoundedReader(repository.path / ("none" if fault == "nowhere" else ""), timeout_s=30.0)

    def look() -> list[int]:
        revision = "nothing" if fault == "no revision" else BRANCH
        with looked.told():
            return [int(record[:0]) for record in looked.log(revision, "--", form="%H", most=1)]

    with pytest.raises(ArchiveNotFound) as refused:
        look()

    assert "am doctor verify" in (refused.value.hint or "")
