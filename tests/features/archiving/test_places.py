"""Archives in the projects' own directories: found again whatever the setting says, no trouble to the code there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER
from mcp_agent_mail.features.archiving.renew import renew_archive
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.workspace.lent_files import LentRoots, open_lent
from mcp_agent_mail.workspace.lent_places import LentFolder
from tests.archive_harness import ArchiveHarness, fill, git, open_archive_harness, write


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ArchiveHarness]:
    with open_archive_harness(tmp_path / "store") as opened:
        opened.in_workspace = True
        yield opened


@pytest.fixture(autouse=True)
def store_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code repository with one commit."""
    folder = tmp_path / "code"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "main.py").write_text("print()\n")
    git(folder, "add", "main.py")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder


def place_of(harness: ArchiveHarness, project: Project) -> Path:
    return ArchivePlaces(projects_path=harness.root / PROJECTS_FOLDER, in_workspace=harness.in_workspace).find(project)


def mail_in(archive: Path) -> int:
    return len(list(archive.glob("messages/*/*/*/*.md")))


def test_the_archive_lies_in_the_project_and_is_told_before_it_is_begun(harness: ArchiveHarness, code: Path) -> None:
    project = fill(harness, code)
    told = place_of(harness, project)

    harness.archive()

    assert told == place_of(harness, project) == code / ".mcp-mail"
    assert mail_in(told) == 1
    assert told.stat().st_mode & 0o777 == 0o700
    assert git(told, "status", "--porcelain") == ""
    assert git(told, "fsck", "--strict") == ""
    assert harness.verify().findings == ()


@pytest.mark.parametrize("left", [None, ".git.new"])
def test_a_begin_that_was_cut_off_begins_in_the_project_again(
    harness: ArchiveHarness, code: Path, left: str | None
) -> None:
    project = fill(harness, code)
    place = harness.root / PROJECTS_FOLDER / project.slug
    (place / (left or "")).mkdir(parents=True)

    assert harness.archive() == 0

    assert mail_in(code / ".mcp-mail") == 1
    assert [path.name for path in place.iterdir()] == [".git"]


def test_files_of_an_archive_that_lost_its_git_directory_are_not_begun_elsewhere(
    harness: ArchiveHarness, code: Path
) -> None:
    project = fill(harness, code)
    kept = harness.root / PROJECTS_FOLDER / project.slug / "messages" / "kept.md"
    kept.parent.mkdir(parents=True)
    kept.write_text("mail")

    harness.archive()

    assert not (code / ".mcp-mail").exists()
    assert kept.read_text() == "mail"


def test_the_code_repository_does_not_see_it(harness: ArchiveHarness, code: Path) -> None:
    fill(harness, code)

    harness.archive()

    assert git(code, "status", "--porcelain") == ""
    git(code, "add", "-A")
    assert git(code, "diff", "--cached", "--name-only") == ""


def test_it_is_named_once_and_the_file_around_it_is_kept(harness: ArchiveHarness, code: Path) -> None:
    exclude = code / ".git/info/exclude"
    exclude.write_text("*.log")
    project = fill(harness, code)
    for _ in range(3):
        write(harness, project)
        harness.archive()

    assert exclude.read_text() == "*.log\n.mcp-mail/\n"


def test_in_a_work_tree_of_a_repository_the_common_file_is_used(
    harness: ArchiveHarness, code: Path, tmp_path: Path
) -> None:
    git(code, "worktree", "add", "-q", str(tmp_path / "feature"))
    fill(harness, tmp_path / "feature")

    harness.archive()

    assert ".mcp-mail/" in (code / ".git/info/exclude").read_text().splitlines()
    assert git(tmp_path / "feature", "status", "--porcelain") == ""
    assert mail_in(tmp_path / "feature/.mcp-mail") == 1


def test_a_project_below_the_top_of_a_repository_is_kept_out_of_its_status_too(
    harness: ArchiveHarness, code: Path
) -> None:
    (code / "service").mkdir()
    (code / "service/app.py").write_text("")
    git(code, "add", "service")
    git(code, "commit", "-q", "-m", "Service")
    fill(harness, code / "service")

    harness.archive()

    assert git(code, "status", "--porcelain") == ""


