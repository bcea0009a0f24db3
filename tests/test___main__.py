"""What a commit and an edit wait for is run by the guard itself, everything else by the command line."""

from __future__ import annotations

import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail import __version__
from mcp_agent_mail.__main__ import am_run, amctl, main

ROOT = Path(__file__).parents[1]
Captured = pytest.CaptureFixture[str]


def _exit_code(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    monkeypatch.setattr(sys, "argv", ["am", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_the_command_line_ends_the_process_with_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    done = _exit_code(monkeypatch, "--version")
    refused = _exit_code(monkeypatch, "mial")

    told = capsys.readouterr()
    assert (done, refused) == (0, 2)
    assert told.out == f"am {__version__}\n"
    assert "No such command 'mial'" in told.err


def test_at_its_end_the_collector_looks_through_nothing_that_was_loaded() -> None:
    # What is registered first runs last.
    program = """
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count() > 10_000))
sys.argv = ["am", "--version"]
from mcp_agent_mail.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == f"am {__version__}\nTrue\n"


def test_the_package_is_the_command_too(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(sys, "argv", ["am", "--version"])
    monkeypatch.delitem(sys.modules, "mcp_agent_mail.__main__")

    with pytest.raises(SystemExit):
        runpy.run_module("mcp_agent_mail", run_name="__main__")

    assert capsys.readouterr().out == f"am {__version__}\n"


@pytest.mark.parametrize(
    ("program", "arguments", "today"), [(am_run, (), "run"), (amctl, ("env",), "env")], ids=["am-run", "amctl"]
)
def test_older_programs_are_commands_of_today_and_say_so(
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
    program: Callable[[], None],
    arguments: tuple[str, ...],
    today: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["program", *arguments, "--help"])
    with pytest.raises(SystemExit) as ended:
        program()

    told = capsys.readouterr()
    assert ended.value.code == 0
    assert told.out.startswith(f"Usage: am {today} ")
    assert told.err.endswith(f" is an older name. It is am {today} now.\n")
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    name = program.__name__.replace("_", "-")
    assert scripts[name] == f"mcp_agent_mail.__main__:{program.__name__}"


def test_hooks_and_checks_are_answered_by_the_guard(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    hook = _exit_code(monkeypatch, "guard", "hook", "no-such-hook")
    check = _exit_code(monkeypatch, "guard", "check", "--nonsense")

    told = capsys.readouterr()
    assert (hook, check) == (2, 2)
    assert "usage: am guard hook pre-commit|pre-push" in told.err
    assert "check knows no option --nonsense" in told.err


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_of_a_check_is_the_command_lines(word: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    _exit_code(monkeypatch, "guard", "check", word)

    told = capsys.readouterr()
    assert "check knows no option" not in told.err


def test_the_rest_of_the_guard_is_the_command_lines(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    done = _exit_code(monkeypatch, "guard", "log", "--help")

    assert done == 0
    assert "List what the guard did" in capsys.readouterr().out


def test_events_of_clients_are_answered_by_the_hook(monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    code = _exit_code(monkeypatch, "hook", "nobody", "Stop")

    assert code == 0
    assert capfd.readouterr().err.startswith("agent-mail hook: no client is called 'nobody'")


def test_help_of_the_hook_is_the_command_lines(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    _exit_code(monkeypatch, "hook", "--help")

    assert "no client is called" not in capsys.readouterr().err
