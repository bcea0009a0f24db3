"""What a hook is told by its exit code, whatever goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.git.foreign_repository import UnfitRepository
from mcp_agent_mail.guard import entry, hook
from mcp_agent_mail.guard.entry import Exit
from tests.guard.in_process import GuardInProcess


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GuardInProcess:
    harness = GuardInProcess(tmp_path, monkeypatch, capsys)
    harness.base("src/app.py", "src/old.py", "README.md")
    harness.write_snapshot()
    return harness


@pytest.mark.parametrize(("policy", "code"), [("warn", 0), ("block", 1), ("nonsense", 0)])
def test_settings_that_cannot_be_used_are_a_failure_too(harness: GuardInProcess, policy: str, code: int) -> None:
    done = harness.commit("src/app.py", AGENT_MAIL_GUARD_MODE="loud", AGENT_MAIL_GUARD_ON_ERROR=policy)

    assert done[0] == code
    assert "AGENT_MAIL_GUARD_MODE" in done[1]


def test_the_env_file_of_the_repository_does_not_count(harness: GuardInProcess) -> None:
    harness.hold("src/app.py")
    harness.write(".env", "AGENT_MAIL_BYPASS=1\nAGENT_MAIL_GUARD_MODE=warn\n")

    assert harness.commit("src/app.py")[0] == 1


@pytest.mark.parametrize("arguments", [(), ("hook",), ("hook", "post-commit"), ("install",)])
def test_what_is_neither_a_hook_nor_a_question_is_usage(harness: GuardInProcess, arguments: tuple[str, ...]) -> None:
    done = harness.guard(*arguments)

    assert done.returncode == Exit.USAGE
    assert b"usage: am guard hook pre-commit|pre-push [ARGUMENT" in done.stderr


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({}, Exit.PASS),
        ({"AGENT_MAIL_GUARD_ON_ERROR": "block"}, Exit.UNAVAILABLE),
        ({"AGENT_MAIL_GUARD_ON_ERROR": "block", "AGENT_MAIL_BYPASS": "yes"}, Exit.PASS),
    ],
)
@pytest.mark.parametrize("broken", [False, True])
def test_a_question_that_cannot_be_answered_goes_by_the_policy(
    harness: GuardInProcess, settings: dict[str, str], code: Exit, broken: bool
) -> None:
    more = {"AGENT_MAIL_GUARD_MODE": "loud"} if broken else {}
    harness.write_snapshot().unlink()

    done = harness.guard("check", "README.md", cwd=None, stdin=b"", **settings, **more)

    assert done.returncode == code


def test_what_is_no_repository_is_told_in_our_own_words(harness: GuardInProcess) -> None:
    (harness.code / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 9\n")

    done = harness.guard("hook", "pre-commit", AGENT_MAIL_GUARD_ON_ERROR="block")

    assert done.returncode == Exit.REFUSED
    assert b"of a kind that is not read yet: core.repositoryformatversion = 9" in done.stderr
    assert b"fault of the guard" not in done.stderr


def test_a_fault_of_the_guard_passes_with_its_kind_and_place(
    harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> list[str]:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(hook, "staged_paths", fail)

    done = harness.guard("hook", "pre-commit")

    assert done.returncode == Exit.PASS
    assert b"UNCHECKED: a fault of the guard itself: ZeroDivisionError: a bug in test_entry.py:" in done.stderr


def test_a_fault_that_was_never_raised_has_no_place() -> None:
    assert entry._told(ZeroDivisionError("a bug")) == "a fault of the guard itself: ZeroDivisionError: a bug"
    assert entry._told(UnfitRepository("ours")) == "ours"
