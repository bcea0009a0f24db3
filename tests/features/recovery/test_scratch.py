from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.scratch import PlaceTaken, aside, built_aside, remove_left, scratch_folder


def test_it_is_private_empty_and_gone_at_the_end(tmp_path: Path) -> None:
    with scratch_folder(tmp_path / "s", for_what=tmp_path / "x") as scratch:
        folder = scratch.path
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert list(folder.iterdir()) == []
        (folder / "half").mkdir()

    assert not (tmp_path / "s").exists()


def test_what_one_that_was_killed_has_left_goes_and_what_a_link_there_leads_to_stays(tmp_path: Path) -> None:
    left = tmp_path / "s"
    left.mkdir(mode=0o700)
    (left / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (left / "link").symlink_to(tmp_path / "mine")

    with scratch_folder(left, for_what=tmp_path / "x") as scratch:
        assert list(scratch.path.iterdir()) == []

    assert (tmp_path / "mine" / "file").exists()


def test_the_second_of_two_is_refused_and_takes_nothing_away(tmp_path: Path) -> None:
    with scratch_folder(tmp_path / "s", for_what=tmp_path / "x") as scratch:
        folder = scratch.path
        (folder / "half").touch()

        with pytest.raises(PlaceTaken), scratch_folder(tmp_path / "s", for_what=tmp_path / "x"):
            pass

        assert (folder / "half").exists()


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (tmp_path / "s").symlink_to(tmp_path / "mine")

    with pytest.raises(PlaceTaken, match="not a folder"), scratch_folder(tmp_path / "s", for_what=tmp_path / "x"):
        pass

    assert (tmp_path / "mine" / "file").exists()


def _laid_open(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


def _laid_by_another(folder: Path) -> None:
    if os.geteuid():
        pytest.skip("only root gives folders to others")
    folder.mkdir(mode=0o700)
    os.chown(folder, 65_534, 65_534)


@pytest.mark.parametrize("lay", [_laid_open, _laid_by_another, Path.touch], ids=["open", "another's", "file"])
def test_what_others_have_laid_there_or_may_write_in_is_neither_taken_nor_removed(
    lay: Callable[[Path], None], tmp_path: Path
) -> None:
    target = tmp_path / "made"
    folder = aside(target, "making")
    lay(folder)

    with pytest.raises(PlaceTaken, match="alone") as refused, built_aside(target, "making"):
        pass
    remove_left(folder)

    assert str(folder) in refused.value.hint
    assert folder.exists()
    assert not target.exists()


def _exchange(folder: Path, built: Path) -> None:
    (built / "ours").touch()
    folder.rename(folder.with_name("away"))
    (folder / "store").mkdir(parents=True)
    (folder / "store" / "theirs").touch()
    folder.chmod(0o700)


def test_what_took_the_place_of_the_folder_meanwhile_gets_no_name(tmp_path: Path) -> None:
    target = tmp_path / "made"
    folder = aside(target, "making")

    with pytest.raises(PlaceTaken), built_aside(target, "making") as built:
        _exchange(folder, built)

    assert not target.exists()
    assert (folder / "store" / "theirs").exists()
    assert list((tmp_path / "away").iterdir()) == []


def test_a_folder_that_its_last_owner_removed_before_the_lock_was_had_is_not_worked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, lock = tmp_path / "s", fcntl.flock

    def locked_late(descriptor: int, how: int) -> None:
        folder.rmdir()
        folder.mkdir(mode=0o700)
        (folder / "theirs").touch()
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", locked_late)

    with pytest.raises(PlaceTaken), scratch_folder(folder, for_what=tmp_path / "x"):
        pass

    assert (folder / "theirs").exists()


class Stopped(Exception):
    """The process ends here."""


def _stop_in(folder: Path) -> None:
    (folder / "half").touch()
    raise Stopped


def test_what_is_built_aside_has_its_name_once_it_is_whole(tmp_path: Path) -> None:
    with pytest.raises(Stopped), built_aside(tmp_path / "made", "making") as built:
        _stop_in(built)
    assert list(tmp_path.iterdir()) == []

    with built_aside(tmp_path / "made", "making") as built:
        (built / "whole").touch()
        assert not (tmp_path / "made").exists()

    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["made", "made/whole"]


def test_what_was_left_is_removed_unless_somebody_works_in_it(tmp_path: Path) -> None:
    folder = aside(tmp_path / "made", "making")
    with scratch_folder(folder, for_what=tmp_path / "made"):
        remove_left(folder)
        assert folder.exists()
    folder.mkdir(mode=0o700)
    (folder / "inner").mkdir()

    remove_left(folder)
    remove_left(folder)

    assert not folder.exists()
