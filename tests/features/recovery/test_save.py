from __future__ import annotations

import hashlib
import io
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.features.recovery.save import (
    ArchiveNotWhole,
    KnownStore,
    NothingSaved,
    SavedArchives,
    known_store,
    save,
    save_to_stream,
)
from mcp_agent_mail.features.recovery.saved_archives import check
from mcp_agent_mail.features.recovery.scratch import PlaceTaken, UnfitTarget
from mcp_agent_mail.store.checks.artifacts import open_artifacts
from tests.archive_harness import Killed, killed_at
from tests.features.recovery.team import Team, silent
from tests.workspace.lending import lent_below

SAVING = (FailPoint.SAVE, FailPoint.SAVE_STAGED, FailPoint.SAVE_NAMED)


def _known(team: Team) -> KnownStore:
    with open_artifacts(team.harness.database) as artifacts:
        return known_store(artifacts, team.harness.clock())


def _save(team: Team, target: Path, *only: str, known: KnownStore | None = None) -> SavedArchives:
    return save(team.root, target, known=known or _known(team), only=only, progress=silent)


def _tip(team: Team, slug: str) -> str | None:
    return ArchiveRepository(team.root / "projects" / slug).tip()


def test_a_file_says_what_is_in_it_and_what_it_is(team: Team, tmp_path: Path) -> None:
    target = tmp_path / "saved.tar"

    saved = _save(team, target)

    said = [(one.slug, one.human_key, one.commit, one.messages) for one in saved.manifest.projects]
    assert said == [
        ("code-app", "/code/app", _tip(team, "code-app"), 2),
        ("code-lib", "/code/lib", _tip(team, "code-lib"), 0),
    ]
    content = target.read_bytes()
    assert (saved.bytes, saved.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert (saved.manifest.store_id, saved.pending_events) == (team.harness.store_id, 0)
    assert check(target, progress=silent).manifest == saved.manifest


def test_the_same_archives_are_the_same_file_however_git_has_packed_them(team: Team, tmp_path: Path) -> None:
    _save(team, tmp_path / "one.tar")

    for slug in ("code-app", "code-lib"):
        subprocess.run(["git", "-C", team.root / "projects" / slug, "gc", "--quiet", "--prune=now"], check=True)
    _save(team, tmp_path / "two.tar")
    out = io.BytesIO()
    save_to_stream(team.root, out, known=None, progress=silent)

    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes() == out.getvalue()


def test_the_file_is_for_its_owner_alone_and_nothing_is_left_beside_it(team: Team, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()

    _save(team, folder / "saved.tar")

    assert [path.name for path in folder.iterdir()] == ["saved.tar"]
    assert stat.S_IMODE((folder / "saved.tar").stat().st_mode) == 0o600


def test_a_saved_file_is_not_lent_by_any_name_nor_while_it_is_written(team: Team, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    meanwhile: set[str] = set()

    def look(_point: FailPoint) -> None:
        meanwhile.update(lent_below(code))

    save(team.root, code / "holiday.jpg", known=None, progress=silent, fault_hook=look)
    (code / "notes.txt").touch()

    assert meanwhile == set()
    assert lent_below(code) == {"notes.txt"}


def test_nothing_is_written_over(team: Team, tmp_path: Path) -> None:
    target = tmp_path / "saved.tar"
    target.symlink_to(tmp_path / "nowhere")

    with pytest.raises(PlaceTaken):
        _save(team, target)

    assert not (tmp_path / "nowhere").exists()


def test_what_appears_meanwhile_is_not_written_over_either(team: Team, tmp_path: Path) -> None:
    target = tmp_path / "saved.tar"

    def appear(point: FailPoint) -> None:
        if point is FailPoint.SAVE_STAGED:
            target.write_bytes(b"somebody's")

    with pytest.raises(PlaceTaken):
        save(team.root, target, known=None, progress=silent, fault_hook=appear)

    assert target.read_bytes() == b"somebody's"


def test_two_at_once_on_one_file_do_not_meet(team: Team, tmp_path: Path) -> None:
    target = tmp_path / "saved.tar"

    def second(point: FailPoint) -> None:
        if point is FailPoint.SAVE_STAGED:
            with pytest.raises(PlaceTaken):
                _save(team, target)

    save(team.root, target, known=None, progress=silent, fault_hook=second)

    assert check(target, progress=silent).manifest.store_id == team.harness.store_id


@pytest.mark.parametrize("point", SAVING)
def test_whenever_it_is_killed_there_is_a_whole_file_or_none_and_the_next_one_clears_up(
    team: Team, tmp_path: Path, point: FailPoint
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / "saved.tar"
    leftover = folder / ".saved.tar.saving"
    leftover.mkdir(mode=0o700)
    (leftover / "file").write_bytes(b"half of it")

    with pytest.raises(Killed):
        save(team.root, target, known=None, progress=silent, fault_hook=killed_at(point))
    if target.exists():
        check(target, progress=silent)
        target.unlink()
    _save(team, target)

    assert [path.name for path in folder.iterdir()] == ["saved.tar"]


def test_a_full_disk_leaves_nothing(team: Team, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()

    def full(_: FailPoint) -> None:
        raise OSError(28, os.strerror(28))

    with pytest.raises(Unavailable, match="No space left"):
        save(team.root, folder / "saved.tar", known=None, progress=silent, fault_hook=full)

    assert list(folder.iterdir()) == []


def test_a_folder_that_is_missing_is_named(team: Team, tmp_path: Path) -> None:
    with pytest.raises(UnfitTarget, match="missing"):
        _save(team, tmp_path / "missing" / "saved.tar")


def test_projects_that_are_named_are_saved_alone(team: Team, tmp_path: Path) -> None:
    saved = _save(team, tmp_path / "saved.tar", "code-lib")

    assert [project.slug for project in saved.manifest.projects] == ["code-lib"]
    assert saved.manifest.is_partial


@pytest.mark.parametrize("is_known", [True, False], ids=["beside its database", "without one"])
def test_a_named_project_that_has_no_archive_is_no_reason_to_save_the_others_alone(
    team: Team, tmp_path: Path, *, is_known: bool
) -> None:
    names = ["code-lib", "typo"]
    known = _known(team) if is_known else None

    with pytest.raises(NothingSaved, match="'typo'") as refused:
        save(team.root, tmp_path / "saved.tar", known=known, only=names, progress=silent)

    assert "code-app, code-lib" in refused.value.hint
    assert not (tmp_path / "saved.tar").exists()


def test_what_git_has_yet_to_catch_up_with_is_counted(team: Team, tmp_path: Path) -> None:
    team.harness.send(team.blue, [team.red], subject="Later")

    saved = _save(team, tmp_path / "saved.tar")

    assert saved.pending_events == 1
    assert [project.messages for project in saved.manifest.projects] == [2, 0]


def test_an_archive_that_is_gone_or_set_back_is_not_passed_over_in_silence(team: Team, tmp_path: Path) -> None:
    app = team.root / "projects" / "code-app"
    subprocess.run(["git", "-C", app, "update-ref", "refs/heads/main", "main~1"], check=True)

    with pytest.raises(ArchiveNotWhole, match="code-app lacks commit"):
        _save(team, tmp_path / "saved.tar")
    shutil.rmtree(app)
    with pytest.raises(ArchiveNotWhole, match="code-app lacks commit"):
        _save(team, tmp_path / "saved.tar")
    _save(team, tmp_path / "saved.tar", "code-lib")


def test_the_archive_of_another_store_is_refused(team: Team, tmp_path: Path) -> None:
    other = KnownStore(store_id="another-store", commits={}, pending_events=0)

    with pytest.raises(ArchiveNotWhole, match="another-store"):
        _save(team, tmp_path / "saved.tar", known=other)


def test_an_archive_under_another_slug_and_one_behind_a_link_are_refused(team: Team, tmp_path: Path) -> None:
    projects = team.root / "projects"
    (projects / "code-app").rename(projects / "other")

    with pytest.raises(ArchiveNotWhole, match="archive of code-app"):
        save(team.root, tmp_path / "saved.tar", known=None, progress=silent)
    (projects / "other").rename(tmp_path / "aside")
    (projects / "code-app").symlink_to(tmp_path / "aside")
    with pytest.raises(ArchiveRefused):
        save(team.root, tmp_path / "saved.tar", known=_known(team), progress=silent)


def test_a_store_without_archives_has_nothing_to_save(tmp_path: Path) -> None:
    with pytest.raises(NothingSaved):
        save(tmp_path / "store", tmp_path / "saved.tar", known=None, progress=silent)


def test_git_clones_what_is_in_the_file(saved_pattern: Path, tmp_path: Path) -> None:
    subprocess.run(["tar", "-xf", saved_pattern, "-C", tmp_path], check=True)

    subprocess.run(["git", "clone", "--quiet", "archives/code-app.bundle", "app"], cwd=tmp_path, check=True)

    assert len(list((tmp_path / "app" / "messages").rglob("*.md"))) == 2
