"""What a service is told of the settings that the command which installs it reads."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp_agent_mail.cli.context import read_settings
from mcp_agent_mail.core.errors import Conflict, listed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.kinds import Row, mask_url_password
from mcp_agent_mail.core.settings.names import FORMER, PROVIDER_KEYS
from mcp_agent_mail.core.settings.rows import ROWS
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.settings.sources import ENV_FILE_NAME, ENVIRONMENT, SettingNotice

_OF_CLIENTS = "Client side"
"""The group of what the server does not read; its sessions have it, and a service has none."""


class EnvFileUnread(Conflict):
    """A `.env` lies here that speaks to the server, and the service would not read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """`environment` is what the unit says, without secrets: `notes` names those. `doors` are open by all of it."""

    settings: Settings
    environment: Mapping[str, str]
    doors: Sequence[str]
    notes: Sequence[str]


def read_surroundings(command: str, overrides: Mapping[str, str], environ: Mapping[str, str]) -> ServiceSettings:
    """The server's settings that are in force here, so that the service is the same server. `command` is what a refusal
    says again. Raises BadSettings and EnvFileUnread.
    """
    loaded = read_settings(overrides=overrides)
    settings = loaded.settings
    if loaded.passed_over is not None and settings.agent_mail_env_file is None:
        raise _unnamed(loaded.passed_over, command)
    rows = [row for row in ROWS if row.group != _OF_CLIENTS or row.name == ENV_FILE_NAME]
    given = [row for row in rows if loaded.sources[row.name].place == ENVIRONMENT]
    told, secrets = dict(overrides), []
    for row in given:
        text = _text(row, getattr(settings, row.attribute), environ)
        if _is_secret(row, text):
            secrets.append(row.name)
        else:
            told[row.name] = text
    if settings.llm_enabled:
        secrets += sorted(name for name in PROVIDER_KEYS if environ.get(name))
    notes = _of_secrets(secrets, settings.agent_mail_env_file)
    return ServiceSettings(settings=settings, environment=told, doors=_open_doors(settings), notes=notes)


def ports_of(settings: Settings) -> list[tuple[str, int]]:
    """Where the server will listen."""
    doors = settings.claude_mailbox_ports if settings.claude_mailbox_enabled else ()
    own = [settings.postal_port] if settings.postal_enabled and settings.postal_port else []
    return [(settings.http_host, settings.http_port), *((settings.facades_host, port) for port in (*doors, *own))]


def _text(row: Row, value: Any, environ: Mapping[str, str]) -> str:  # Any: each kind has its own type
    """As it is given; a path as this command reads it."""
    if isinstance(value, Path) or (isinstance(value, str) and "/" in value):
        return str(value)
    former = [name for name, today in FORMER.items() if today == row.name]
    return next(text for name in (row.name, *former) if (text := environ.get(name, "").strip()))


def _is_secret(row: Row, text: str) -> bool:
    return row.kind.secret or row.kind.hides_paths or mask_url_password(text) != text


def _open_doors(settings: Settings) -> list[str]:
    from mcp_agent_mail.bootstrap.doors import door_places

    return [place.door for place in door_places(settings) if place.is_open]


def _of_secrets(names: Sequence[str], env_file: Path | None) -> list[str]:
    if not names:
        return []
    are, them = ("are secrets", "them") if names[1:] else ("is a secret", "it")
    place = f"{'~/.config/mcp-agent-mail/.env' if env_file is None else env_file}, and chmod 600 it"
    return [f"{listed(names, 'and')} {are} and not written into the unit: put {them} into {place}."]


def _unnamed(passed_over: SettingNotice, command: str) -> EnvFileUnread:
    return EnvFileUnread(
        f"{passed_over.place} sets {passed_over.name}, and the service would not read it: a repository does not choose "
        "how your server listens.",
        hint=f"If it is yours: AGENT_MAIL_ENV_FILE={shlex.quote(str(passed_over.place))} {command}. To do without it "
        f"run {command} in another folder.",
        data={"env_file": passed_over.place},
    )
