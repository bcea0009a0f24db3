from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from tests.cli.shell import Shell


def test_a_file_is_written_that_changes_nothing_and_that_commands_read(shell: Shell) -> None:
    done = shell.am("init", "--json")

    path = shell.home / ".config" / "mcp-agent-mail" / ".env"
    assert done.json() == {"path": str(path)}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert shell.am("config", "check").out == "The settings are good.\n"
    path.write_text(path.read_text().replace("#LOG_LEVEL=INFO", "LOG_LEVEL=DEBUG"))
    assert f"LOG_LEVEL\tDEBUG\t{path}:" in shell.am("config", "show").out


def test_each_file_has_a_token_of_its_own_as_a_comment(shell: Shell) -> None:
    tokens = []
    for name in ("one.env", "two.env"):
        assert shell.am("init", "--env-file", name).code == 0
        tokens += re.findall(r"^#HTTP_BEARER_TOKEN=(\S{40,})$", (shell.home / name).read_text(), re.MULTILINE)

    assert len(set(tokens)) == 2


def test_it_is_written_where_the_environment_names_one(shell: Shell, tmp_path: Path) -> None:
    shell.set(AGENT_MAIL_ENV_FILE=str(tmp_path / "mine.env"))

    assert shell.am("init").lines()[0] == ["path", str(tmp_path / "mine.env")]


def test_a_file_that_is_there_stays(shell: Shell) -> None:
    path = shell.home / "mine.env"
    path.write_text("HTTP_PORT=9000\n")

    done = shell.am("init", "--env-file", str(path))

    assert done.code == 1
    assert f"{path} is there already" in done.err
    assert path.read_text() == "HTTP_PORT=9000\n"


@pytest.mark.parametrize("words", [("init",), ("config", "set-port", "9000")])
def test_below_a_file_there_can_be_none(shell: Shell, words: tuple[str, ...]) -> None:
    (shell.home / "plain").write_text("")

    done = shell.am(*words, "--env-file", "plain/.env")

    assert done.code == 1
    assert done.err.startswith("Error (CONFLICT): ")
    assert "plain is a file, and no folder." in done.err
    assert "Hint: Name a file that can be changed: --env-file FILE" in done.err


@pytest.mark.parametrize("words", [("init",), ("config", "set-port", "9000")])
def test_where_none_can_be_written_another_place_is_asked_for(shell: Shell, words: tuple[str, ...]) -> None:
    done = shell.am(*words, "--env-file", "/proc/none/.env")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error (CONFLICT): /proc/none/.env was not written")
    assert "Hint: Name a file that can be changed: --env-file FILE" in done.err
