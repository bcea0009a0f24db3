"""How far a message got, and taking one back: asked of the project that the message is of, wherever one stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.exit_codes import code_of, tell_hint
from mcp_agent_mail.cli.gateway.port import Gateway
from mcp_agent_mail.cli.output import Column, Row, at, print_fields, print_rows, print_text, time_of
from mcp_agent_mail.cli.project_option import project_key, resource_uri
from mcp_agent_mail.core.errors import AgentMailError, NotFound
from mcp_agent_mail.core.lazy.dataclass import dataclass


def _reached(row: Row) -> object:
    return row["steps"].get(row["status"])


_TO_NAME = "Of what was taken back its sender is told: name the sender with --as, and its project with --project."

STATUS_COLUMNS = (
    Column("recipient", "name"),
    Column("kind", "kind"),
    Column("status", "status", is_whole=True),
    Column("since", at("reached")),
)


# The answer is plain JSON.
def status_of(gateway: Gateway, message_id: int, asking: str | None, project: str | None, context: CliContext) -> Any:
    """As `asking` is told it; without one as its sender is, who sees all copies. Where the message itself is not to be
    seen any more, and nobody is named, as whoever the token proves is told it.
    """
    home = _home(gateway, message_id, project, context, is_sender_known=asking is not None)
    name = asking or home.sender
    arguments = {"message_id": message_id, **({} if name is None else {"agent_name": name})}
    return home.call(gateway, "message_status", arguments)


# The answer is plain JSON.
def withdraw(
    gateway: Gateway, message_id: int, sender: str, reason: str | None, project: str | None, context: CliContext
) -> Any:
    """In the project that was named, else in that of the message. What is not the sender's is refused."""
    home = _home(gateway, message_id, project, context, is_sender_known=True)
    arguments = {
        "sender_name": sender,
        "message_id": message_id,
        **({} if reason is None else {"reason": reason}),
    }
    return home.call(gateway, "withdraw_message", arguments)


def print_status(answer: Row, *, exact: bool) -> None:
    """A line per recipient with the time of its status; how many more there are than the answer lists."""
    rows = [{**row, "reached": _reached(row)} for row in answer["recipients"]]
    print_rows(rows, STATUS_COLUMNS, nothing="Nobody has got it yet.", exact=exact)
    if more := answer["total"] - len(rows):
        print_text(f"{more} more are counted in --json.")
    tell_hint(answer.get("hint"))


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
    tell_hint(answer.get("hint"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Home:
    """Which project is asked. `sender`: of the message, where it was looked at; `unseen`: why it was not to be seen."""

    project: str
    sender: str | None = None
    unseen: AgentMailError | None = None

    # The answer is plain JSON.
    def call(self, gateway: Gateway, tool: str, arguments: Mapping[str, Any]) -> Any:
        try:
            return gateway.call(tool, {"project_key": self.project, **arguments})
        except AgentMailError as refused:
            if self.unseen is None or code_of(refused) != NotFound.code:
                raise
            raise self.unseen.reworded(hint=f"{_TO_NAME} {self.unseen.hint}", data=self.unseen.data) from refused


def _home(
    gateway: Gateway, message_id: int, project: str | None, context: CliContext, *, is_sender_known: bool
) -> _Home:
    """The message is looked at only for what was not named: once nobody has a copy of it, others than the operator see
    it no more, and its sender is told all the same. Then the project where we stand is asked.
    """
    named = project_key(project, context) if project or context.settings.agent_mail_project else None
    if named is not None and is_sender_known:
        return _Home(project=named)
    try:
        message: Row = gateway.read(resource_uri("message", message_id, project=named))
    except AgentMailError as refused:
        if code_of(refused) != NotFound.code:
            raise
        return _Home(project=named or project_key(None, context), unseen=refused)
    return _Home(project=named or str(message["project"]), sender=str(message["from"]))
