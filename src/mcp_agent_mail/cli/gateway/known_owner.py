"""A server in a process of others, such as uvicorn's, learns its address from its first request: until then its store
has an owner that nobody finds. It is sent that request where the settings say that a server listens.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_agent_mail.cli.gateway.busy_server import is_alive
from mcp_agent_mail.cli.gateway.http import Server

if TYPE_CHECKING:
    from mcp_agent_mail.cli.context import CliContext
    from mcp_agent_mail.core.store_owner import Owner

NAME_IT = "If it is a server, say where it listens: set AGENT_MAIL_URL."


def owner_with_address(context: CliContext) -> Owner | None:
    """As `CliContext.owner`, with the address of a server that had not noted it yet. Only who has the store notes one
    beside its lock, so that no other server is taken for it; no token is sent before.
    """
    owner = context.owner()
    if owner is None or owner.url is not None or owner.pid == os.getpid():
        return owner
    _send_first_request(context.settings_url())
    return context.owner()


def _send_first_request(url: str) -> None:
    """What is there, if anything, is asked whether it lives: a server has noted its address before it answers."""
    is_alive(Server(url=url))
