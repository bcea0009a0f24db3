"""Where the guard's server is, by the guard's settings. How it is found and asked: `core/running_server`."""

from __future__ import annotations

from typing import NamedTuple

from mcp_agent_mail.core import running_server
from mcp_agent_mail.core.running_server import RunningServer
from mcp_agent_mail.core.settings.client import ClientSettings
from mcp_agent_mail.core.settings.kinds import Secret

MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""Who holds what of 5,000 paths."""


class _Said(NamedTuple):
    """The settings as the question for a server has them."""

    root: str
    names_store: bool
    host: str
    port: int
    http_path: str
    url: str | None
    token: str | None
    agent_token: str | None
    window: str | None = None


def find_server(settings: ClientSettings) -> RunningServer | None:
    """As `core/running_server` finds it."""
    return running_server.find_server(
        _Said(
            root=str(settings.storage_root),
            names_store=settings.names_store,
            host=settings.http_host,
            port=settings.http_port,
            http_path=settings.http_path,
            url=settings.agent_mail_url,
            token=_revealed(settings.agent_mail_token),
            agent_token=_revealed(settings.agent_mail_agent_token),
        )
    )


def _revealed(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()