def test_a_directory_without_a_repository_will_do(harness: ArchiveHarness, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    fill(harness, tmp_path / "plain")

    assert harness.archive() == 0

    assert mail_in(tmp_path / "plain/.mcp-mail") == 1
    assert [path.name for path in (tmp_path / "plain").iterdir()] == [".mcp-mail"]


def test_a_project_whose_directory_is_not_on_this_machine_has_its_archive_in_the_store(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/nowhere/at-all"))

    harness.archive()

    assert place_of(harness, project) == harness.root / PROJECTS_FOLDER / project.slug
    assert mail_in(place_of(harness, project)) == 1


def test_an_archive_in_the_store_stays_there_when_the_setting_changes(harness: ArchiveHarness, code: Path) -> None:
    harness.in_workspace = False
    project = fill(harness, code)
    harness.archive()
    harness.in_workspace = True
    write(harness, project)

    harness.archive()

    assert not (code / ".mcp-mail").exists()
    assert mail_in(place_of(harness, project)) == 2


def test_an_archive_in_its_project_stays_there_when_the_setting_changes(harness: ArchiveHarness, code: Path) -> None:
    project = fill(harness, code)
    harness.archive()
    harness.in_workspace = False
    write(harness, project)

    harness.archive()

    assert place_of(harness, project) == code / ".mcp-mail"
    assert mail_in(code / ".mcp-mail") == 2
    assert harness.verify().findings == ()


@pytest.mark.parametrize(
    "point", [FailPoint.BEFORE_IMPORT, FailPoint.AFTER_IMPORT, FailPoint.BEFORE_MARK, FailPoint.INDEX_REFRESH]
)
def test_killed_anywhere_it_is_gone_on_with_in_the_project(
    harness: ArchiveHarness, code: Path, point: FailPoint
) -> None:
    project = fill(harness, code)
    harness.archive_until_killed(point)

    assert harness.archive() == 0

    assert place_of(harness, project) == code / ".mcp-mail"
    assert git(code / ".mcp-mail", "status", "--porcelain") == ""
    assert harness.verify().findings == ()


def test_a_project_that_is_gone_is_told_and_nothing_is_begun_elsewhere(harness: ArchiveHarness, code: Path) -> None:
    project = fill(harness, code)
    harness.archive()
    code.rename(code.with_name("moved"))
    write(harness, project)

    left = harness.archive()

    (failure,) = harness.failures
    assert left == 1
    assert failure.message.startswith(f"{code} is not there, and the archive lay in it")
    assert f"Put {code} back" in failure.hint
    code.with_name("moved").rename(code)
    assert harness.archive() == 0
    assert mail_in(code / ".mcp-mail") == 2


@pytest.mark.parametrize("what", ["folder", "file", "link"])
def test_what_lies_there_already_is_never_written_into(
    harness: ArchiveHarness, code: Path, tmp_path: Path, what: str
) -> None:
    place = code / ".mcp-mail"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if what == "folder":
        place.mkdir()
        (place / "theirs").write_text("theirs")
    elif what == "file":
        place.write_text("theirs")
    else:
        place.symlink_to(elsewhere)
    fill(harness, code)

    left = harness.archive()

    (failure,) = harness.failures
    assert left > 0
    assert "is there already and is no archive of this store" in failure.message
    assert "ARCHIVE_LOCATION=store" in failure.hint
    assert list(elsewhere.iterdir()) == []
    assert sorted(path.name for path in (harness.root / PROJECTS_FOLDER).glob("*")) == []


def test_an_archive_of_another_store_in_the_project_is_refused(
    harness: ArchiveHarness, code: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    with open_archive_harness(tmp_path / "other") as other:
        other.in_workspace = True
        fill(other, code)
        other.archive()
        tip = git(code / ".mcp-mail", "rev-parse", "main")
        fill(harness, code)

        harness.archive()

    assert "no archive of this store" in harness.failures[0].message
    assert git(code / ".mcp-mail", "rev-parse", "main") == tip


async def test_an_archive_whose_git_directory_is_lost_is_written_again_where_it_was(
    harness: ArchiveHarness, code: Path
) -> None:
    project = fill(harness, code)
    harness.archive()
    shutil.rmtree(harness.root / PROJECTS_FOLDER / project.slug)
    write(harness, project)
    assert harness.archive() == 1

    async with Store(harness.database) as store:
        renewed = await renew_archive(store, harness.settings, project)

    assert "am doctor repair" in harness.failures[0].hint
    assert renewed.failed == []
    assert mail_in(code / ".mcp-mail") == 2
    assert harness.verify().findings == ()


def test_a_folder_that_was_removed_from_the_project_is_written_again(harness: ArchiveHarness, code: Path) -> None:
    project = fill(harness, code)
    harness.archive()
    shutil.rmtree(code / ".mcp-mail")
    write(harness, project)

    assert harness.archive() == 0

    assert mail_in(code / ".mcp-mail") == 2
    assert git(code / ".mcp-mail", "status", "--porcelain") == ""
    assert harness.verify().findings == ()


def test_the_git_directory_lies_in_the_store_and_people_are_led_there(harness: ArchiveHarness, code: Path) -> None:
    project = fill(harness, code)

    harness.archive()

    place = harness.root / PROJECTS_FOLDER / project.slug
    assert (place / ".git" / "HEAD").is_file()
    assert [path.name for path in place.iterdir()] == [".git"]
    assert (code / ".mcp-mail" / ".git").read_text() == f"gitdir: {place}/.git\n"
    assert git(code / ".mcp-mail", "log", "--format=%s") == git(place, "log", "--format=%s") != ""
    assert git(place, "status", "--porcelain") == ""


def test_what_the_code_repository_tracks_is_not_touched(harness: ArchiveHarness, code: Path) -> None:
    (code / ".mcp-mail").mkdir()
    (code / ".mcp-mail/tracked").write_text("theirs")
    git(code, "add", "-f", ".mcp-mail/tracked")
    git(code, "commit", "-q", "-m", "Track it")
    (code / ".mcp-mail/tracked").unlink()
    fill(harness, code)

    harness.archive()

    assert "is tracked by the code repository" in harness.failures[0].message
    assert git(code, "status", "--porcelain") == " D .mcp-mail/tracked\n"


def test_a_clean_of_the_code_repository_leaves_it(harness: ArchiveHarness, code: Path) -> None:
    fill(harness, code)
    harness.archive()

    git(code, "clean", "-q", "-f", "-d", "-x")

    assert mail_in(code / ".mcp-mail") == 1


def test_the_hooks_of_the_code_repository_do_not_run(harness: ArchiveHarness, code: Path) -> None:
    hook = code / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    fill(harness, code)

    harness.archive()

    assert subprocess.run(["find", str(code), "-name", "ran"], capture_output=True, text=True, check=True).stdout == ""


async def test_an_archive_that_is_gone_with_its_project_can_be_written_again_in_the_store(
    harness: ArchiveHarness, code: Path
) -> None:
    project = fill(harness, code)
    harness.archive()
    shutil.rmtree(code)
    shutil.rmtree(harness.root / PROJECTS_FOLDER / project.slug)

    async with Store(harness.database) as store:
        renewed = await renew_archive(store, harness.settings, project)

    assert renewed.failed == []
    assert mail_in(harness.root / PROJECTS_FOLDER / project.slug) == 1
    assert harness.verify().findings == ()


def real_note(harness: ArchiveHarness, project: Project) -> Path:
    return harness.root / PROJECTS_FOLDER / project.slug / ".git/agent-mail/work-tree.real"


def test_a_project_that_is_reached_over_a_link_has_its_archive_where_that_led(
    harness: ArchiveHarness, code: Path, tmp_path: Path
) -> None:
    (tmp_path / "way").symlink_to(tmp_path)
    project = fill(harness, tmp_path / "way" / "code")
    assert harness.archive() == 0
    write(harness, project)
    assert harness.archive() == 0

    assert mail_in(code / ".mcp-mail") == 2
    assert git(code, "status", "--porcelain") == ""
    assert harness.verify().findings == ()

    (tmp_path / "way").unlink()
    (tmp_path / "elsewhere" / "code").mkdir(parents=True)
    (tmp_path / "way").symlink_to(tmp_path / "elsewhere")
    write(harness, project)
    assert harness.archive() == 0

    assert mail_in(code / ".mcp-mail") == 3
    assert list((tmp_path / "elsewhere" / "code").iterdir()) == []


def test_an_archive_that_was_begun_before_its_real_place_was_noted_goes_on_over_a_link(
    harness: ArchiveHarness, code: Path, tmp_path: Path
) -> None:
    (tmp_path / "way").symlink_to(tmp_path)
    project = fill(harness, tmp_path / "way" / "code")
    harness.archive()
    real_note(harness, project).unlink()
    assert harness.verify().findings == ()
    write(harness, project)

    assert harness.archive() == 0

    assert mail_in(code / ".mcp-mail") == 2
    assert real_note(harness, project).read_text() == f"{code}/.mcp-mail\n"
    assert harness.verify().findings == ()


def test_who_moved_a_project_and_left_a_link_is_told_how_to_go_on(
    harness: ArchiveHarness, code: Path, tmp_path: Path
) -> None:
    project = fill(harness, code)
    harness.archive()
    code.rename(tmp_path / "moved")
    code.symlink_to(tmp_path / "moved")
    write(harness, project)

    left = harness.archive()

    assert left == 1
    assert harness.failures[-1].message.startswith(f"{code} leads to {tmp_path / 'moved'} over a link now")
    assert f"remove {real_note(harness, project)}" in harness.failures[-1].hint
    assert [finding.problem for finding in harness.verify().findings] == ["gone"]
    real_note(harness, project).unlink()
    assert harness.archive() == 0
    assert mail_in(tmp_path / "moved" / ".mcp-mail") == 2
    assert git(tmp_path / "moved", "status", "--porcelain") == ""
    assert harness.verify().findings == ()


# --- What is lent --------------------------------------------------------------------------------------------------


def lent_of(harness: ArchiveHarness, project: Project) -> LentFolder | None:
    places = ArchivePlaces(projects_path=harness.root / PROJECTS_FOLDER, in_workspace=harness.in_workspace)
    return places.find_lent(project)


def test_an_archive_that_is_not_begun_lends_nothing_whatever_lies_there(
    harness: ArchiveHarness, code: Path, tmp_path: Path
) -> None:
    project = fill(harness, code)
    (code / ".mcp-mail").symlink_to(tmp_path)
    assert lent_of(harness, project) is None

    harness.archive()
    assert lent_of(harness, project) is None


def test_an_archive_lends_the_folder_that_it_was_begun_in_and_none_that_a_link_leads_to(
    harness: ArchiveHarness, code: Path, tmp_path: Path
) -> None:
    (tmp_path / "way").symlink_to(tmp_path)
    project = fill(harness, tmp_path / "way" / "code")
    harness.archive()
    lent = lent_of(harness, project)
    assert lent is not None
    assert (lent.named, lent.path) == (tmp_path / "way" / "code" / ".mcp-mail", code / ".mcp-mail")
    assert lent.identity is not None

    (code / ".mcp-mail").rename(tmp_path / "aside")
    (code / ".mcp-mail").symlink_to(tmp_path / "aside")
    replaced = lent_of(harness, project)
    assert replaced is not None
    assert (replaced.path, replaced.identity) == (lent.path, None)
    (tmp_path / "aside" / "notes.txt").touch()
    with pytest.raises(NotFound):
        open_lent("notes.txt", LentRoots((), replaced, ()), may_be_anywhere=False)

    real_note(harness, project).unlink()
    assert lent_of(harness, project) is None


def test_an_archive_in_the_store_is_lent_and_one_behind_a_link_there_is_not(
    harness: ArchiveHarness, code: Path, tmp_path: Path
) -> None:
    harness.in_workspace = False
    project = fill(harness, code)
    harness.archive()
    place = harness.root / PROJECTS_FOLDER / project.slug
    lent = lent_of(harness, project)
    assert lent is not None
    assert lent.path == place

    place.rename(tmp_path / "aside")
    place.symlink_to(tmp_path / "aside")
    assert lent_of(harness, project) is None
