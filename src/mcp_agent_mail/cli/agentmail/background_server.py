"""A server in the background for who found none: everything here is heavy, so it is imported for that alone."""

from __future__ import annotations

from collections.abc import Callable

from mcp_agent_mail.cli.agentmail.refusals import Failure
from mcp_agent_mail.cli.context import read_client_settings
from mcp_agent_mail.cli.stdio.upstream import Upstream
from mcp_agent_mail.core.errors import AgentMailError


def start_server(within_s: float, tell: Callable[[str], None] | None) -> str:
    """The address of the store's server, which is started unless somebody else just starts it. Raises Failure."""
    try:
        upstream = Upstream(read_client_settings(None), tell=tell or _silent)
        return upstream.find(within_s)
    except AgentMailError as failed:
        raise Failure(failed.text) from None


def _silent(_: str) -> None:
    """A command says what it was asked for, and nothing else."""
