"""Which thread is meant by a message's id: the one that the message is in. Tools take it for a thread of that name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp_agent_mail.cli.exit_codes import code_of
from mcp_agent_mail.cli.gateway.port import Gateway
from mcp_agent_mail.cli.project_option import resource_uri
from mcp_agent_mail.core.errors import AgentMailError, NotFound

# Plain JSON.
FirstOf = Callable[[str], Sequence[Mapping[str, Any]]]
"""The first two messages of the thread of that name."""


def thread_meant(name: str, first_of: FirstOf) -> str:
    """The thread of that name; where nothing but the message of that id is in it, the thread that has the message.

    A thread that is called like a message of another one stays itself. Raises what `first_of` raises, but not for a
    thread that is not there: that is for whoever reads it to tell.
    """
    if not (name.isascii() and name.isdigit()):
        return name
    try:
        first = first_of(name)
    except AgentMailError as refused:
        if code_of(refused) != NotFound.code:
            raise
        return name
    if len(first) != 1 or str(first[0]["id"]) != name:
        return name
    return str(first[0]["thread_id"] or name)


def thread_in(gateway: Gateway, name: str, project: str) -> str:
    """As `thread_meant`, of a project's mail."""

    # Plain JSON.
    def first_of(thread_id: str) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = gateway.read(
            resource_uri("thread", thread_id, project=project, limit=2, include_bodies=False)
        )["messages"]
        return found

    return thread_meant(name, first_of)
