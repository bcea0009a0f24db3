"""The units: what they lock up, that systemd takes them, and that restarts are those of `am service install`."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from mcp_agent_mail.cli.service.unit_files import ServiceKind, ServiceUnit, unit_file
from mcp_agent_mail.core.settings.rows import ROWS
from mcp_agent_mail.server.serve import ServeExit
from mcp_agent_mail.server.transport.listener import BACKLOG
from tests.deploy.programs import require_program
from tests.pages.blocks import ROOT

UNITS = ROOT / "deploy" / "systemd"
KINDS = ("system", "user")
MOST_EXPOSED = {"system": 15, "user": 65}
"""Tenths, by `systemd-analyze security`: a person's unit leaves home folders open, where repositories lie."""
OF_BOTH = {
    "NoNewPrivileges": "true",
    "LockPersonality": "true",
    "MemoryDenyWriteExecute": "true",
    "RestrictNamespaces": "true",
    "RestrictRealtime": "true",
    "RestrictSUIDSGID": "true",
    "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
    "SystemCallArchitectures": "native",
    "SystemCallFilter": "@system-service ~@privileged",
    "UMask": "0077",
    "MemoryMax": "2G",
}
OF_SYSTEM = {
    "ProtectSystem": "strict",
    "ProtectHome": "true",
    "PrivateTmp": "true",
    "PrivateDevices": "true",
    "ProtectKernelTunables": "true",
    "ProtectKernelModules": "true",
    "ProtectControlGroups": "true",
    "CapabilityBoundingSet": "",
    "StateDirectory": "mcp-agent-mail",
    "StateDirectoryMode": "0700",
    "User": "agent-mail",
}


def settings_of(text: str) -> dict[str, str]:
    """Those of a unit, by name; what is said twice is joined."""
    found: dict[str, str] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE):
        found[name] = f"{found[name]} {value}" if name in found else value
    return found


def unit(kind: str, suffix: str) -> str:
    return (UNITS / kind / f"am.{suffix}").read_text()


@pytest.mark.parametrize(("kind", "wanted"), [("system", OF_BOTH | OF_SYSTEM), ("user", OF_BOTH)])
def test_a_service_is_locked_up(kind: str, wanted: dict[str, str]) -> None:
    settings = settings_of(unit(kind, "service"))

    assert {name: settings.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_a_restart_is_the_one_that_an_installed_service_has(kind: str) -> None:
    installed = unit_file(ServiceKind.SYSTEMD, ServiceUnit(command=["am"], environment={}), {"HOME": "/home/a"})
    of_installed, ours = settings_of(installed.content.decode()), settings_of(unit(kind, "service"))

    same = ("Type", "Restart", "RestartSec", "RestartPreventExitStatus", "TimeoutStopSec", "Description")
    assert {name: ours[name] for name in same} == {name: of_installed[name] for name in same}
    assert {str(int(ServeExit.CANNOT_LISTEN)), str(int(ServeExit.STORE_IN_USE))} < set(
        ours["RestartPreventExitStatus"].split()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_socket_is_of_this_machine_and_the_service_wants_it(kind: str) -> None:
    defaults = {row.name: row.default for row in ROWS}
    socket, service = settings_of(unit(kind, "socket")), settings_of(unit(kind, "service"))

    assert socket["ListenStream"] == f"{defaults['HTTP_HOST']}:{defaults['HTTP_PORT']}"
    assert socket["Backlog"] == str(BACKLOG)
    assert service["Requires"] == service["After"] == "am.socket"
    assert unit("system", "socket") == unit("user", "socket")


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_service_sets_is_a_setting(kind: str) -> None:
    assert set(re.findall(r"^Environment=(\w+)=", unit(kind, "service"), re.MULTILINE)) <= {
        "HOME",
        *(row.name for row in ROWS),
    }


@pytest.mark.deploy
@pytest.mark.parametrize("kind", KINDS)
def test_systemd_takes_the_units_and_finds_them_locked_up(kind: str, tmp_path: Path) -> None:
    analyze = require_program("systemd-analyze")
    for suffix in ("socket", "service"):
        text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit(kind, suffix), flags=re.MULTILINE)
        (tmp_path / f"am.{suffix}").write_text(text)
    files = [str(tmp_path / "am.socket"), str(tmp_path / "am.service")]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}

    verified = subprocess.run(
        [analyze, "verify", "--man=no", *(["--user"] if kind == "user" else []), *files],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment,
    )
    judged = subprocess.run(
        [analyze, "security", "--offline=true", f"--threshold={MOST_EXPOSED[kind]}", files[1]],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (verified.returncode, verified.stderr) == (0, "")
    assert judged.returncode == 0, judged.stdout[-300:]
