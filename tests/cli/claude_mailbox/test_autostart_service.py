"""The door's words for the service: it starts with the login, with the door open."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from tests.cli.claude_mailbox.mailbox_program import MailboxProgram

UNIT = ".config/systemd/user/mcp-agent-mail.service"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")


def test_by_the_door_it_is_installed_with_the_door_open(tmp_path: Path) -> None:
    free = MailboxProgram(tmp_path, "", {"CLAUDE_MAILBOX_PORTS": "0"})
    installed = free.run("install-autostart", "--service")
    text = (tmp_path / UNIT).read_text()
    gone = free.run("uninstall-autostart", "--purge")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        busy = MailboxProgram(tmp_path, "", {"CLAUDE_MAILBOX_PORTS": str(port)})
        refused = busy.run("install-autostart")
        skipped = busy.run("install-autostart", "--skip-port-check")

    assert installed.out.startswith(f"Autostart is installed: {tmp_path}/{UNIT}\n")
    assert 'Environment="CLAUDE_MAILBOX_ENABLED=true"\n' in text
    assert gone.out == f"Autostart is uninstalled: {tmp_path}/{UNIT}\n"
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith(f"claude-mailbox: Port {port} is another program's")
    assert skipped.code == 0


def test_by_the_door_the_servers_own_settings_are_told_too(tmp_path: Path) -> None:
    program = MailboxProgram(tmp_path, "", {"CLAUDE_MAILBOX_PORTS": "0", "HTTP_PORT": "0"})
    installed = program.run("install-autostart")
    text = (tmp_path / UNIT).read_text()
    (tmp_path / ".env").write_text("STORAGE_ROOT=here\n")
    refused = program.run("install-autostart")

    assert installed.out.splitlines()[1] == "It opens: claude-mailbox"
    assert 'Environment="HTTP_PORT=0"\n' in text
    assert refused.code == 1
    assert f"AGENT_MAIL_ENV_FILE={tmp_path}/.env claude-mailbox install-autostart" in refused.err
