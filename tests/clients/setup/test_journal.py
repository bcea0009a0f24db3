from __future__ import annotations

import fcntl
import json
import os
import stat
from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.journal import Journal, Record, SetupRunning, UnfitJournal, digest
from mcp_agent_mail.core.failpoints import FailPoint
from tests.clients.setup.homes import wishes


def record(path: Path) -> Record:
    return Record(
        path=path, original=b"\xff\x00", written=["a", "b"], wishes=wishes(Path("/home/me"), "claude"), mode=0o640
    )


def test_what_is_kept_is_read_again_and_is_for_this_user_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with journal.held():
        journal.keep(record(tmp_path / "a.json"), [tmp_path / "made"])

    again = Journal(tmp_path)
    again.read()

    (kept,) = again.records.values()
    assert json.dumps(kept.to_json()) == json.dumps(record(tmp_path / "a.json").to_json())
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700


def test_with_the_last_file_all_that_was_made_goes(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with journal.held():
        journal.keep(record(tmp_path / "made/a.json"), [tmp_path / "made"])
        (tmp_path / "made").mkdir()
        journal.forget(tmp_path / "made/a.json")

    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_somebody_stays(tmp_path: Path) -> None:
    (tmp_path / ".config").mkdir()

    with Journal(tmp_path).held():
        pass

    assert [path.name for path in tmp_path.iterdir()] == [".config"]
    assert list((tmp_path / ".config").iterdir()) == []


def test_two_are_never_at_work(tmp_path: Path) -> None:
    with Journal(tmp_path).held(), pytest.raises(SetupRunning), Journal(tmp_path).held():
        pass


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "folders": [], "files": [{}]}', "\x00"]
)
def test_a_journal_that_cannot_be_read_is_kept_and_said(text: str, tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.path.parent.mkdir(parents=True)
    journal.path.write_text(text)

    with pytest.raises(UnfitJournal) as unfit, journal.held():
        pass

    assert journal.path.read_text() == text
    assert str(journal.path) in unfit.value.message


def test_a_digest_tells_files_apart_and_nothing_from_an_empty_one() -> None:
    assert len({digest(None), digest(b""), digest(b"a")}) == 3


def test_what_could_not_be_written_is_not_kept(tmp_path: Path) -> None:
    def full(point: FailPoint) -> None:
        if point is FailPoint.SETUP_KEEPING and len(journal.records) == 1:
            raise OSError(28, "No space left on device")

    journal = Journal(tmp_path, full)
    with journal.held():
        with pytest.raises(OSError, match="No space"):
            journal.keep(record(tmp_path / "a.json"), [tmp_path / "made"])

        assert journal.records == {}
        assert [path.name for path in journal.path.parent.iterdir()] == ["journal.json"]

    assert list(tmp_path.iterdir()) == []


def test_whoever_finds_another_at_work_leaves_its_journal_alone(tmp_path: Path) -> None:
    late = Journal(tmp_path)
    late.read()
    with Journal(tmp_path).held():
        with pytest.raises(SetupRunning), late.held():
            pass

        assert late.path.exists()


@pytest.mark.parametrize("comes_another", [True, False])
def test_whoever_got_a_folder_that_is_no_longer_there_is_not_at_work(
    comes_another: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ended in the instant between has taken its folder away, and a third may have made it anew."""
    folder = kept(tmp_path).path.parent
    lock = fcntl.flock

    def late(descriptor: int, operation: int) -> None:
        folder.rename(folder.with_name("gone"))
        if comes_another:
            folder.mkdir(0o700)
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)

    with pytest.raises(SetupRunning), Journal(tmp_path).held():
        pass


@pytest.mark.parametrize("which", ["folder", "file"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_a_journal_that_others_can_write_is_not_read(which: str, mode: int, tmp_path: Path) -> None:
    journal = kept(tmp_path)
    path = journal.path.parent if which == "folder" else journal.path
    path.chmod(path.stat().st_mode | mode)

    with pytest.raises(UnfitJournal, match="can be written by others") as unfit, journal.held():
        pass

    assert unfit.value.hint.endswith(f"chmod go-w {path}")


@pytest.mark.parametrize("which", ["folder", "file"])
def test_a_journal_of_another_user_is_not_read(which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = kept(tmp_path)
    path = journal.path.parent if which == "folder" else journal.path
    if os.geteuid() == 0:
        os.chown(path, 4711, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)

    with pytest.raises(UnfitJournal, match="belongs to another user"):
        journal.read()


def test_of_a_mode_no_more_is_taken_than_who_may_read_write_and_run(tmp_path: Path) -> None:
    journal = kept(tmp_path)
    journal.path.write_text(journal.path.read_text().replace(f'"mode": {0o640}', f'"mode": {0o6755}'))

    journal.read()

    assert [one.mode for one in journal.records.values()] == [0o755]


def kept(home: Path) -> Journal:
    journal = Journal(home)
    with journal.held():
        journal.keep(record(home / "a.json"))
    return journal
