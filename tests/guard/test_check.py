"""`am guard check`: asked before the edit, while no server runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.guard.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path)
    scene.base("src/app.py")
    scene.hold("src/**", reason="the parser")
    return scene


def test_a_free_path_is_0_and_a_held_one_1(scene: Scene) -> None:
    free, held = scene.guard("check", "README.md"), scene.guard("check", "README.md", "src/new.py")

    assert (free.returncode, held.returncode) == (0, 1)
    assert "edit refused: 1 path is held by another agent" in held.stderr.decode()
    assert "AGENT_MAIL_BYPASS=1\n" in held.stderr.decode()
    assert held.stdout == b""


def test_paths_are_meant_from_where_one_stands_or_absolute(scene: Scene) -> None:
    (scene.code / "src" / "deep").mkdir()

    codes = [
        scene.guard("check", "app.py", cwd=scene.code / "src").returncode,
        scene.guard("check", "../app.py", cwd=scene.code / "src" / "deep").returncode,
        scene.guard("check", str(scene.code / "src" / "app.py"), cwd=scene.code).returncode,
        scene.guard("check", "../README.md", cwd=scene.code / "src").returncode,
    ]

    assert codes == [1, 1, 1, 0]


def test_a_link_to_the_repository_is_the_repository(scene: Scene) -> None:
    (scene.root / "link").symlink_to(scene.code)

    assert scene.guard("check", str(scene.root / "link" / "src" / "app.py")).returncode == 1


@pytest.mark.parametrize("path", ["../elsewhere.py", "/etc/passwd", "."])
def test_what_is_no_file_of_the_repository_is_an_error(scene: Scene, path: str) -> None:
    done = scene.guard("check", path)

    assert done.returncode == 2
    assert "is no file of the repository" in done.stderr.decode()


def test_outside_any_repository_it_cannot_tell(scene: Scene) -> None:
    warned = scene.guard("check", "x", cwd=scene.root)
    blocked = scene.guard("check", "x", cwd=scene.root, AGENT_MAIL_GUARD_ON_ERROR="block")

    assert (warned.returncode, blocked.returncode) == (0, 69)
    assert "not a git repository" in warned.stderr.decode()


def test_the_answer_as_json(scene: Scene) -> None:
    done = scene.guard("check", "--json", "src/app.py", "./README.md")

    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert answer["free"] is False
    assert answer["agent"] == "BlueLake"
    assert answer["project"] == str(scene.code)
    assert answer["source"].startswith("a snapshot of the leases")
    held, free = answer["paths"]
    assert (held["path"], held["free"], held["holder"]["agent"]) == ("src/app.py", False, "RedStone")
    assert held["holder"]["reason"] == "the parser"
    assert (held["holder"]["reservation_id"], held["holder"]["path_pattern"]) == (1, "src/**")
    assert free == {"path": "./README.md", "free": True, "holder": None, "is_own_too": False}


def test_one_that_i_hold_too_is_free(scene: Scene) -> None:
    scene.hold("src/app.py", agent="BlueLake")

    done = scene.guard("check", "--json", "src/app.py")

    assert done.returncode == 0
    assert json.loads(done.stdout)["paths"][0]["is_own_too"] is True


@pytest.mark.parametrize("given", [b"README.md\nsrc/app.py\n", b"README.md\0src/app.py\0", b"src/\xe9\n"])
def test_paths_come_on_standard_input_too(scene: Scene, given: bytes) -> None:
    assert scene.guard("check", "--stdin", stdin=given).returncode == 1


@pytest.mark.parametrize("arguments", [[], ["--stdin"], ["--jsn", "x"]])
def test_a_question_that_is_none_is_usage(scene: Scene, arguments: list[str]) -> None:
    assert scene.guard("check", *arguments).returncode == 2


def test_a_path_that_begins_with_a_dash_follows_two(scene: Scene) -> None:
    assert scene.guard("check", "--", "-x").returncode == 0


def test_a_held_edit_is_recorded(scene: Scene) -> None:
    scene.guard("check", "src/app.py")

    assert [(event["hook"], event["action"]) for event in scene.spooled()] == [("check", "refused")]


def test_a_bypass_says_free_and_is_recorded(scene: Scene) -> None:
    done = scene.guard("check", "src/app.py", AGENT_MAIL_BYPASS="1")

    assert done.returncode == 0
    assert [event["action"] for event in scene.spooled()] == ["bypassed"]


def test_it_changes_nothing_in_the_repository(scene: Scene) -> None:
    before = scene.git("status", "--porcelain")

    scene.guard("check", "src/app.py")

    assert scene.git("status", "--porcelain") == before
