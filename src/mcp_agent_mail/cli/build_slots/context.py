"""Who runs a build here, in which project, on which branch; and the variables that tell a build so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.gateway.port import Gateway
from mcp_agent_mail.cli.project_option import project_key, resource_uri
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.git.foreign_repository import UnfitRepository
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.unfilled_text import said
from mcp_agent_mail.guard.git import GitRefused
from mcp_agent_mail.guard.repository import NAME_KEY, PROJECT_KEY, find_values, name_command
from mcp_agent_mail.workspace.repository import branch

AgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        "-a",
        metavar="AGENT",
        help="Who holds the slot. Else AGENT_NAME, Git's agent-mail.name, GIT_AUTHOR_NAME.",
    ),
]

TOLD = ("AM_SLOT", "AGENT", "PROJECT", "BRANCH", "CACHE_KEY")

_NO_BRANCH = "~detached"
"""No branch can have this name."""


class NobodyNamed(InvalidInput):
    """Neither option, environment nor Git says who acts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotContext:
    """What a command line and its surroundings say: keys as given, nothing looked up yet."""

    project_key: str
    agent: str
    branch: str | None


def look_at_place(project: str | None, agent: str | None, context: CliContext) -> SlotContext:
    """Who acts, where, on which branch: by the options, else the settings, else Git's configuration. Raises
    NobodyNamed.
    """
    config = _git_config()
    name = agent or context.settings.agent_name or said(config.get(NAME_KEY, "")) or os.environ.get("GIT_AUTHOR_NAME")
    if not name:
        raise NobodyNamed(
            "Nobody is named who would hold the slot.",
            hint=f"Say --agent NAME, export AGENT_NAME=NAME, or: {name_command('NAME')}",
        )
    given = project or context.settings.agent_mail_project or config.get(PROJECT_KEY)
    return SlotContext(project_key=project_key(given, context), agent=name, branch=branch(Path.cwd()))


def _git_config() -> dict[str, str]:
    """Empty outside a repository."""
    try:
        return find_values(os.environ, str(Path.cwd()))
    except (GitRefused, UnfitRepository):
        return {}


def variables(gateway: Gateway, place: SlotContext, slot: str | None) -> dict[str, str]:
    """For a build's environment. Names are as they are registered, whatever their letter case here."""
    project = gateway.read(resource_uri("project", place.project_key))
    agent = gateway.call("whois", {"project_key": place.project_key, "agent_name": place.agent, "commit_limit": 1})
    store_id = gateway.call("health_check", {})["store"]["store_id"]
    named = {} if slot is None else {"AM_SLOT": slot}
    return {
        **named,
        "AGENT": agent["name"],
        "PROJECT": project["human_key"],
        "BRANCH": place.branch or "",
        "CACHE_KEY": cache_key(store_id, project, agent["name"], place.branch),
    }


# Plain JSON.
def cache_key(store_id: str, project: dict[str, Any], agent: str, on_branch: str | None) -> str:
    """A key fit for a file's name: the same for the same store, project, agent and branch, and for no other.

    No part before the branch holds a dot, and what could end a file's name is percent-encoded.
    """
    last = _NO_BRANCH if on_branch is None else quote(on_branch, safe="")
    return f"am.{store_id}.{project['id']}.{agent}.{last}"
