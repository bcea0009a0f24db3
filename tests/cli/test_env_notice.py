"""A `./.env` that speaks to us and is not read: every command says so, once, but where strangers' files lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import am
from tests.cli.shell import Shell

NOTICE = "Notice: STORAGE_ROOT, HTTP_PORT"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    here = tmp_path / "here"
    here.mkdir()
    (here / ".env").write_text("HTTP_PORT=1\nSTORAGE_ROOT=store\n")
    return here


@pytest.fixture
def here(shell: Shell, folder: Path) -> Shell:
    """`am` in that folder, with none of what the file sets."""
    shell.unset("HTTP_PORT")
    shell.go_to(folder)
    return shell


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("status", "--json"),
        ("mail", "inbox"),
        ("agents", "list"),
        ("projects", "list", "--json"),
        ("doctor", "check"),
        ("env",),
        ("config", "show"),
    ],
)
def test_every_command_says_so_once(command: tuple[str, ...], here: Shell) -> None:
    done = here.am(*command)

    assert done.err.count(NOTICE) == 1, done
    assert "Notice" not in done.out


@pytest.mark.parametrize("command", [("guard", "log"), ("guard", "status"), ("guard", "check", "a.py")])
def test_the_guard_says_nothing_of_a_strangers_file(command: tuple[str, ...], folder: Path, tmp_path: Path) -> None:
    assert "Notice" not in am(*command, home=tmp_path, cwd=folder).stderr


def test_a_file_that_is_named_is_not_mentioned(folder: Path, here: Shell) -> None:
    here.set(AGENT_MAIL_ENV_FILE=".env")

    done = here.am("status", "--json")

    assert done.err == ""
    assert done.json()["storage_root"] == str(folder / "store")


def test_status_does_not_advise_a_start_of_what_may_run_by_that_file(here: Shell) -> None:
    first = here.am("status").out.splitlines()[0]

    assert first == "server\tnot running for this store (for that of .env: AGENT_MAIL_ENV_FILE=.env am status)"
