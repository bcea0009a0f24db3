"""Installing the service, taking it away, and what it is like now."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from mcp_agent_mail.cli.service.port_check import require_no_stranger
from mcp_agent_mail.cli.service.surroundings import ServiceSettings
from mcp_agent_mail.cli.service.unit_files import (
    NAME,
    ServiceKind,
    ServiceUnit,
    UnitFile,
    is_ours,
    server_command,
    this_platform,
    unit_file,
    unit_path,
)
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.lazy.dataclass import dataclass

_WITHIN_S = 60.0
_UNPROVEN: Mapping[ServiceKind, str] = {
    ServiceKind.SYSTEMD: "No user manager of systemd runs here: the unit is written and not started.",
    ServiceKind.LAUNCHD: "Unproven: nobody has run this on macOS. Load it with: launchctl bootstrap "
    "gui/$(id -u) {path}",
    ServiceKind.WINDOWS: "Unproven: nobody has run this on Windows. Load it with: schtasks /Create /TN mcp-agent-mail "
    "/XML {path}",
}


class ServiceRefused(Conflict):
    """The user manager refused a step."""


class ForeignUnit(Conflict):
    """A file of that name lies there that we have not written."""


@dataclass(slots=True, kw_only=True)
class ServiceState:
    """`is_active` None: nobody can say. `doors` are those that it opens, None where nobody has looked. `notes` are for
    people.
    """

    platform: ServiceKind
    path: Path
    is_installed: bool
    is_active: bool | None = None
    doors: Sequence[str] | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRequest:
    """`ports`, each of its host, are looked at unless `skips_check`."""

    surroundings: ServiceSettings
    ports: Sequence[tuple[str, int]]
    skips_check: bool = False


def install(request: ServiceRequest, environ: Mapping[str, str] = os.environ) -> ServiceState:
    """Write the file, and have it started where that can be. A repeat changes nothing more. Raises ForeignPort,
    ForeignUnit, ServiceRefused.
    """
    _require_ours(unit_path(this_platform(), environ))
    if not request.skips_check:
        for host, port in request.ports:
            require_no_stranger(host, [port])
    platform = this_platform()
    told = request.surroundings
    unit = ServiceUnit(command=server_command(), environment=told.environment)
    try:
        written = unit_file(platform, unit, environ)
    except ValueError as unfit:
        raise ServiceRefused(
            f"A service cannot be told that: {unfit}.", hint="Name plain paths: am config show tells which are set."
        ) from unfit
    _write(written)
    state = ServiceState(
        platform=platform, path=written.path, is_installed=True, doors=told.doors, notes=list(told.notes)
    )
    if not has_user_manager(platform, environ):
        state.notes.append(_UNPROVEN[platform].format(path=written.path))
        return state
    _systemctl("daemon-reload")
    _systemctl("enable", "--now", f"{NAME}.service")
    state.is_active = _is_active()
    return state


def uninstall(environ: Mapping[str, str] = os.environ) -> ServiceState:
    """Stop it and take its file away; the store and its mail stay. A repeat does nothing. Raises ForeignUnit,
    ServiceRefused.
    """
    platform = this_platform()
    path = unit_path(platform, environ)
    state = ServiceState(platform=platform, path=path, is_installed=False)
    if not os.path.lexists(path):
        return state
    _require_ours(path)
    if has_user_manager(platform, environ):
        _systemctl("disable", "--now", f"{NAME}.service")
    path.unlink()
    if has_user_manager(platform, environ):
        _systemctl("daemon-reload")
        state.is_active = False
    return state


def look(environ: Mapping[str, str] = os.environ) -> ServiceState:
    """What there is, changed by nothing."""
    platform = this_platform()
    path = unit_path(platform, environ)
    state = ServiceState(platform=platform, path=path, is_installed=is_ours(path))
    if not state.is_installed and os.path.lexists(path):
        state.notes.append("The file that lies there is none of ours.")
    if has_user_manager(platform, environ):
        state.is_active = state.is_installed and _is_active()
    elif state.is_installed:
        state.notes.append(_UNPROVEN[platform].format(path=path))
    return state


def has_user_manager(platform: ServiceKind, environ: Mapping[str, str]) -> bool:
    """Whether systemd looks after this person's services just now."""
    folder = environ.get("XDG_RUNTIME_DIR", "")
    return platform is ServiceKind.SYSTEMD and bool(folder) and (Path(folder) / "systemd" / "private").exists()


def _require_ours(path: Path) -> None:
    """Nothing may lie there but what we have written. Raises ForeignUnit."""
    if os.path.lexists(path) and not is_ours(path):
        raise ForeignUnit(
            f"{path} is somebody else's: it does not say that mcp-agent-mail has written it.",
            hint=f"Look at it, and move it away: mv {shlex.quote(str(path))} {shlex.quote(f'{path}.other')}",
            data={"path": str(path)},
        )


def _write(written: UnitFile) -> None:
    """In one step: a manager that reads it meanwhile sees the one or the other."""
    written.path.parent.mkdir(parents=True, exist_ok=True)
    staged = written.path.with_name(f".{written.path.name}.new")
    staged.write_bytes(written.content)
    staged.replace(written.path)


def _systemctl(*arguments: str) -> None:
    done = subprocess.run(
        ["systemctl", "--user", *arguments], capture_output=True, text=True, check=False, timeout=_WITHIN_S
    )
    if done.returncode != 0:
        raise ServiceRefused(
            f"systemctl --user {' '.join(arguments)} failed: {done.stderr.strip()[:300]}",
            hint=f"See: journalctl --user -u {NAME}.service",
        )


def _is_active() -> bool:
    done = subprocess.run(
        ["systemctl", "--user", "is-active", f"{NAME}.service"],
        capture_output=True,
        text=True,
        check=False,
        timeout=_WITHIN_S,
    )
    return done.stdout.strip() in ("active", "activating")
