from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.failpoints import FailPoint, Kill
from mcp_agent_mail.core.ids import OutboxSeq, ProjectId
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.features.archiving.protocol import (
    SAID_AT_MOST,
    ArchiverSettings,
    Blocked,
    CareFailed,
    CheckedOut,
    Committed,
    Drained,
    Failed,
    Ready,
    Recovered,
    Report,
    SlugRefused,
    archive_path,
    from_line,
    place_in,
    to_line,
)

COMMIT = ArchiveCommit(
    project_id=ProjectId(1),
    hexsha="a" * 40,
    summary="mail: Ä -> B | ☃\u2028",
    authored_ts=Micros(1),
    last_seq=OutboxSeq(9),
)


@pytest.mark.parametrize(
    "report",
    [
        Committed(project="app", commit=COMMIT, events=3, oldest_ts=Micros(5)),
        Committed(project="app", commit=COMMIT, events=0, oldest_ts=None),
        Failed(project="app", message="two\nlines", hint="next"),
        Ready(pid=7),
        Recovered(project="app"),
        Drained(pending=2),
    ],
)
def test_a_report_is_one_line_and_comes_back_as_it_was(report: Report) -> None:
    line = to_line(report)

    assert line.count(b"\n") == 1
    assert from_line(line) == report


@pytest.mark.parametrize(
    "report",
    [
        Failed(project="app", message="\N{BOMB}" * 70_000, hint="\udcff" * 70_000),
        CareFailed(project="app", message="x" * 70_000),
        CheckedOut(request=1, files=0, problem="\N{BOMB}" * 70_000, hint="\N{BOMB}" * 70_000),
        Blocked(message="\0" * 70_000, hint="x" * 70_000),
    ],
)
async def test_a_long_text_is_cut_so_that_its_reader_takes_the_line(report: Report) -> None:
    reader = asyncio.StreamReader()  # With the limit that the archiver's output is read with.
    reader.feed_data(to_line(report))
    reader.feed_eof()

    heard = from_line(await reader.readline())

    told = [value for value in asdict(heard).values() if isinstance(value, str) and value not in ("app", "")]
    assert told
    assert all(len(text) == SAID_AT_MOST and text.endswith(" [cut]") for text in told)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"", "Expecting value"),
        (b"{}", "not enough values"),
        (b'{"Other": {}}', "'Other' is no report"),
        (b"Traceback", "Expecting value"),
    ],
)
def test_a_line_that_is_no_report_is_an_error(line: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        from_line(line)


@pytest.mark.parametrize("failpoint", [None, Kill(point=FailPoint.AFTER_IMPORT, nth=3)])
def test_settings_travel_as_one_line(failpoint: Kill | None) -> None:
    settings = ArchiverSettings(
        storage_root="/a b",
        database_path="/a b/mail.sqlite3",
        author_name="x",
        author_email="y",
        commit_interval_ms=500,
        failpoint=failpoint,
    )

    assert ArchiverSettings.from_line(settings.to_line()) == settings


@pytest.mark.parametrize("slug", ["/etc/app", "../app", "app/../..", "", ".", "App", "app\n", "a" * 86])
def test_no_file_is_called_after_what_no_project_can_be_called(slug: str, tmp_path: Path) -> None:
    for place in (archive_path, place_in):
        with pytest.raises(SlugRefused, match="cannot have the slug"):
            place(tmp_path, slug)


def test_what_is_called_after_a_project_lies_in_its_folder(tmp_path: Path) -> None:
    assert archive_path(tmp_path, "code-app-1a2b3c4d") == tmp_path / "projects" / "code-app-1a2b3c4d"
