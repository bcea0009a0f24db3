"""Which months the work tree shows, what is noted of it, and that Git puts the others away."""

from __future__ import annotations

import json
import os
from pathlib import Path
from shutil import which

import pytest

from mcp_agent_mail.archive.git_folder import STATE, is_switched_on
from mcp_agent_mail.archive.months import (
    EXTRA_MONTHS,
    KeptMonths,
    MonthsNote,
    Thinning,
    cone_folders,
    files_of_month,
    is_in_force,
    months_around,
    months_in,
    months_of_branch,
)
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.clock import parse_time
from mcp_agent_mail.core.failpoints import FailPoint, no_fault
from mcp_agent_mail.core.git import environment
from mcp_agent_mail.core.git.process import GitFailed
from tests.archive.one_archive import add_commit, begin
from tests.archive_harness import git

LONG_S = 60.0
KEPT = KeptMonths(months=("2026-12", "2027-01", "2027-02"), extra=("2026-03",))
_FILES = (
    "archive.json",
    "agents/Red/profile.json",
    "agents/Red/inbox/2026/03/a__1.md",
    "agents/Red/inbox/2026/04/b__2.md",
    "messages/2026/04/b__2.md",
    "messages/2027/01/c__3.md",
    "notes/theirs.md",
)


@pytest.fixture
def repository(path: Path) -> ArchiveRepository:
    repository = begin(path)
    add_commit(repository, dict.fromkeys(_FILES, b"x"))
    git(path, "reset", "-q", "--hard")
    return repository


def _shown(path: Path) -> list[str]:
    return sorted(
        str(file.relative_to(path)) for file in path.rglob("*") if file.is_file() and ".git" not in file.parts
    )


# --- Which are kept ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "held"),
    [
        ("agents/Red/profile.json", True),
        ("messages/2027/01/c__3.md", True),
        ("messages/2029/07/late.md", True),
        ("messages/2026/03/a.md", True),
        ("messages/2026/04/b.md", False),
    ],
)
def test_kept_is_what_belongs_to_no_month_the_recent_ones_and_those_that_were_brought_back(
    path: str, held: bool
) -> None:
    assert KEPT.hold(path) is held
    assert KeptMonths(months=()).hold(path) is True


def test_a_month_that_is_brought_back_is_one_more_and_of_many_the_first_one_goes() -> None:
    more = KEPT
    for number in range(EXTRA_MONTHS):
        more = more.with_extra(f"2020-{number + 1:02}")

    assert more.extra == tuple(f"2020-{number + 1:02}" for number in range(EXTRA_MONTHS))
    assert (KEPT.with_extra("2027-01"), KEPT.with_extra("2026-03")) == (KEPT, KEPT)


def test_a_decision_for_other_months_is_not_carried_out_yet() -> None:
    in_force = KeptMonths(months=("2027-01",), cone="abc")

    assert in_force.with_extra("2026-03").cone == ""


def test_what_git_writes_is_what_was_not_shown_before_or_not_yet_on_disk() -> None:
    before = KeptMonths(months=("2026-12", "2027-01"), unsynced=("2026-12",))

    assert KEPT.after(before).unsynced == ("2026-03", "2026-12", "2027-02")
    assert KEPT.after(None) == KEPT


@pytest.mark.parametrize(
    ("now", "months"),
    [
        ("2027-01-01T00:00:00Z", ("2026-12", "2027-01", "2027-02")),
        ("2026-12-31T23:59:59Z", ("2026-11", "2026-12", "2027-01")),
    ],
)
def test_the_turn_of_a_month_or_a_year_is_always_shown(now: str, months: tuple[str, ...]) -> None:
    assert months_around(parse_time(now)) == months


# --- The note ---------------------------------------------------------------------------------------------------------


