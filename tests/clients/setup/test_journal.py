from __future__ import annotations

import json
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
