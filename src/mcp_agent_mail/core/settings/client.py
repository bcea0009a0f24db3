"""The settings of what runs in other people's repositories: hooks, guard, proxies. Standard library only.

It reads only the client's own rows and where the server is, and never the `./.env` of the
repository it happens to stand in. Names, defaults and parsing are the ones of `settings`; a test
holds the two readings equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings import names
from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.core.settings.rows import CLIENT_ROWS
from mcp_agent_mail.core.settings.sources import Mistake, SettingFindings, SettingsError, open_sources, parse_rows

_NAME = "AGENT_NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """One attribute per client row, in lower case; and whether STORAGE_ROOT was given."""

    storage_root: Path
    http_host: str
    http_port: int
    http_path: str
    claude_mailbox_ports: tuple[int, ...]
    agent_mail_env_file: Path | None
    agent_mail_url: str | None
    agent_mail_token: Secret | None
    agent_mail_agent_token: Secret | None
    agent_mail_project: str | None
    agent_name: str | None
    agent_mail_guard_mode: str
    agent_mail_guard_require_name: str
    agent_mail_guard_on_error: str
    agent_mail_bypass: bool
    agent_mail_interval: int
    mcp_agent_mail_window_id: str | None
    agentmail_name: str | None
    claude_mailbox_url: str | None
    names_store: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """Settings for what must go on in spite of mistakes: what is at fault stands at its default, but AGENT_NAME, which
    is then a text that no agent can be called. `name_mistakes` are those about it, `mistakes` all others.
    """

    settings: ClientSettings
    mistakes: Sequence[Mistake]
    name_mistakes: Sequence[Mistake]


def load_client_settings(environ: Mapping[str, str], *, env_file: Path | None = None) -> ClientSettings:
    """The client's settings from the environment, else from the `.env` file given. Raises SettingsError with all
    mistakes at once.
    """
    settings, findings = _read(environ, env_file)
    if findings.mistakes:
        raise SettingsError(findings.mistakes, findings.notices)
    return settings


def read_client_settings(environ: Mapping[str, str]) -> ReadSettings:
    """The client's settings as far as they can be read."""
    settings, findings = _read(environ, None)
    of_name = [mistake for mistake in findings.mistakes if names.FORMER.get(mistake.name, mistake.name) == _NAME]
    if of_name and settings.agent_name is None:
        settings = replace(settings, agent_name=of_name[0].value)  # In quotes, which no name has.
    others = [mistake for mistake in findings.mistakes if mistake not in of_name]
    return ReadSettings(settings=settings, mistakes=others, name_mistakes=of_name)


def _read(environ: Mapping[str, str], env_file: Path | None) -> tuple[ClientSettings, SettingFindings]:
    findings = SettingFindings()
    sources = open_sources(environ, findings, overrides={}, env_file=env_file, cwd=None)
    values, givens = parse_rows(CLIENT_ROWS, sources, findings)
    # Any: the rows' kinds made these values; a test compares their types with the fields above.
    attributes: dict[str, Any] = {row.attribute: values[row.name] for row in CLIENT_ROWS}
    return ClientSettings(**attributes, names_store="STORAGE_ROOT" in givens), findings
