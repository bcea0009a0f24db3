from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.archive.reading.bounded_reader import (
    ArchiveNotFound,
    ArchiveReadTooLong,
    ArchiveSilent,
    ArchiveUnreadable,
    BoundedReader,
    TimeBudget,
)
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository
from tests.archive.one_archive import NOTE, add_commit, begin
from tests.sick_git import put_git


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


def numbers_in(looked: BoundedReader) -> list[int]:
    with looked.told():
        return [int(record[:0]) for record in looked.log(BRANCH, "--", form="%H", most=1)]


@pytest.mark.parametrize("has_commits", [False, True])
def test_where_no_history_is_nothing_is_found(repository: ArchiveRepository, has_commits: bool) -> None:
    if has_commits:
        add_commit(repository, {NOTE: b"one\n"}, seq=1)
    looked = BoundedReader(repository.path / ("none" if has_commits else ""), timeout_s=30.0)

    with pytest.raises(ArchiveNotFound, match="no readable history") as refused:
        numbers_in(looked)

    assert "am doctor verify" in refused.value.hint


GITS = {
    "fails": ("exit 1", r"`git log` ended with an error"),
    "talks garbage": ("printf 'x\\0'", "What Git says cannot be read"),
    "is not there": (None, "Git cannot be run"),
}


@pytest.mark.parametrize("fault", GITS)
def test_a_git_that_fails_is_no_want_of_history(
    repository: ArchiveRepository, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_commit(repository, {NOTE: b"one\n"}, seq=1)
    script, told = GITS[fault]
    put_git(tmp_path / "bin", script, monkeypatch)

    with pytest.raises(ArchiveUnreadable, match=told) as refused:
        numbers_in(reader(repository))

    assert (refused.value.code, refused.value.data["retry_after_s"]) == ("UNAVAILABLE", 60)
    assert "am doctor verify" in refused.value.hint


def test_a_git_that_hangs_is_told_as_that(
    repository: ArchiveRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_commit(repository, {NOTE: b"one\n"}, seq=1)
    put_git(tmp_path / "bin", "exec sleep 300", monkeypatch)

    with pytest.raises(ArchiveSilent, match=r"Git did not answer within 0\.2 s"):
        numbers_in(BoundedReader(repository.path, timeout_s=0.2))


def test_runs_share_one_budget_and_after_it_none_is_begun(
    repository: ArchiveRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = add_commit(repository, {NOTE: b"one\n"}, seq=1)
    at = 100.0
    within = TimeBudget(10.0, elapsed=lambda: at)
    readers = [BoundedReader(repository.path, timeout_s=10.0, within=within) for _ in range(2)]

    at = 109.0
    assert [one.objects([commit])[0] is not None for one in readers] == [True, True]
    at = 110.0
    put_git(tmp_path / "bin", f"echo >> {tmp_path / 'asked'}", monkeypatch)

    for one in readers:
        with one.told(), pytest.raises(ArchiveReadTooLong, match="not done within 10 s") as refused:
            one.objects([commit])
        assert refused.value.data["retry_after_s"] == 10
    assert not (tmp_path / "asked").exists()


def test_a_run_that_had_only_the_rest_of_the_time_does_not_show_that_git_hangs(
    repository: ArchiveRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_commit(repository, {NOTE: b"one\n"}, seq=1)
    put_git(tmp_path / "bin", "exec sleep 300", monkeypatch)

    with pytest.raises(ArchiveReadTooLong, match="Git is slow"):
        numbers_in(BoundedReader(repository.path, timeout_s=30.0, within=TimeBudget(0.2)))