def test_a_note_is_read_as_it_was_written(repository: ArchiveRepository) -> None:
    note = MonthsNote(repository.path / STATE)
    nothing = (note.read(), note.is_unfinished())
    note.write(KEPT)
    begun = (note.read(), note.is_unfinished())
    note.write(KeptMonths(months=KEPT.months, cone="abc"))

    assert nothing == (None, False)
    assert begun == (KEPT, True)
    assert (note.read(), note.is_unfinished()) == (KeptMonths(months=KEPT.months, cone="abc"), False)
    assert [path.name for path in (repository.path / STATE).iterdir()] == ["months"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"cone": "", "months": 3}', '{"cone": "", "months": ["../.."]}', '{"months": ["2027-01"]}'],
)
def test_a_torn_note_tells_nothing_of_what_is_shown(text: str) -> None:
    assert months_in(text) == KeptMonths(months=())


def test_a_note_of_an_earlier_version_lacks_what_came_later() -> None:
    assert months_in(json.dumps({"months": ["2027-01"], "cone": "c"})) == KeptMonths(months=("2027-01",), cone="c")


# --- In the repository ------------------------------------------------------------------------------------------------


def test_the_branch_tells_its_months_and_how_many_files_each_has(repository: ArchiveRepository) -> None:
    assert months_of_branch(repository) == ["2026-03", "2026-04", "2027-01"]
    assert [files_of_month(repository, month) for month in ("2026-03", "2026-04", "2025-01")] == [1, 2, 0]


def test_what_is_shown_are_the_kept_months_of_every_agent_and_peoples_own_folders(
    repository: ArchiveRepository,
) -> None:
    folders = cone_folders(repository, KeptMonths(months=("2027-01",)))

    assert "notes" in folders
    assert {"messages/2027/01", "agents/Red/inbox/2027/01", "agents/Red/outbox/2027/01"} < set(folders)
    assert not {"agents", "messages", "messages/2026/04"} & set(folders)


def test_other_months_are_put_away_and_it_is_noted_when_that_is_done(repository: ArchiveRepository) -> None:
    note = MonthsNote(repository.path / STATE)
    thinning = Thinning(repository, note, KEPT, no_fault)
    was_unfinished = note.is_unfinished()
    thinning.finish(LONG_S)

    assert (was_unfinished, note.is_unfinished(), thinning.is_running()) == (True, False, False)
    assert _shown(repository.path) == sorted(set(_FILES) - {_FILES[3], _FILES[4]})
    assert git(repository.path, "status", "--porcelain") == ""
    assert is_switched_on(repository.path)


def test_git_puts_the_index_on_disk_where_it_puts_months_away(
    repository: ArchiveRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = repository.path / STATE / "trace"
    monkeypatch.setitem(environment._VARIABLES, "GIT_TRACE2_PERF", str(trace))

    Thinning(repository, MonthsNote(repository.path / STATE), KEPT, no_fault).finish(LONG_S)

    assert "fsync/hardware-flush" in trace.read_text()


def test_it_is_in_force_for_these_months_and_these_folders_alone(repository: ArchiveRepository) -> None:
    note = MonthsNote(repository.path / STATE)
    Thinning(repository, note, KEPT, no_fault).finish(LONG_S)
    kept = note.read()
    assert kept is not None

    before = is_in_force(repository, kept)
    other = is_in_force(repository, kept.with_extra("2026-04"))
    add_commit(repository, {"agents/Blue/profile.json": b"x"})

    assert (before, other, is_in_force(repository, kept)) == (True, False, False)


def test_one_that_takes_too_long_is_ended_and_stays_unfinished(
    repository: ArchiveRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\ncase "$*" in *sparse-checkout*) exec sleep 600 ;; esac\nexec {which("git")} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    note = MonthsNote(repository.path / STATE)

    thinning = Thinning(repository, note, KEPT, no_fault)
    with pytest.raises(GitFailed, match="were not put away within 0 s"):
        thinning.finish(0.05)

    assert (note.is_unfinished(), thinning.is_running()) == (True, False)


def test_a_stop_before_git_begins_leaves_it_unfinished(repository: ArchiveRepository) -> None:
    class StoppedError(Exception):
        pass

    def stop(point: FailPoint) -> None:
        if point is FailPoint.THINNING:
            raise StoppedError

    note = MonthsNote(repository.path / STATE)

    with pytest.raises(StoppedError):
        Thinning(repository, note, KEPT, stop)

    assert note.is_unfinished()
    assert _shown(repository.path) == sorted(_FILES)
