"""The service on this machine, as `am service` and `claude-mailbox` install it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.service.install import has_user_manager
from mcp_agent_mail.cli.service.unit_files import ServiceKind

UNIT = ".config/systemd/user/mcp-agent-mail.service"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")


def am(home: Path, *arguments: str, **env: str) -> tuple[int, Any, str]:
    """In a home of its own, which no user manager looks after."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", "service", *arguments, "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
        env={**kept, "HOME": str(home), "HTTP_PORT": "0", **env},
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def test_it_is_installed_looked_at_and_taken_away(tmp_path: Path) -> None:
    (tmp_path / "mail.env").touch()
    none = am(tmp_path, "status")[1]
    installed = am(tmp_path, "install", STORAGE_ROOT="store", AGENT_MAIL_ENV_FILE="~/mail.env")[1]
    text = (tmp_path / UNIT).read_text()
    again = am(tmp_path, "install", STORAGE_ROOT="store", AGENT_MAIL_ENV_FILE="~/mail.env")[1]
    looked = am(tmp_path, "status")[1]
    gone = [am(tmp_path, "uninstall")[1] for _ in range(2)]

    assert (none["installed"], installed["installed"], looked["installed"]) == (False, True, True)
    assert installed == again
    assert installed["path"] == str(tmp_path / UNIT)
    assert installed["active"] is None
    assert installed["notes"] == ["No user manager of systemd runs here: the unit is written and not started."]
    assert f'Environment="STORAGE_ROOT={tmp_path}/store"\n' in text
    assert f'Environment="AGENT_MAIL_ENV_FILE={tmp_path}/mail.env"\n' in text
    assert [one["installed"] for one in gone] == [False, False]
    assert not (tmp_path / UNIT).exists()


def test_a_foreign_port_refuses_it_and_nothing_is_written(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = am(tmp_path, "install", HTTP_PORT=port)
        skipped = am(tmp_path, "install", "--skip-port-check", HTTP_PORT=port)

    assert refused[0] == 1
    assert f"Port {port} is another program's" in refused[2]
    assert skipped[0] == 0
    assert (tmp_path / UNIT).exists()


def test_where_a_user_manager_runs_it_runs(tmp_path: Path) -> None:
    environ = {name: os.environ[name] for name in ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS") if name in os.environ}
    if not has_user_manager(ServiceKind.SYSTEMD, environ):
        pytest.skip("no user manager of systemd runs here: unproven")
    # It is the person's own manager: a home of the test's is none of its places, so only a look is taken.
    looked = am(tmp_path, "status", **environ)[1]

    assert looked["active"] is False


@pytest.mark.parametrize("is_link", [False, True])
def test_a_unit_that_somebody_else_wrote_is_left_as_it_is(tmp_path: Path, *, is_link: bool) -> None:
    unit = tmp_path / UNIT
    unit.parent.mkdir(parents=True)
    theirs = tmp_path / "theirs.service" if is_link else unit
    theirs.write_text("[Service]\nExecStart=/bin/true\n")
    if is_link:
        unit.symlink_to(theirs)
    before = theirs.read_bytes()

    refused = [am(tmp_path, command) for command in ("install", "uninstall")]
    looked = am(tmp_path, "status")[1]

    assert [code for code, _, _ in refused] == [1, 1]
    assert all("is somebody else's" in said and f"mv {unit} {unit}.other" in said for _, _, said in refused)
    assert (theirs.read_bytes(), unit.is_symlink()) == (before, is_link)
    assert looked["installed"] is False
    assert looked["notes"] == ["The file that lies there is none of ours."]
