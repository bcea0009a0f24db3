"""What starts the server with a person's login: the text and the place of the file, on each platform."""

from __future__ import annotations

import os
import plistlib
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from xml.sax.saxutils import escape

from mcp_agent_mail.core.home_folder import home_folder
from mcp_agent_mail.core.lazy.dataclass import dataclass

NAME = "mcp-agent-mail"
LABEL = "mcp-agent-mail.server"
MARK = "Written by mcp-agent-mail. Take it away with: am service uninstall"
"""In a comment of each file of ours: one without it is somebody else's."""
_MAX_BYTES = 65_536
_DESCRIPTION = "MCP Agent Mail: mail for coding agents"
_LASTING = (71, 75, 78)
"""Exit codes that a new start does not mend: a taken port, a store with an owner, settings that are wrong."""


_OF_CMD = frozenset('"%&|<>^!')


class ServiceKind(StrEnum):
    """By what the server is started with the login."""

    SYSTEMD = "systemd"
    LAUNCHD = "launchd"
    WINDOWS = "windows"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceUnit:
    """`command` is what runs, by absolute paths; `environment` what it is told beside what a login has."""

    command: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFile:
    """`content` as it lies on disk."""

    path: Path
    content: bytes


def server_command() -> list[str]:
    """The server as a program of its own. -P: nothing that lies in the current folder is imported."""
    return [sys.executable, "-P", "-m", "mcp_agent_mail", "serve"]


def this_platform() -> ServiceKind:
    if sys.platform == "darwin":
        return ServiceKind.LAUNCHD
    return ServiceKind.WINDOWS if sys.platform == "win32" else ServiceKind.SYSTEMD


def unit_path(platform: ServiceKind, environ: Mapping[str, str]) -> Path:
    """Where the platform looks for it."""
    home = Path(home_folder(environ))
    if platform is ServiceKind.LAUNCHD:
        return home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    if platform is ServiceKind.WINDOWS:
        return home / "AppData" / "Local" / NAME / f"{NAME}.task.xml"
    config = environ.get("XDG_CONFIG_HOME", "")
    folder = Path(config) if os.path.isabs(config) else home / ".config"  # noqa: PTH117  # of a text
    return folder / "systemd" / "user" / f"{NAME}.service"


def is_installed(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this platform has our file."""
    return is_ours(unit_path(this_platform(), environ))


def is_ours(path: Path) -> bool:
    """Whether we have written what lies there; False where nothing does, or what cannot be read."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as opened:
            return MARK.encode() in opened.read(_MAX_BYTES)
    except OSError:
        return False


def unit_file(platform: ServiceKind, unit: ServiceUnit, environ: Mapping[str, str]) -> UnitFile:
    """The file for a platform. Raises ValueError for what cannot stand there as text."""
    told = (*unit.command, *unit.environment, *unit.environment.values())
    if any(_is_unfit(text) for text in told):
        raise ValueError("a path or a setting has control characters, or is no UTF-8")
    if platform is ServiceKind.WINDOWS and any(_OF_CMD.intersection(text) for text in told):
        raise ValueError(f"a path or a setting has one of {' '.join(sorted(_OF_CMD))}, which cmd.exe would act on")
    text = _TEXTS[platform](unit)
    return UnitFile(path=unit_path(platform, environ), content=text)


def _is_unfit(text: str) -> bool:
    return any(ord(one) < 32 or ord(one) == 127 or 0xD800 <= ord(one) < 0xE000 for one in text)


def _systemd(unit: ServiceUnit) -> bytes:
    settings = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in unit.environment.items())
    command = " ".join(_quoted(word.replace("$", "$$")) for word in unit.command)
    return f"""\
# {MARK}
[Unit]
Description={_DESCRIPTION}

[Service]
Type=exec
ExecStart={command}
{settings}Restart=on-failure
RestartSec=5
RestartPreventExitStatus={" ".join(map(str, _LASTING))}
TimeoutStopSec=60

[Install]
WantedBy=default.target
""".encode()


def _quoted(text: str) -> str:
    """One word of a line of systemd's, in which `%` is a specifier."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'


def _launchd(unit: ServiceUnit) -> bytes:
    content = plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(unit.command),
            "EnvironmentVariables": dict(unit.environment),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 10,
            "ProcessType": "Background",
        }
    )
    return content.replace(b"<plist", f"<!-- {MARK} -->\n<plist".encode(), 1)


def _windows(unit: ServiceUnit) -> bytes:
    """A task says no environment: a command line does, which `cmd` runs."""
    settings = "".join(f'set "{name}={value}" && ' for name, value in unit.environment.items())
    command = " ".join(f'"{word}"' for word in unit.command)
    return f"""\
<?xml version="1.0" encoding="UTF-8"?>
<!-- {MARK} -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>{escape(_DESCRIPTION)}</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>
  <Principals><Principal id="Author"><LogonType>InteractiveToken</LogonType></Principal></Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>3</Count></RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec><Command>cmd.exe</Command><Arguments>{escape(f'/d /c "{settings}{command}"')}</Arguments></Exec>
  </Actions>
</Task>
""".encode()


_TEXTS = {ServiceKind.SYSTEMD: _systemd, ServiceKind.LAUNCHD: _launchd, ServiceKind.WINDOWS: _windows}
