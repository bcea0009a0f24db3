"""What a hook is told by its exit code, whatever goes wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.core.git.foreign_repository import UnfitRepository
from mcp_agent_mail.domain.guard.decision import GuardOutcome
from mcp_agent_mail.domain.guard.events import read_guard_event
from mcp_agent_mail.guard import entry, hook
from mcp_agent_mail.guard.entry import Exit
from tests.guard.in_process import GuardInProcess

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GuardInProcess:
    harness = GuardInProcess(tmp_path, monkeypatch, capsys)
    harness.base("src/app.py", "src/old.py", "README.md")
    harness.write_snapshot()
    return harness


def _commit(harness: GuardInProcess, path: str, settings: dict[str, str]) -> tuple[int, str]:
    return harness.commit(path, cwd=None, **settings)


MALFORMED = ("Blue Lake", "Oth.", "x" * 100_000, "Blue\nLake", "\u202eLake", "caf\udce9", "'RedStone'")
UNFILLED = ("$AGENT_NAME", "${AGENT_NAME}", "${AGENT_NAME:-}")


@pytest.mark.parametrize("variable", ["AGENT_NAME", "AGENT_MAIL_AGENT"])
@pytest.mark.parametrize("name", MALFORMED, ids=ascii)
def test_a_name_that_nobody_can_have_is_no_way_past_a_lease(harness: GuardInProcess, variable: str, name: str) -> None:
    harness.hold("src/app.py")

    code, told = _commit(harness, "src/app.py", {"AGENT_NAME": "", variable: name})

    assert code == 1
    assert f"no agent can have this name: {variable}=" in told
    assert "UNCHECKED" not in told
    (event,) = harness.spooled()
    recorded = read_guard_event(event, system_clock())
    assert (recorded.action, recorded.project) == (GuardOutcome.REFUSED, str(harness.code))
    assert not NAME.fullmatch(str(recorded.agent))


@pytest.mark.parametrize("name", MALFORMED, ids=ascii)
def test_where_nothing_is_held_such_a_name_is_recorded_and_stops_nobody(harness: GuardInProcess, name: str) -> None:
    code, _ = harness.commit("src/app.py", AGENT_NAME=name, AGENT_MAIL_GUARD_ON_ERROR="block")

    assert code == 0
    (event,) = harness.spooled()
    assert event["action"] == "failed"
    assert event["detail"]["note"].startswith("AGENT_NAME=")
    assert read_guard_event(event, system_clock()).agent


@pytest.mark.parametrize("name", UNFILLED)
def test_a_name_that_a_client_left_unfilled_is_none(harness: GuardInProcess, name: str) -> None:
    harness.hold("src/app.py")

    code, told = harness.commit("src/app.py", AGENT_NAME=name, CLAUDECODE="1")

    assert code == 1
    assert "say who you are" in told
    assert [event["action"] for event in harness.spooled()] == ["refused"]
    harness.git("config", "agent-mail.name", "RedStone")
    assert harness.commit("src/app.py", AGENT_NAME=name)[0] == 0


@pytest.mark.parametrize("name", UNFILLED)
def test_a_name_that_is_unfilled_in_gits_configuration_is_none(harness: GuardInProcess, name: str) -> None:
    harness.hold("src/app.py")
    harness.git("config", "agent-mail.name", name)

    code, told = harness.commit("src/app.py", AGENT_NAME="", CLAUDECODE="1")

    assert (code, "say who you are" in told) == (1, True)


@pytest.mark.parametrize("name", ["x" * 1_000, "Blue\x1b[31mLake"], ids=["long", "escape"])
def test_whatever_name_gits_configuration_holds_is_recorded(harness: GuardInProcess, name: str) -> None:
    harness.hold("src/app.py")
    with (harness.code / ".git" / "config").open("a") as config:
        config.write(f"[agent-mail]\n\tname = {name}\n")

    code, _ = harness.commit("src/app.py", AGENT_NAME="")

    assert code == 1
    (event,) = harness.spooled()
    assert read_guard_event(event, system_clock()).action is GuardOutcome.REFUSED


@pytest.mark.parametrize(
    "settings",
    [
        {"AGENT_MAIL_GUARD_MODE": "blok"},
        {"HTTP_PORT": "abc"},
        {"AGENT_MAIL_BYPASS": "perhaps"},
        {"AGENT_MAIL_GUARD_ON_ERROR": "blok"},
        {"AGENT_MAIL_GUARD_REQUIRE_NAME": "often"},
        {"AGENT_MAIL_URL": "mail.example"},
        {"AGENT_MAIL_PROJECT": "~nobody/app"},
        {"AGENT_MAIL_ENV_FILE": "/no/such/file"},
    ],
    ids=str,
)
def test_of_a_setting_that_cannot_be_used_the_default_counts_and_it_is_told_and_recorded(
    harness: GuardInProcess, settings: dict[str, str]
) -> None:
    (name,) = settings
    free = _commit(harness, "README.md", settings)
    harness.git("reset", "-q")
    harness.hold("src/app.py")
    held = _commit(harness, "src/app.py", settings)

    assert (free[0], held[0]) == (0, 1)
    for told in (free[1], held[1]):
        assert "settings cannot be used, so their defaults count: " in told
        assert f"{name}=" in told
    events = harness.spooled()
    assert [event["action"] for event in events] == ["failed", "refused"]
    assert all(event["detail"]["note"].startswith(f"{name}=") for event in events)
    assert all(event["project"] == str(harness.code) for event in events)


def test_where_what_cannot_be_checked_is_stopped_settings_that_cannot_be_used_stop(harness: GuardInProcess) -> None:
    code, told = harness.commit("src/app.py", AGENT_MAIL_GUARD_MODE="loud", AGENT_MAIL_GUARD_ON_ERROR="block")

    assert code == 1
    assert "commit refused: the guard could not check it: settings cannot be used: AGENT_MAIL_GUARD_MODE=" in told
    (event,) = harness.spooled()
    assert (event["action"], event["project"]) == ("failed", str(harness.code))


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
