"""An adoption in Git: the adopted archive's history is joined, set aside whole, and gone on with after a crash."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.core.ids import OutboxSeq, ProjectId
from mcp_agent_mail.domain.events import EventKind, OutboxEvent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.adopt import ADOPTED_FOLDER, adoption_snapshot, up_to_adoption
from tests.archive_harness import ArchiveHarness, fill, git, make_former, write


def event(kind: EventKind, number: int) -> OutboxEvent:
    return OutboxEvent(
        seq=OutboxSeq(number),
        project_id=ProjectId(1),
        project_slug="app",
        kind=kind,
        agent_id=None,
        created_ts=0,  # type: ignore[arg-type]  # any time
        snapshot={},
    )


@pytest.mark.parametrize(
    ("kinds", "count"),
    [
        ([], 0),
        ([EventKind.MAIL, EventKind.MAIL], 2),
        ([EventKind.MAIL, EventKind.ADOPTION, EventKind.MAIL], 1),
        ([EventKind.ADOPTION, EventKind.MAIL], 1),
    ],
)
def test_an_adoption_is_a_batch_of_its_own(kinds: list[EventKind], count: int) -> None:
    events = [event(kind, number) for number, kind in enumerate(kinds, start=1)]

    assert up_to_adoption(events) == events[:count]


@pytest.fixture
def two(harness: ArchiveHarness) -> tuple[Project, Project]:
    """Both in Git."""
    app, lib = fill(harness, Path("/code/app")), fill(harness, Path("/code/lib"))
    harness.archive()
    return app, lib


def adopt(harness: ArchiveHarness, app: Project, source: str | None) -> None:
    harness._event(app, EventKind.ADOPTION, adoption_snapshot(source))


def aside(harness: ArchiveHarness, project: Project) -> Path:
    return harness.root / ADOPTED_FOLDER / project.slug


def parents(harness: ArchiveHarness, project: Project) -> list[str]:
    return git(harness.path(project), "log", "-1", "--format=%P", "main").split()


def test_the_adopted_history_is_joined_in_one_commit_and_its_archive_set_aside_whole(
    harness: ArchiveHarness, two: tuple[Project, Project]
) -> None:
    app, lib = two
    tips = [git(harness.path(project), "rev-parse", "main").strip() for project in two]
    snapshot = harness.path(lib).parent / f"{lib.slug}.leases.json"
    there_before = snapshot.exists()
    adopt(harness, app, lib.slug)

    assert harness.archive() == 0

    assert parents(harness, app) == tips
    assert git(harness.path(app), "log", "-1", "--format=%s", "main").startswith("adopt: ")
    assert not harness.path(lib).exists()
    assert git(aside(harness, lib), "rev-parse", "main").strip() == tips[1]
    assert (there_before, snapshot.exists()) == (True, False)


@pytest.mark.parametrize("point", [FailPoint.BEFORE_IMPORT, FailPoint.AFTER_IMPORT, FailPoint.BEFORE_MARK])
def test_cut_off_anywhere_it_is_one_commit_in_the_end(
    harness: ArchiveHarness, two: tuple[Project, Project], point: FailPoint
) -> None:
    app, lib = two
    adopt(harness, app, lib.slug)
    harness.archive_until_killed(point)

    assert harness.archive() == 0

    subjects = git(harness.path(app), "log", "--first-parent", "--format=%s", "main").splitlines()
    assert [subject.startswith("adopt: ") for subject in subjects] == [True, False]


def test_an_adopted_archive_that_is_nowhere_is_told_and_gone_on_with_once_it_is_put_back(
    harness: ArchiveHarness, two: tuple[Project, Project], tmp_path: Path
) -> None:
    app, lib = two
    shutil.move(harness.path(lib), tmp_path / "lost")
    adopt(harness, app, lib.slug)
    left = harness.archive()
    told = harness.failures[-1]
    aside(harness, lib).parent.mkdir(exist_ok=True)
    shutil.move(tmp_path / "lost", aside(harness, lib))

    after = harness.archive()

    assert (left, after) == (1, 0)
    assert f"the adopted project {lib.slug} is neither at" in told.message
    assert str(aside(harness, lib)) in told.hint
    assert len(parents(harness, app)) == 2


def test_where_only_names_have_changed_nothing_is_joined(harness: ArchiveHarness, two: tuple[Project, Project]) -> None:
    app, lib = two
    adopt(harness, app, None)

    assert harness.archive() == 0

    assert len(parents(harness, app)) == 1
    assert harness.path(lib).exists()
    assert harness.verify().is_clean


def test_an_archive_in_its_project_stays_there_and_leads_to_where_its_history_is(
    harness: ArchiveHarness, tmp_path: Path
) -> None:
    harness.in_workspace = True
    for name in ("app", "lib"):
        (tmp_path / name).mkdir()
    app, lib = fill(harness, tmp_path / "app"), fill(harness, tmp_path / "lib")
    harness.archive()
    adopt(harness, app, lib.slug)

    assert harness.archive() == 0

    left = tmp_path / "lib" / ".mcp-mail"
    assert (left / "archive.json").exists()
    assert (left / ".git").read_text() == f"gitdir: {aside(harness, lib)}/.git\n"


def test_that_an_adopted_project_is_gone_from_the_disk_does_not_hold_its_adoption_up(
    harness: ArchiveHarness, tmp_path: Path
) -> None:
    harness.in_workspace = True
    for name in ("app", "lib"):
        (tmp_path / name).mkdir()
    app, lib = fill(harness, tmp_path / "app"), fill(harness, tmp_path / "lib")
    harness.archive()
    shutil.rmtree(tmp_path / "lib")
    adopt(harness, app, lib.slug)

    assert harness.archive() == 0

    assert len(parents(harness, app)) == 2


def test_an_archive_that_lies_in_its_project_whole_as_formerly_is_moved_into_the_store_and_then_set_aside(
    harness: ArchiveHarness, tmp_path: Path
) -> None:
    harness.in_workspace = True
    for name in ("app", "lib"):
        (tmp_path / name).mkdir()
    app, lib = fill(harness, tmp_path / "app"), harness.add_project(str(tmp_path / "lib"))
    harness.archive()
    write(harness, app)
    harness.archive()
    make_former(harness, lib, tmp_path / "lib" / ".mcp-mail")
    with harness.together():
        harness.tx.adoption.move(lib.id, app.id)
    adopt(harness, app, lib.slug)

    assert harness.archive() == 0

    assert not aside(harness, lib).is_symlink()
    assert not (tmp_path / "lib" / ".mcp-mail" / ".git").is_dir()
    assert len(parents(harness, app)) == 2
