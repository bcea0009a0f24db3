"""Who can remove a project's directory: with ARCHIVE_LOCATION=workspace the archive's files lie in it.

What is asked of the archives is answered: of the one whose files are gone out of Git, of the others as ever.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.archive.history import read_history
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.doctor.check import CheckTarget, check_everything
from tests.archive_harness import ArchiveHarness, open_archive_harness
from tests.cli.command_line import am


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ArchiveHarness]:
    (tmp_path / "store").mkdir(mode=0o700)
    with open_archive_harness(tmp_path / "store") as opened:
        opened.in_workspace = True
        yield opened


@pytest.fixture
def two(harness: ArchiveHarness, tmp_path: Path) -> tuple[Project, Project]:
    """Two projects with mail in their archives; the directory of the first is removed."""
    projects = []
    for name in ("gone", "here"):
        (tmp_path / name).mkdir()
        project = harness.add_project(str(tmp_path / name))
        blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
        harness.send(blue, [red])
        projects.append(project)
    assert harness.archive() == 0
    shutil.rmtree(tmp_path / "gone")
    return projects[0], projects[1]


def archive_stats(harness: ArchiveHarness, tmp_path: Path) -> tuple[int, dict[str, dict[str, object]]]:
    done = am(
        *("archive", "stats", "--json"),
        home=tmp_path,
        STORAGE_ROOT=str(harness.root),
        DATABASE_URL=f"sqlite:///{harness.database}",
    )
    assert done.stdout, done
    return done.returncode, {str(row["project"]): row for row in json.loads(done.stdout)}


def test_archives_are_measured_whose_files_are_gone(
    harness: ArchiveHarness, two: tuple[Project, Project], tmp_path: Path
) -> None:
    code, rows = archive_stats(harness, tmp_path)

    assert code == 0
    assert [rows[project.slug]["messages"] for project in two] == [1, 1]


def test_an_archive_that_cannot_be_measured_is_told_in_its_own_row(
    harness: ArchiveHarness, two: tuple[Project, Project], tmp_path: Path
) -> None:
    broken, fine = two
    (harness.path(broken) / ".git" / "config").write_text("[core]\n\tfsmonitor = true\n")

    code, rows = archive_stats(harness, tmp_path)

    assert code == 1
    assert "settings that are not the archive's" in str(rows[broken.slug]["problem"])
    assert (rows[broken.slug]["messages"], rows[fine.slug]["messages"]) == (None, 1)
    assert rows[fine.slug]["problem"] is None


def test_the_history_is_read_without_the_files(harness: ArchiveHarness, two: tuple[Project, Project]) -> None:
    entries = read_history(harness.path(two[0]), agent=None, limit=10)

    assert entries


def test_verify_tells_of_the_place_once(harness: ArchiveHarness, two: tuple[Project, Project]) -> None:
    report = harness.verify()

    (finding,) = report.findings
    assert (finding.check, finding.problem, finding.project) == ("work tree", "gone", two[0].slug)
    assert two[0].human_key in finding.evidence
    assert "Put " in finding.next_step


def test_check_says_what_is_gone_and_what_to_do(harness: ArchiveHarness, two: tuple[Project, Project]) -> None:
    place = CheckTarget(storage_root=harness.root, database_path=harness.database, owner=None, clock=harness.clock)

    (finding,) = [
        finding for checked in check_everything(place) for finding in checked.findings if finding.project == two[0].slug
    ]

    assert finding.problem == "refused"
    assert f"{two[0].human_key} is not there" in finding.evidence
    assert "is then gone on with by itself" in finding.next_step
