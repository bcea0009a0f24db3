"""Whose inbox is meant: that of the project where one stands or, outside of any, those of all projects."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.cli.commands.all_projects import is_outside, projects_of
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.gateway.port import Gateway
from mcp_agent_mail.cli.project_option import project_key, resource_uri
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.identity.names import HUMAN

# Plain JSON, as `--json` prints it.
Inbox = dict[str, Any]


def read_inbox(
    gateway: Gateway, agent: str, project: str | None, context: CliContext, *, limit: int, **asked: str | bool | None
) -> Inbox:
    """`agent`'s inbox in the project that was named, else in that where one stands.

    Outside of any project: of Human those of all, as one, newest first, `project` null and each message with its own;
    of an agent that of the one project that has its name. Raises the server's refusal.
    """
    here = project_key(project, context)
    try:
        return dict(gateway.read(resource_uri("inbox", agent, project=here, limit=limit, **asked)))
    except AgentMailError as refused:
        if not is_outside(refused, project, context):
            raise
    if agent.strip().lower() != HUMAN.lower():
        return dict(gateway.read(resource_uri("inbox", agent, limit=limit, **asked)))
    return _of_all_projects(gateway, limit=limit, **asked)


def _of_all_projects(gateway: Gateway, *, limit: int, **asked: str | bool | None) -> Inbox:
    """Never more than twice `limit` messages at a time."""
    messages: list[dict[str, Any]] = []
    for project in projects_of(gateway):
        key = project["human_key"]
        found = gateway.read(resource_uri("inbox", HUMAN, project=key, limit=limit, **asked))
        messages += [{**message, "project": key} for message in found["messages"]]
        messages.sort(key=lambda message: (str(message["created_ts"]), int(message["id"])), reverse=True)
        del messages[limit:]
    return {"agent": HUMAN, "project": None, "messages": messages}
