from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.scratch import PlaceTaken, aside, built_aside, remove_left, scratch_folder


def test_it_is_private_empty_and_gone_at_the_end(tmp_path: Path) -> None:
    with scratch_folder(tmp_path / "s", for_what=tmp_path / "x") as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert list(folder.iterdir()) == []
        (folder / "half").mkdir()

    assert not (tmp_path / "s").exists()


def test_what_one_that_was_killed_has_left_goes_and_what_a_link_there_leads_to_stays(tmp_path: Path) -> None:
    left = tmp_path / "s"
    (left / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (left / "link").symlink_to(tmp_path / "mine")

    with scratch_folder(left, for_what=tmp_path / "x") as folder:
        assert list(folder.iterdir()) == []

    assert (tmp_path / "mine" / "file").exists()


def test_the_second_of_two_is_refused_and_takes_nothing_away(tmp_path: Path) -> None:
    with scratch_folder(tmp_path / "s", for_what=tmp_path / "x") as folder:
        (folder / "half").touch()

        with pytest.raises(PlaceTaken), scratch_folder(tmp_path / "s", for_what=tmp_path / "x"):
            pass

        assert (folder / "half").exists()


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (tmp_path / "s").symlink_to(tmp_path / "mine")

    with pytest.raises(OSError, match="s"), scratch_folder(tmp_path / "s", for_what=tmp_path / "x"):
        pass

    assert (tmp_path / "mine" / "file").exists()


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
    (folder / "inner").mkdir(parents=True)

    remove_left(folder)
    remove_left(folder)

    assert not folder.exists()
