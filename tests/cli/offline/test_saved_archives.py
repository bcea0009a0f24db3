from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.cli.offline.saved_archives import export_offline, list_offline, save_offline
from mcp_agent_mail.domain.projects import UnknownProject
from tests.cli.shell import Shell
from tests.served import git


def _silent(done: int, total: int) -> None:
    assert done <= total


def test_a_project_is_named_by_its_path_and_an_unknown_one_is_refused(at_stopped: Shell, tmp_path: Path) -> None:
    context = at_stopped.context()

    saved = save_offline(context, tmp_path / "s.tar", [str(context.settings.agent_mail_project)], progress=_silent)
    with pytest.raises(UnknownProject):
        save_offline(context, tmp_path / "other.tar", ["/code/other"], progress=_silent)

    assert [project["human_key"] for project in saved["projects"]] == [context.settings.agent_mail_project]
    assert saved["database"] == "read"
    assert list_offline(tmp_path / "s.tar", progress=_silent)["sha256"] == saved["sha256"]
    assert not (tmp_path / "other.tar").exists()


@pytest.mark.parametrize("content", [b"noise" * 1_000, b"SQLite format 3\0" + bytes(8_000)])
def test_archives_are_saved_though_the_database_cannot_be_read(
    at_stopped: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    context = at_stopped.context()
    context.settings.database_path.write_bytes(content)

    saved = save_offline(context, tmp_path / "s.tar", [], progress=_silent)

    assert (saved["pending_events"], saved["database"]) == (None, "unreadable")
    assert "only the archives were asked" in capsys.readouterr().err
    assert json.dumps(saved["projects"])


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["a FIFO", "a folder"])
def test_archives_are_saved_beside_what_is_no_database_at_all(
    at_stopped: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], None]
) -> None:
    context = at_stopped.context()
    context.settings.database_path.unlink()
    make(context.settings.database_path)

    saved = save_offline(context, tmp_path / "s.tar", [], progress=_silent)

    assert saved["database"] == "unreadable"
    assert "only the archives were asked" in capsys.readouterr().err


def test_archives_are_saved_beside_a_database_that_was_cut_off(
    at_stopped: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    context = at_stopped.context()
    path = context.settings.database_path
    os.truncate(path, path.stat().st_size // 2)

    saved = save_offline(context, tmp_path / "s.tar", [], progress=_silent)

    assert saved["database"] == "unreadable"
    assert "only the archives were asked" in capsys.readouterr().err


def test_archives_alone_are_saved_and_that_they_are_alone_is_said(
    at_stopped: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    context = at_stopped.context()
    context.settings.database_path.unlink()

    saved = save_offline(context, tmp_path / "s.tar", [], progress=_silent)

    assert (saved["pending_events"], saved["database"]) == (None, "missing")
    assert f"There is none at {context.settings.database_path}." in capsys.readouterr().err


def test_without_a_database_a_project_is_exported_by_its_slug(at_stopped: Shell, tmp_path: Path) -> None:
    context = at_stopped.context()
    context.settings.database_path.unlink()
    (slug,) = (path.name for path in (context.storage_root / "projects").iterdir() if path.is_dir())

    made = export_offline(context, slug, tmp_path / "out", is_exact=False, progress=_silent)

    assert (made["project"], (tmp_path / "out" / "archive.json").is_file()) == (slug, True)


def test_an_unknown_project_is_told_with_what_a_person_can_do(at_stopped: Shell, tmp_path: Path) -> None:
    done = at_stopped.am("archive", "export", "nowhere", str(tmp_path / "out"))

    assert done.code == 1
    assert "Unknown project: nowhere." in done.err
    assert "Hint: `am projects list` shows those that there are." in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [None, b"noise" * 1_000])
def test_without_a_database_a_folder_elsewhere_is_not_taken_for_an_archive(
    at_stopped: Shell, tmp_path: Path, content: bytes | None
) -> None:
    context = at_stopped.context()
    project, database = str(context.settings.agent_mail_project), context.settings.database_path
    database.unlink()
    if content is not None:
        database.write_bytes(content)
    (slug,) = (path.name for path in (context.storage_root / "projects").iterdir() if path.is_dir())
    other = tmp_path / "code"
    git(tmp_path, "init", "-q", str(other))

    refused = [
        at_stopped.am("archive", "export", str(other), str(tmp_path / "out")),
        at_stopped.am("archive", "save", str(tmp_path / "s.tar"), "--project", str(other)),
    ]
    by_path = at_stopped.am("archive", "export", project, str(tmp_path / "mine"))

    for one in refused:
        assert one.code == 1
        assert "Error (NOT_FOUND)" in one.err
        assert slug in one.err
    assert (tmp_path / "mine" / "archive.json").is_file(), by_path.err
    assert by_path.code == (0 if content is None else 1)
    assert not (tmp_path / "s.tar").exists()
