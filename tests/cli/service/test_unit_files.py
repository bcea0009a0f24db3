"""The files that start the server with a login: read by what each platform has, or by a parser of their form."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.cli.service.unit_files import (
    ServiceKind,
    ServiceUnit,
    is_installed,
    is_ours,
    server_command,
    unit_file,
    unit_path,
)

UNIT = ServiceUnit(
    command=["/opt/my tools/python", "-P", "-m", "mcp_agent_mail", "serve"],
    environment={"STORAGE_ROOT": '/home/me/100% "mine"\\$HOME', "CLAUDE_MAILBOX_ENABLED": "true"},
)


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    assert shutil.which("systemd-analyze"), "systemd is part of what the tests need"
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    real = ServiceUnit(command=server_command(), environment=UNIT.environment)
    file = unit_file(ServiceKind.SYSTEMD, real, environ)
    file.path.parent.mkdir(parents=True)
    file.path.write_bytes(file.content)

    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(file.path)],
        capture_output=True,
        text=True,
        check=False,
        env={**environ, "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path)},
    )

    assert file.path == tmp_path / "config" / "systemd" / "user" / "mcp-agent-mail.service"
    about = [line for line in done.stderr.splitlines() if "mcp-agent-mail.service" in line]
    assert about == []
    assert done.returncode == 0, done.stderr


def test_the_unit_holds_what_it_is_told_in_systemds_quotes() -> None:
    text = unit_file(ServiceKind.SYSTEMD, UNIT, {"HOME": "/home/me"}).content.decode()

    assert 'ExecStart="/opt/my tools/python" "-P" "-m" "mcp_agent_mail" "serve"\n' in text
    assert 'Environment="STORAGE_ROOT=/home/me/100%% \\"mine\\"\\\\$HOME"\n' in text
    assert "RestartPreventExitStatus=71 75 78\n" in text
    assert "WantedBy=default.target\n" in text


def test_launchd_gets_a_property_list() -> None:
    file = unit_file(ServiceKind.LAUNCHD, UNIT, {"HOME": "/Users/me"})
    told = plistlib.loads(file.content)

    assert str(file.path) == "/Users/me/Library/LaunchAgents/mcp-agent-mail.server.plist"
    assert told["ProgramArguments"] == list(UNIT.command)
    assert told["EnvironmentVariables"] == dict(UNIT.environment)
    assert (told["RunAtLoad"], told["KeepAlive"]) == (True, {"SuccessfulExit": False})


def test_windows_gets_a_task() -> None:
    unit = replace(UNIT, environment={"STORAGE_ROOT": "/home/my mail", "CLAUDE_MAILBOX_ENABLED": "true"})
    file = unit_file(ServiceKind.WINDOWS, unit, {"HOME": "/home/me"})
    task = ET.fromstring(file.content)
    space = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
    arguments = task.findtext(f"{space}Actions/{space}Exec/{space}Arguments")

    assert task.find(f"{space}Triggers/{space}LogonTrigger") is not None
    assert arguments is not None
    assert 'set "CLAUDE_MAILBOX_ENABLED=true" && "/opt/my tools/python"' in arguments


@pytest.mark.parametrize("platform", list(ServiceKind))
def test_what_cannot_stand_in_a_line_is_refused(platform: ServiceKind) -> None:
    unit = ServiceUnit(command=["/opt/a\nExecStartPre=/bin/evil"], environment={})

    with pytest.raises(ValueError, match="control characters"):
        unit_file(platform, unit, {"HOME": "/home/me"})


@pytest.mark.parametrize("platform", ServiceKind)
def test_bytes_that_are_no_text_are_refused(platform: ServiceKind) -> None:
    with pytest.raises(ValueError, match="no UTF-8"):
        unit_file(platform, ServiceUnit(command=["/am"], environment={"STORAGE_ROOT": "/x\udcff"}), {"HOME": "/h"})


@pytest.mark.parametrize("unfit", '"%&|<>^!')
def test_what_windows_shell_would_act_on_is_refused_there_alone(unfit: str) -> None:
    unit = ServiceUnit(command=["/am"], environment={"STORAGE_ROOT": f"/a{unfit}b"})

    with pytest.raises(ValueError, match="would act on"):
        unit_file(ServiceKind.WINDOWS, unit, {"HOME": "/h"})

    assert unit_file(ServiceKind.SYSTEMD, unit, {"HOME": "/h"}).content
    assert unit_file(ServiceKind.LAUNCHD, unit, {"HOME": "/h"}).content


def test_it_is_installed_where_its_file_is(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    path = unit_path(ServiceKind.SYSTEMD, environ)
    before = is_installed(environ)
    path.parent.mkdir(parents=True)
    path.write_bytes(unit_file(ServiceKind.SYSTEMD, UNIT, environ).content)

    assert (before, is_installed(environ)) == (False, True)
    assert unit_path(ServiceKind.SYSTEMD, {**environ, "XDG_CONFIG_HOME": "relative"}) == path


@pytest.mark.parametrize("platform", list(ServiceKind))
def test_each_file_says_that_it_is_ours(tmp_path: Path, platform: ServiceKind) -> None:
    unit = replace(UNIT, environment={}, command=["/usr/bin/python", "serve"])
    written, other = tmp_path / "written", tmp_path / "other"
    written.write_bytes(unit_file(platform, unit, {"HOME": str(tmp_path)}).content)
    other.write_text("[Service]\n")

    assert [is_ours(written), is_ours(other), is_ours(tmp_path), is_ours(tmp_path / "none")] == [
        True,
        False,
        False,
        False,
    ]
