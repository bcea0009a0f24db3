from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from mcp_agent_mail.cli.stdio.background import BackgroundServer, sole_starter
from mcp_agent_mail.core.settings.client import load_client_settings
from tests.served import pause


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs in place of Python, and tells what it was given."""
    script = tmp_path / "python"
    script.write_text(
        '#!/bin/sh\necho "$@"\npwd\n'
        'echo "$STORAGE_ROOT|$HTTP_HOST|$HTTP_PORT|$HTTP_PATH|$AGENT_MAIL_ENV_FILE"\n'
        'echo "$AGENT_MAIL_TOKEN|$AGENT_NAME|$OTHER"\n'
        "exit 7\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    return script


def started(root: Path, *, env_file: Path | None = None, **environ: str) -> BackgroundServer:
    settings = load_client_settings({"STORAGE_ROOT": str(root), "HTTP_PORT": "0", **environ})
    return BackgroundServer(settings, env_file=env_file)


def exit_code_of(server: BackgroundServer) -> int:
    while (code := server.exit_code()) is None:
        pause()
    return code


@pytest.mark.usefixtures("program")
def test_a_server_is_told_what_it_shares_with_its_client_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("AGENT_MAIL_TOKEN", "secret"), ("AGENT_NAME", "BlueLake"), ("OTHER", "kept")):
        monkeypatch.setenv(name, value)

    server = started(tmp_path / "store", HTTP_HOST="localhost", HTTP_PATH="/agents/")

    assert exit_code_of(server) == 7
    assert server.said().splitlines() == [
        "-P -m mcp_agent_mail serve",
        "/",
        f"{tmp_path}/store|localhost|0|/agents|",
        "||kept",
    ]


@pytest.mark.usefixtures("program")
def test_the_file_of_settings_is_handed_on_by_its_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.env").touch()

    named = started(tmp_path / "store", AGENT_MAIL_ENV_FILE="mine.env")
    exit_code_of(named)
    said = [named.said()]
    given = started(tmp_path / "store", env_file=Path("other.env"))
    exit_code_of(given)
    said.append(given.said())

    assert [words.splitlines()[2].split("|")[4] for words in said] == [f"{tmp_path}/mine.env", f"{tmp_path}/other.env"]


@pytest.mark.usefixtures("program")
def test_what_it_says_is_what_was_written_since_its_start_and_the_end_of_that(tmp_path: Path) -> None:
    root = tmp_path / "store"
    root.mkdir()
    (root / "server.log").write_text("of another start\n")

    server = started(root)
    exit_code_of(server)
    short = server.said()
    with server.log.open("a") as log:
        log.write("x" * 10_000)
    long = server.said()
    server.log.write_text("begun anew")

    assert "another" not in short
    assert short.startswith("-P -m")
    assert long == "x" * 2_000
    assert server.said() == "", "a log that was cut off meanwhile"


def test_a_server_that_cannot_start_says_why_in_a_log_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_AUTH", "perhaps")

    server = started(tmp_path / "store")

    assert exit_code_of(server) == 78
    assert "AGENT_AUTH='perhaps'" in server.said()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (server.log, server.log.parent)] == [0o600, 0o700]
    assert server.pid != os.getpid()


def test_one_at_a_time_may_start_a_server(tmp_path: Path) -> None:
    root = tmp_path / "store"

    with sole_starter(root) as first, sole_starter(root) as second:
        beside = (first, second)
    with sole_starter(root) as later:
        pass

    assert beside == (True, False)
    assert later is True
