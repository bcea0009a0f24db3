"""As whom an agent's shell asks, in which project, and of whom: never with the operator's right."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.gateway.port import Gateway, open_gateway
from mcp_agent_mail.cli.project_option import project_key
from mcp_agent_mail.clients.hook.identity import look_at_git
from mcp_agent_mail.core.errors import InvalidInput, PermissionDenied
from mcp_agent_mail.core.lazy.dataclass import dataclass


class CallerUnsaid(InvalidInput):
    """Neither the command, nor the environment, nor Git says which agent asks."""


class OperatorsBearer(PermissionDenied):
    """What would be sent gives the operator's right and proves no agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotCaller:
    """An agent at its shell: keys as given, nothing looked up yet, and nothing known of what its tokens prove."""

    gateway: Gateway
    agent: str
    project: str

    @property
    def named(self) -> dict[str, str]:
        """The arguments by which a tool is told who calls."""
        return {"project_key": self.project, "agent_name": self.agent}


@contextmanager
def open_caller(project: str | None, named: str | None = None) -> Iterator[RobotCaller]:
    """The agent that was named, else that of these surroundings: AGENT_NAME, else Git's agent-mail.name. Raises
    CallerUnsaid, OperatorsBearer, and what opening a gateway raises.
    """
    context = load_context().as_agent()
    _, of_git = look_at_git(os.getcwd(), os.environ)  # noqa: PTH109  # as hooks are told it
    agent = (named or "").strip() or context.settings.agent_name or of_git.get("name")
    if not agent:
        raise CallerUnsaid(
            "Which agent asks? Neither --agent, nor AGENT_NAME, nor Git's agent-mail.name says.",
            hint="Say --agent NAME or export AGENT_NAME=NAME, and AGENT_MAIL_AGENT_TOKEN with the token that "
            "registering gave, or AGENT_MAIL_TOKEN with one that am token create issued.",
        )
    with open_gateway(context) as gateway:
        _require_no_operator(gateway, context, agent)
        yield RobotCaller(gateway=gateway, agent=agent, project=_project(project, context, of_git))


def _require_no_operator(gateway: Gateway, context: CliContext, agent: str) -> None:
    """Raise OperatorsBearer where AGENT_MAIL_TOKEN, whoever made it, gives the operator's right: the server alone can
    tell. An agent's own token beside it counts before that right, and in process it is not sent.
    """
    if gateway.is_in_process or context.settings.agent_mail_token is None or context.agent_token() is not None:
        return
    if gateway.call("health_check", {})["caller"] == "operator":
        raise OperatorsBearer(
            f"AGENT_MAIL_TOKEN gives the operator's right, which proves no agent: am robot asks as {agent} alone.",
            hint=f"Set AGENT_MAIL_TOKEN to a token that proves {agent} (am token create --agent {agent}), or give its "
            "registration token in AGENT_MAIL_AGENT_TOKEN. As the operator ask am mail.",
        )


def _project(option: str | None, context: CliContext, of_git: dict[str, str]) -> str:
    said = None if context.settings.agent_mail_project else of_git.get("project")
    return project_key(option or said, context)
