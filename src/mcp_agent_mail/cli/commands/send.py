"""What a person wrote on its way: in which project it is sent, to whom an answer goes, and what its subject is."""

from __future__ import annotations

import sys
from typing import Any

import typer

from mcp_agent_mail.cli.commands.all_projects import addressed_project, is_outside
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.gateway.port import Gateway
from mcp_agent_mail.cli.output import Row
from mcp_agent_mail.cli.project_option import project_key, resource_uri
from mcp_agent_mail.core.errors import AgentMailError


# The answer is plain JSON.
def send_there(gateway: Gateway, arguments: dict[str, Any], project: str | None, context: CliContext) -> Any:
    """In the project where one stands; outside of any in that of all the addresses: a person is in each."""
    try:
        return send(gateway, {**arguments, "project_key": project_key(project, context)})
    except AgentMailError as refused:
        addressed = addressed_project(arguments["to"]) if is_outside(refused, project, context) else None
        if addressed is None:
            raise
    return send(gateway, {**arguments, "project_key": addressed})


def as_answer(gateway: Gateway, arguments: Row, project: str | None, context: CliContext) -> dict[str, Any]:
    """To the sender of the message (of one's own: to whom that went), in its project, wherever one stands."""
    from mcp_agent_mail.domain.messages import MAX_SUBJECT

    is_named = bool(project or context.settings.agent_mail_project)
    key = project_key(project, context) if is_named else None
    message = gateway.read(resource_uri("message", arguments["reply_to"], project=key))
    is_own = message["from"] == arguments["sender_name"]
    subject, answered = arguments["subject"], str(message["subject"])
    if not subject:
        subject = answered if answered.lower().startswith("re:") else f"Re: {answered}"[:MAX_SUBJECT]
    return {
        **arguments,
        "project_key": key or message["project"],
        "to": message["to"] if is_own else [message["from"]],
        "subject": subject,
    }


# The answer is plain JSON.
def send(gateway: Gateway, arguments: dict[str, Any]) -> Any:
    given = {name: value for name, value in arguments.items() if value not in (None, [], ())}
    return gateway.call("send_message", {**given, "body_md": arguments["body_md"]})


def body_text(body: str | None) -> str:
    """The text given, or standard input when it is `-` or, left out, a pipe. Scripts have none that says anything where
    the text was forgotten: nothing is sent then.
    """
    if body is not None and body != "-":
        return body
    if body is None and sys.stdin.isatty():
        raise typer.BadParameter("Give the text, or - to read it from standard input.", param_hint="BODY")
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    if body is None and not text.strip():
        raise typer.BadParameter('Standard input is empty. Give the text, or "" to send none.', param_hint="BODY")
    return text


def subject_from(text: str) -> str:
    """The first line that says something; the server refuses a message without any."""
    return next((line.strip("# \t")[:100] for line in text.splitlines() if line.strip("# \t")), "")
