"""Whose inbox is meant: that of the project where one stands or, outside of any, those of all projects."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.exit_codes import code_of
from mcp_agent_mail.cli.gateway.port import Gateway
from mcp_agent_mail.cli.project_option import list_uri, project_key, resource_uri
from mcp_agent_mail.core.errors import AgentMailError, NotFound
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.domain.identity.names import HUMAN

_PAGE = 200
_MAX_PROJECTS = 1_000
"""Each is asked by itself."""

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
        is_named = bool(project or context.settings.agent_mail_project)
        is_unknown = code_of(refused) == NotFound.code and refused.data.get("parameter") == "project_key"
        if is_named or not is_unknown:
            raise
    if agent.strip().lower() != HUMAN.lower():
        return dict(gateway.read(resource_uri("inbox", agent, limit=limit, **asked)))
    return _of_all_projects(gateway, limit=limit, **asked)


def _of_all_projects(gateway: Gateway, *, limit: int, **asked: str | bool | None) -> Inbox:
    """Never more than twice `limit` messages at a time. Where there are more than 1,000 projects, it is said that the
    older ones were not asked: the newest are.
    """
    messages: list[dict[str, Any]] = []
    projects, left_out = _projects(gateway)
    if left_out:
        sys.stderr.write(
            visible(f"Notice: {left_out} older projects were left out; --project names one, am projects list all.\n")
        )
    for project in projects:
        key = project["human_key"]
        found = gateway.read(resource_uri("inbox", HUMAN, project=key, limit=limit, **asked))
        messages += [{**message, "project": key} for message in found["messages"]]
        messages.sort(key=lambda message: (str(message["created_ts"]), int(message["id"])), reverse=True)
        del messages[limit:]
    return {"agent": HUMAN, "project": None, "messages": messages}


def _projects(gateway: Gateway) -> tuple[deque[dict[str, Any]], int]:
    """Those that are not archived: the newest, at most 1,000, and how many older ones there are."""
    projects: deque[dict[str, Any]] = deque(maxlen=_MAX_PROJECTS)
    seen = after = 0
    while page := gateway.read(list_uri("projects", limit=_PAGE, after_id=after or None)):
        projects += page
        seen += len(page)
        before, after = after, page[-1]["id"]
        if after <= before:
            raise ValueError("projects that do not come in the order of their ids")
    return projects, seen - len(projects)
