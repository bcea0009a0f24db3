"""The work tree: what is a message, a profile, a lease; links, depths and other files are left alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mcp_agent_mail.domain.importing.refusals import UnknownLayout
from mcp_agent_mail.facades.importers.mcp_agent_mail.archive import SourceArchive, open_archive
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes


@pytest.fixture
def notes() -> ReadingNotes:
    return ReadingNotes()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "projects" / "app"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def archive(project: Path, tmp_path: Path, notes: ReadingNotes) -> Iterator[SourceArchive]:
    assert project.is_dir()
    with ExitStack() as stack:
        yield open_archive(tmp_path, "mcp-agent-mail", notes, stack)


def _write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_messages_are_the_files_below_months_without_thread_pages(project: Path, archive: SourceArchive) -> None:
    _write(project / "messages/2026/03/b__1.md")
    _write(project / "messages/2026/02/a__2.md")
    _write(project / "messages/threads/1.md")
    _write(project / "messages/2026/03/notes.txt")
    _write(project / "agents/BlueLake/inbox/2026/03/b__1.md")

    assert list(archive.mail_places("app")) == ["messages/2026/02/a__2.md", "messages/2026/03/b__1.md"]
    assert list(archive.mail_places("none")) == []


def test_links_and_endless_folders_are_passed_over_and_said(
    project: Path, archive: SourceArchive, notes: ReadingNotes, tmp_path: Path
) -> None:
    secret = _write(tmp_path / "secret" / "2026" / "s__3.md")
    (project / "messages" / "2026").mkdir(parents=True)
    (project / "messages" / "2026" / "l__3.md").symlink_to(secret)
    (project / "messages" / "2025").symlink_to(tmp_path / "secret")
    _write(project / "messages" / "/".join("abcdefghijkl") / "deep__4.md")

    assert list(archive.mail_places("app")) == []
    told = "\n".join(note.text for note in notes.notes())
    assert "messages/2026/l__3.md of the archive is a link" in told
    assert "lies too deep" in told


def test_profiles_are_read_and_a_broken_one_is_an_empty_one(project: Path, archive: SourceArchive) -> None:
    _write(project / "agents/BlueLake/profile.json", '{"program": "codex"}')
    _write(project / "agents/RedStone/profile.json", "{")
    (project / "agents/GreenHill").mkdir()

    assert dict(archive.profiles("app")) == {"BlueLake": {"program": "codex"}, "GreenHill": {}, "RedStone": {}}


def test_leases_come_by_their_number_first_and_broken_ones_are_counted(
    project: Path, archive: SourceArchive, notes: ReadingNotes
) -> None:
    for name, text in (("0a", '{"id": 1}'), ("id-1", '{"id": 1}'), ("zz", "[]")):
        _write(project / f"file_reservations/{name}.json", text)

    assert [name for name, _ in archive.leases("app")] == ["id-1.json", "0a.json"]
    assert [(one.kind, one.count) for one in notes.left_out()] == [("leases", 1)]


@pytest.mark.parametrize(
    "path",
    [
        "attachments/ab/" + "ab" * 20 + ".webp",
        "projects/app/attachments/ab/" + "ab" * 20 + ".webp",
        "ab" * 20,
    ],
)
def test_an_attachment_is_found_by_its_path_or_its_hash(path: str, project: Path, archive: SourceArchive) -> None:
    _write(project / "attachments" / "ab" / f"{'ab' * 20}.webp", "picture")

    assert archive.content("app", path, 100) == b"picture"
    assert archive.content("app", path, 3) is None


@pytest.mark.parametrize(
    "path",
    [
        "/etc/hostname",
        "attachments/../secret",
        "attachments/./x",
        "../secret",
        "secret",
        "attachments//x",
        "attachments/l",
    ],
)
def test_no_path_leads_out_of_the_attachments(path: str, project: Path, archive: SourceArchive, tmp_path: Path) -> None:
    _write(tmp_path / "secret")
    _write(project / "secret")
    (project / "attachments").mkdir()
    (project / "attachments" / "l").symlink_to(tmp_path / "secret")

    assert archive.content("app", path, 100) is None


def test_what_is_not_taken_over_is_counted(
    project: Path, archive: SourceArchive, notes: ReadingNotes, tmp_path: Path
) -> None:
    _write(project / "build_slots/main/BlueLake.json")
    _write(project / "build_slots/RedStone.json")
    _write(project / "attachments/originals/x.png")
    _write(project / "attachments/ab" / f"{'ab' * 20}.webp")
    (tmp_path / ".git").mkdir()

    archive.count_left_out()

    assert {one.kind: one.count for one in notes.left_out()} == {
        "build slots": 2,
        "original images": 1,
        "Git history": 1,
    }


def test_a_folder_without_projects_is_refused_with_what_was_found(tmp_path: Path, notes: ReadingNotes) -> None:
    _write(tmp_path / "src" / "x")

    with ExitStack() as stack, pytest.raises(UnknownLayout, match="no `projects`; it has src"):
        open_archive(tmp_path, "mcp-agent-mail", notes, stack)
