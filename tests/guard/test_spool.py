"""What the guard did is told to the server, or left on disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcp_agent_mail.core.running_server import Deadline, RunningServer
from mcp_agent_mail.guard import spool
from mcp_agent_mail.guard.spool import NotRecorded, read_spooled, record
from tests.guard.answering import answer, answering
from tests.guard.in_process import GuardInProcess


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GuardInProcess:
    harness = GuardInProcess(tmp_path, monkeypatch, capsys)
    harness.base("src/app.py", "src/old.py", "README.md")
    harness.write_snapshot()
    return harness


def test_a_spool_that_is_full_is_said(harness: GuardInProcess) -> None:
    harness.hold("src/app.py")
    spool = harness.storage / "guard-spool"
    spool.mkdir()
    for number in range(1_000):
        (spool / f"{number}.json").write_text("{}")

    code, said = harness.commit("src/app.py")

    assert code == 1
    assert "could not be recorded" in said
    assert len(list(spool.iterdir())) == 1_000


def test_what_is_recorded_is_for_this_user_alone(harness: GuardInProcess) -> None:
    harness.hold("src/app.py")

    harness.commit("src/app.py")

    spool = harness.storage / "guard-spool"
    assert spool.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in spool.iterdir()] == [0o600]


EVENT = {"event_key": "k1", "ts": "2027-01-15T08:00:00+00:00", "action": "refused"}
LONG_S = 60.0


def test_a_server_that_takes_the_event_leaves_nothing_on_disk(tmp_path: Path) -> None:
    with answering(answer(200, {})) as at:
        record(EVENT, RunningServer(at.url, {}), Deadline(LONG_S), tmp_path)

    assert at.heads[0][0] == "POST /guard/events HTTP/1.0"
    assert at.bodies == [{"events": [EVENT]}]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("said", [b"", answer(403, {"detail": "no"})])
def test_what_no_server_takes_waits_on_disk(tmp_path: Path, said: bytes) -> None:
    with answering(said) as at:
        record(EVENT, RunningServer(at.url, {}), Deadline(LONG_S), tmp_path / "store")

    assert read_spooled(tmp_path / "store") == [EVENT]
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700


def test_looking_takes_nothing_away_and_leaves_out_what_is_no_event(tmp_path: Path) -> None:
    record(EVENT, None, Deadline(LONG_S), tmp_path)
    folder = tmp_path / "guard-spool"
    (folder / "deep.json").write_text("[" * 10_000)
    (folder / "list.json").write_text("[]")
    (folder / "timeless.json").write_text('{"ts": 1}')
    (folder / "link.json").symlink_to("k1.json")
    os.mkfifo(folder / "pipe.json")

    assert [read_spooled(tmp_path), read_spooled(tmp_path)] == [[EVENT], [EVENT]]


def test_an_event_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="the event has more than 16 KiB"):
        record({**EVENT, "note": "x" * 16_384}, None, Deadline(LONG_S), tmp_path)

    assert list((tmp_path / "guard-spool").iterdir()) == []


def test_a_full_spool_counts_events_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MAX_FILES", 1)
    (tmp_path / "guard-spool").mkdir()
    (tmp_path / "guard-spool" / ".k0.1").write_text("half")
    record(EVENT, None, Deadline(LONG_S), tmp_path)

    with pytest.raises(NotRecorded, match="holds 1 events already; a server takes them in when it starts"):
        record({**EVENT, "event_key": "k2"}, None, Deadline(LONG_S), tmp_path)

    assert read_spooled(tmp_path) == [EVENT]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "guard-spool").write_text("in the way")

    with pytest.raises(NotRecorded, match=f"{tmp_path}: File exists"):
        record(EVENT, None, Deadline(LONG_S), tmp_path)


def test_an_event_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "guard-spool" / "k1.json").mkdir(parents=True)

    with pytest.raises(NotRecorded, match="Is a directory"):
        record(EVENT, None, Deadline(LONG_S), tmp_path)

    assert [path.name for path in (tmp_path / "guard-spool").iterdir()] == ["k1.json"]
    assert json.dumps(read_spooled(tmp_path)) == "[]"
