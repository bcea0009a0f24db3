from __future__ import annotations

import os
import pwd
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
from tests.cli.beginning_server import OPERATORS, beginning
from tests.cli.scripted_server import answer
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


def test_no_server_is_started_for_a_token_that_it_would_not_take(shell: Shell) -> None:
    shell.set(AGENT_MAIL_TOKEN="s3cret" * 8, HTTP_BEARER_TOKEN="another" * 8)

    try:
        told = refused_by_setup(shell)
    finally:
        if (owner := read_owner(shell.home / ".mcp_agent_mail")) is not None:
            os.kill(owner.pid or 0, signal.SIGTERM)

    assert "AGENT_MAIL_URL does not say which server it is for" in told
    assert "AGENT_MAIL_URL=https://mail.example.org am setup" in told
    assert "s3cret" not in told


def test_a_token_that_is_the_settings_own_wants_no_address(shell: Shell) -> None:
    shell.set(AGENT_MAIL_TOKEN="s3cret" * 8, HTTP_BEARER_TOKEN="s3cret" * 8)

    assert shell.am("setup", "--client", "claude", "--dry-run").code == 0


@pytest.mark.parametrize("home", ["", "rel"])
def test_a_home_that_is_no_absolute_path_is_that_of_the_password_file(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", home)

    assert surroundings().home == Path(pwd.getpwuid(os.getuid()).pw_dir)


STRANGER = """
import http.server, sys
class Stranger(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print("asked", self.headers.get("Authorization"), file=sys.stderr, flush=True)
        self.send_response(int(sys.argv[1]))
        self.end_headers()
        self.wfile.write(sys.argv[2].encode())
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Stranger)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def stranger(status: int, body: str) -> Iterator[int]:
    """Somebody's server, which answers everything so. Gives its port."""
    with subprocess.Popen(
        [sys.executable, "-c", STRANGER, str(status), body], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()
        # The token of ours is shown to nobody.
        assert set(process.stderr.read().split("\n")) <= {"asked None", ""}


def refused_by_setup(shell: Shell) -> str:
    """What it says, once it has refused and written nothing, as its dry run foretold."""
    before = sorted(shell.home.iterdir())
    foretold = shell.am("setup", "--client", "claude", "--dry-run")
    ended = shell.am("setup", "--client", "claude", "--yes")

    assert (foretold.code, ended.code) == (69, 69)
    assert sorted(shell.home.iterdir()) == before
    fact = ended.err.split("\n")[0].partition(": ")[2]
    assert fact in foretold.out
    return ended.err


def test_a_server_of_another_store_is_not_taken_for_ours(shell: Shell, tmp_path: Path) -> None:
    with Served(tmp_path / "other", HOME=str(tmp_path)) as server:
        shell.set(HTTP_PORT=str(server.port))
        said = refused_by_setup(shell)
        shell.set(AGENT_MAIL_URL=f"http://127.0.0.1:{server.port}")
        meant = shell.am("setup", "--client", "windsurf", "--yes")

    assert f"There is no store in {shell.home}/.mcp_agent_mail yet" in said
    assert f"the agent-mail server at http://127.0.0.1:{server.port} serves another one" in said
    assert str(tmp_path / "other") in said
    assert f"AGENT_MAIL_URL=http://127.0.0.1:{server.port} am setup" in said
    assert meant.code == 0


def test_a_server_that_begins_this_store_meanwhile_is_ours(shell: Shell) -> None:
    context = shell.context()
    with beginning(context, {"/rpc/health_check": answer({"database_url": context.settings.database_url})}) as served:
        url, proofs = served
        shell.set(HTTP_PORT=url.rpartition(":")[2])
        gateway = require_server(shell.context())
        gateway.call("health_check", {})
        gateway.close()

    assert proofs[-1] == f"Bearer {OPERATORS}"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, "nothing", "does not answer as an agent-mail server"),
        (200, '{"status": "ok"}', "does not answer as an agent-mail server"),
        (401, '{"detail": "Not yours"}', "refuses to say whose it is (Not yours)"),
    ],
)
def test_who_else_listens_where_ours_would_is_named(status: int, body: str, said: str, shell: Shell) -> None:
    shell.set(AGENT_MAIL_TOKEN="s3cret" * 8)
    with stranger(status, body) as port:
        shell.set(HTTP_PORT=str(port))
        told = refused_by_setup(shell)

    assert f"what listens at http://127.0.0.1:{port} {said}" in told
    assert "Set HTTP_PORT to a port that is free" in told
    assert "A server elsewhere is named by AGENT_MAIL_URL." in told


def test_who_listens_and_never_answers_is_not_waited_for_long(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_agent_mail.cli.setup.surroundings._WITHIN_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        shell.set(HTTP_PORT=str(silent.getsockname()[1]))

        assert "does not answer as an agent-mail server" in refused_by_setup(shell)


@pytest.mark.parametrize(("status", "body"), [(404, "nothing"), (200, "[]")])
def test_a_server_that_was_named_has_to_be_one_of_agent_mail(status: int, body: str, shell: Shell) -> None:
    with stranger(status, body) as port:
        shell.set(AGENT_MAIL_URL=f"http://127.0.0.1:{port}")
        told = refused_by_setup(shell)

    assert "no agent-mail server" in told
    assert "Check AGENT_MAIL_URL" in told
