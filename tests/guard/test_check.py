"""`am guard check`: asked before the edit, while no server runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.guard.in_process import GuardInProcess


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GuardInProcess:
    harness = GuardInProcess(tmp_path, monkeypatch, capsys)
    harness.base("src/app.py")
    harness.hold("src/**", reason="the parser")
    return harness


def test_a_free_path_is_0_and_a_held_one_1(harness: GuardInProcess) -> None:
    free, held = harness.guard("check", "README.md"), harness.guard("check", "README.md", "src/new.py")

    assert (free.returncode, held.returncode) == (0, 1)
    assert "edit refused: 1 path is held by another agent" in held.stderr.decode()
    assert "AGENT_MAIL_BYPASS=1\n" in held.stderr.decode()
    assert held.stdout == b""


def test_paths_are_meant_from_where_one_stands_or_absolute(harness: GuardInProcess) -> None:
    (harness.code / "src" / "deep").mkdir()

    codes = [
        harness.guard("check", "app.py", cwd=harness.code / "src").returncode,
        harness.guard("check", "../app.py", cwd=harness.code / "src" / "deep").returncode,
        harness.guard("check", str(harness.code / "src" / "app.py"), cwd=harness.code).returncode,
        harness.guard("check", "../README.md", cwd=harness.code / "src").returncode,
    ]

    assert codes == [1, 1, 1, 0]


def test_a_link_to_the_repository_is_the_repository(harness: GuardInProcess) -> None:
    (harness.root / "link").symlink_to(harness.code)

    assert harness.guard("check", str(harness.root / "link" / "src" / "app.py")).returncode == 1


def test_a_link_that_is_a_file_is_asked_about_by_both_its_ends(harness: GuardInProcess) -> None:
    """`CLAUDE.md -> AGENTS.md`: who writes through the link writes the other file."""
    for name, leads_to in {
        "to-held.py": "src/app.py",
        "src/held-link.py": "../README.md",
        "to-nothing.py": "src/not-there-yet.py",
        "a-link-more.py": "to-held.py",
        "free.py": "README.md",
        "out.py": "/etc/hosts",
        "round.py": "round.py",
    }.items():
        (harness.code / name).symlink_to(leads_to)
    (harness.root / "from-outside.py").symlink_to(harness.code / "src" / "app.py")

    codes = {name: harness.guard("check", name).returncode for name in ("to-held.py", "src/held-link.py", "free.py")}
    codes |= {name: harness.guard("check", name).returncode for name in ("to-nothing.py", "a-link-more.py", "out.py")}
    codes |= {name: harness.guard("check", name).returncode for name in ("round.py", "../from-outside.py")}

    assert [name for name, code in codes.items() if code == 0] == ["free.py", "out.py", "round.py"]
    assert set(codes.values()) == {0, 1}


def test_of_a_link_the_answer_as_json_has_one_path_as_given(harness: GuardInProcess) -> None:
    (harness.code / "link.py").symlink_to("src/app.py")

    (path,) = json.loads(harness.guard("check", "--json", "link.py").stdout)["paths"]

    assert (path["path"], path["free"], path["holder"]["path_pattern"]) == ("link.py", False, "src/**")


def test_a_commit_of_a_link_is_one_of_the_link_alone(harness: GuardInProcess) -> None:
    (harness.code / "link.py").symlink_to("src/app.py")
    harness.git("add", "--", "link.py")

    assert harness.commit("README.md")[0] == 0


@pytest.mark.parametrize("path", ["../elsewhere.py", "/etc/passwd", "."])
def test_what_is_no_file_of_the_repository_is_an_error(harness: GuardInProcess, path: str) -> None:
    done = harness.guard("check", path)

    assert done.returncode == 2
    assert "is no file of the repository" in done.stderr.decode()


def test_outside_any_repository_it_cannot_tell(harness: GuardInProcess) -> None:
    warned = harness.guard("check", "x", cwd=harness.root)
    blocked = harness.guard("check", "x", cwd=harness.root, AGENT_MAIL_GUARD_ON_ERROR="block")

    assert (warned.returncode, blocked.returncode) == (0, 69)
    assert "not a git repository" in warned.stderr.decode()


def test_the_answer_as_json(harness: GuardInProcess) -> None:
    done = harness.guard("check", "--json", "src/app.py", "./README.md")

    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert answer["free"] is False
    assert answer["agent"] == "BlueLake"
    assert answer["project"] == str(harness.code)
    assert answer["source"].startswith("a snapshot of the leases")
    held, free = answer["paths"]
    assert (held["path"], held["free"], held["holder"]["agent"]) == ("src/app.py", False, "RedStone")
    assert held["holder"]["reason"] == "the parser"
    assert (held["holder"]["reservation_id"], held["holder"]["path_pattern"]) == (1, "src/**")
    assert free == {"path": "./README.md", "free": True, "holder": None, "is_own_too": False}


def test_one_that_i_hold_too_is_free(harness: GuardInProcess) -> None:
    harness.hold("src/app.py", agent="BlueLake")

    done = harness.guard("check", "--json", "src/app.py")

    assert done.returncode == 0
    assert json.loads(done.stdout)["paths"][0]["is_own_too"] is True


@pytest.mark.parametrize("given", [b"README.md\nsrc/app.py\n", b"README.md\0src/app.py\0", b"src/\xe9\n"])
def test_paths_come_on_standard_input_too(harness: GuardInProcess, given: bytes) -> None:
    assert harness.guard("check", "--stdin", stdin=given).returncode == 1


@pytest.mark.parametrize("arguments", [[], ["--stdin"], ["--jsn", "x"]])
def test_a_question_that_is_none_is_usage(harness: GuardInProcess, arguments: list[str]) -> None:
    assert harness.guard("check", *arguments).returncode == 2


def test_a_path_that_begins_with_a_dash_follows_two(harness: GuardInProcess) -> None:
    assert harness.guard("check", "--", "-x").returncode == 0


def test_a_held_edit_is_recorded(harness: GuardInProcess) -> None:
    harness.guard("check", "src/app.py")

    assert [(event["hook"], event["action"]) for event in harness.spooled()] == [("check", "refused")]


def test_a_bypass_says_free_and_is_recorded(harness: GuardInProcess) -> None:
    done = harness.guard("check", "src/app.py", AGENT_MAIL_BYPASS="1")

    assert done.returncode == 0
    assert [event["action"] for event in harness.spooled()] == ["bypassed"]


def test_it_changes_nothing_in_the_repository(harness: GuardInProcess) -> None:
    before = harness.git("status", "--porcelain")

    harness.guard("check", "src/app.py")

    assert harness.git("status", "--porcelain") == before
