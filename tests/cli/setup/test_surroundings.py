from __future__ import annotations

import os
import pwd
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.setup.surroundings import (
    SecretInAddress,
    notes_on,
    path_of_am,
    require_server,
    settings_for,
    surroundings,
)
from mcp_agent_mail.core.store_owner import read_owner
from tests.cli.shell import Shell
from tests.served import Served


def test_the_name_on_path_is_taken_where_it_is_this_very_am(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "bin").mkdir()
    own = tmp_path / "venv/am"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv/python"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert path_of_am() == str(own)

    (tmp_path / "bin/am").symlink_to(own)
    assert path_of_am() == str(tmp_path / "bin/am")

    (tmp_path / "bin/am").unlink()
    (tmp_path / "bin/am").write_text("#!/bin/sh\n# another\n")
    (tmp_path / "bin/am").chmod(0o755)
    assert path_of_am() == str(own)


@pytest.mark.parametrize(
    ("named", "url"),
    [
        ("http://mail:1", "http://mail:1/mcp"),
        ("https://mail/x/", "https://mail/x/mcp"),
        ("http://mail:1/api", "http://mail:1/api"),
        ("http://mail:1/mcp/", "http://mail:1/mcp"),
    ],
)
def test_clients_are_given_the_path_of_mcp_of_a_server_that_is_named(named: str, url: str, shell: Shell) -> None:
    shell.set(AGENT_MAIL_URL=named)

    assert settings_for(shell.context()).url == url


@pytest.mark.parametrize("named", ["http://me:s3cret@mail:1", "https://t0ken@mail/mcp"])
def test_an_address_with_a_password_is_given_to_no_client(named: str, shell: Shell) -> None:
    shell.set(AGENT_MAIL_URL=named)

    with pytest.raises(SecretInAddress) as refused:
        settings_for(shell.context())

    assert "AGENT_MAIL_TOKEN" in refused.value.hint
    assert not {"s3cret", "t0ken"} & set(re.findall(r"\w+", str(refused.value)))


def test_a_token_is_known_of_and_never_taken_along(shell: Shell) -> None:
    assert settings_for(shell.context()).has_token is False
    shell.set(AGENT_MAIL_TOKEN="s3cret" * 8)

    settings = settings_for(shell.context())

    assert settings.has_token is True
    assert "s3cret" not in repr(settings)


def test_the_server_that_owns_the_store_is_told_and_what_may_surprise_is_said(shell: Shell) -> None:
    root = shell.home / ".mcp_agent_mail"
    with Served(root, HOME=str(shell.home)) as server:
        context = shell.context()
        settings = settings_for(context)
        gateway = require_server(context)
        assert gateway.call("health_check", {})["status"] == "ok"
        gateway.close()

    assert settings.url == f"http://127.0.0.1:{server.port}/mcp"
    assert ["HTTP_PORT" in note for note in notes_on(context, settings)] == [True]


def test_hooks_need_to_be_told_of_a_store_that_is_somewhere_else(shell: Shell) -> None:
    shell.set(STORAGE_ROOT=str(shell.home / "else"))
    context = shell.context()

    assert notes_on(context, settings_for(context)) == [
        f"Hooks find the store by their environment: set STORAGE_ROOT={shell.home}/else where clients start."
    ]


def test_hooks_need_to_be_told_of_a_server_that_was_named(shell: Shell) -> None:
    shell.set(AGENT_MAIL_URL="http://mail:1")
    context = shell.context()

    (note,) = notes_on(context, settings_for(context))

    assert "AGENT_MAIL_URL=http://mail:1" in note


def test_a_server_that_was_named_is_not_started(shell: Shell) -> None:
    shell.set(AGENT_MAIL_URL="http://127.0.0.1:1")

    with pytest.raises(NoServer):
        require_server(shell.context())

    assert not (shell.home / ".mcp_agent_mail").exists()


def test_a_server_is_started_where_there_is_none(tmp_path: Path) -> None:
    environ = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
    command = [sys.executable, "-m", "mcp_agent_mail", "setup", "--client", "windsurf", "--yes"]

    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**environ, "HOME": str(tmp_path), "HTTP_PORT": "0"},
    )

    owner = read_owner(tmp_path / ".mcp_agent_mail")
    assert owner is not None, ended.stderr
    os.kill(owner.pid or 0, signal.SIGTERM)
    assert (ended.returncode, f"kill {owner.pid}" in ended.stderr) == (0, True)
    assert f"{owner.url}/mcp" in (tmp_path / ".codeium/windsurf/mcp_config.json").read_text()


@pytest.mark.parametrize("home", ["", "rel"])
def test_a_home_that_is_no_absolute_path_is_that_of_the_password_file(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", home)

    assert surroundings().home == Path(pwd.getpwuid(os.getuid()).pw_dir)
