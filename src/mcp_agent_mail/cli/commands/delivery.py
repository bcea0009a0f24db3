"""How far a message got, and taking one back: asked of the project that the message is of, wherever one stands."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.gateway.port import Gateway
from mcp_agent_mail.cli.output import Column, Row, at, print_fields, print_rows, print_text, time_of
from mcp_agent_mail.cli.project_option import project_key, resource_uri


def _reached(row: Row) -> object:
    return row["steps"].get(row["status"])


STATUS_COLUMNS = (
    Column("recipient", "name"),
    Column("kind", "kind"),
    Column("status", "status", is_whole=True),
    Column("since", at("reached")),
)


# The answer is plain JSON.
def status_of(gateway: Gateway, message_id: int, asking: str | None, project: str | None, context: CliContext) -> Any:
    """As `asking` is told it; without one as the sender is, who sees all copies."""
    message = _message(gateway, message_id, project, context)
    arguments = {
        "project_key": _home(message, project, context),
        "message_id": message_id,
        "agent_name": asking or message["from"],
    }
    return gateway.call("message_status", arguments)


# The answer is plain JSON.
def withdraw(
    gateway: Gateway, message_id: int, sender: str, reason: str | None, project: str | None, context: CliContext
) -> Any:
    """In the project that was named, else in that of the message. What is not the sender's is refused."""
    message = _message(gateway, message_id, project, context)
    arguments = {
        "project_key": _home(message, project, context),
        "sender_name": sender,
        "message_id": message_id,
        **({} if reason is None else {"reason": reason}),
    }
    return gateway.call("withdraw_message", arguments)


def print_status(answer: Row, *, exact: bool) -> None:
    """A line per recipient with the time of its status; how many more there are than the answer lists."""
    rows = [{**row, "reached": _reached(row)} for row in answer["recipients"]]
    print_rows(rows, STATUS_COLUMNS, nothing="Nobody has got it yet.", exact=exact)
    if more := answer["total"] - len(rows):
        print_text(f"{more} more are counted in --json.")


def print_withdrawal(answer: Row) -> None:
    """When, from whom, and for whom it came too late, with what their copies had come to."""
    gone = [one["name"] for one in answer["recipients"] if one["status"] == "withdrawn"]
    kept = [f"{one['name']} ({one['status']})" for one in answer["recipients"] if one["status"] != "withdrawn"]
    print_fields(
        [
            ("id", answer["message_id"]),
            ("withdrawn", time_of(answer["withdrawn_at"])),
            ("taken back from", gone or None),
            ("not from", kept or None),
        ]
    )


def _message(gateway: Gateway, message_id: int, project: str | None, context: CliContext) -> Row:
    message: Row = gateway.read(resource_uri("message", message_id, project=_named(project, context)))
    return message


def _home(message: Row, project: str | None, context: CliContext) -> str:
    return _named(project, context) or str(message["project"])


def _named(project: str | None, context: CliContext) -> str | None:
    return project_key(project, context) if project or context.settings.agent_mail_project else None
