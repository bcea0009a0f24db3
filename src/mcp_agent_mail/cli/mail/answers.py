"""What a person answers mail with: words, or that it was seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from mcp_agent_mail.cli.commands.all_projects import is_outside
from mcp_agent_mail.cli.commands.attachments import attached
from mcp_agent_mail.cli.commands.send import body_text
from mcp_agent_mail.cli.commands.shown_messages import print_sent
from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.exit_codes import code_of
from mcp_agent_mail.cli.gateway.port import Gateway, open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import Column, ExactFlag, JsonFlag, Row, at, print_json, print_rows
from mcp_agent_mail.cli.project_option import ProjectOption, project_key, resource_uri
from mcp_agent_mail.core.errors import AgentMailError, Conflict, NotFound
from mcp_agent_mail.domain.identity.names import HUMAN

app = typer.Typer()

_RECEIPTS = (
    Column("id", "message_id", is_right=True),
    Column("acknowledged", at("acknowledged_at")),
    Column("read", at("read_at")),
    Column("why not", "reason", is_whole=True),
)
_WHY_NOT = {
    "not_a_recipient": f"it did not come to {HUMAN}",
    "no_such_message": "there is no such message",
    "held": "it waits for consent",
    "withdrawn": "it was withdrawn",
    "expired": "it has expired",
}


class ReceiptRefused(Conflict):
    """Some mail could not be acknowledged; the rest is."""


@app.command("reply", cls=LeanCommand)
def reply(
    message_id: Annotated[int, typer.Argument(metavar="ID", help="The message's id.")],
    body: Annotated[
        str | None, typer.Argument(metavar="BODY", help="The text (Markdown); - reads it from standard input.")
    ] = None,
    project: ProjectOption = None,
    to: Annotated[
        list[str] | None, typer.Option("--to", metavar="NAME", help="Instead of its sender. Repeat for more.")
    ] = None,
    cc: Annotated[list[str] | None, typer.Option("--cc", metavar="NAME", help="Copy to. Repeat for more.")] = None,
    bcc: Annotated[
        list[str] | None, typer.Option("--bcc", metavar="NAME", help="Blind copy to. Repeat for more.")
    ] = None,
    importance: Annotated[
        Literal["low", "normal", "high", "urgent"] | None,
        typer.Option("--importance", help="Else that of the message."),
    ] = None,
    ack: Annotated[bool, typer.Option("--ack", help="Acknowledge the message too.")] = False,
    sender: Annotated[str, typer.Option("--from", metavar="NAME", help="Answer as this agent.")] = HUMAN,
    attach: Annotated[
        list[str] | None, typer.Option("--attach", metavar="FILE", help="Send a file along. Repeat for more.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Answer a message in its thread, to its sender.

    As Human unless --from is given, to others with --to. The message is read by that.
    """
    context = load_context()
    text = body_text(body)
    given = {
        "message_id": message_id,
        "sender_name": sender,
        "to": to,
        "cc": cc,
        "bcc": bcc,
        "importance": importance,
        "attachment_paths": [attached(one) for one in attach or ()],
        "acknowledge": ack or None,
    }
    arguments = {name: value for name, value in given.items() if value not in (None, [])}
    with open_gateway(context) as gateway:
        home = _named(project, context) or str(gateway.read(resource_uri("message", message_id))["project"])
        answer = gateway.call("reply_message", {**arguments, "project_key": home, "body_md": text})
    if json:
        print_json(answer)
    else:
        print_sent(answer)


@app.command("ack", cls=LeanCommand)
def acknowledge(
    message_ids: Annotated[list[int], typer.Argument(metavar="ID", help="Of mail in your inbox; several at once too.")],
    project: ProjectOption = None,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """Acknowledge mail of yours; it is read by that.

    Its sender is told that you have seen and accept it.

    Exit codes: 0 all are acknowledged, 1 some are not: the last column and standard error say why.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        results = [_acknowledge(gateway, one, project, context) for one in dict.fromkeys(message_ids)]
    if json:
        print_json({"results": results})
    else:
        print_rows(results, _RECEIPTS, nothing="Nothing to acknowledge.", exact=exact)
    if refused := [one for one in results if not one["acknowledged"]]:
        raise _refusal_of(refused)


def _refusal_of(refused: Sequence[Row]) -> ReceiptRefused:
    told = [f"{one['message_id']} ({_WHY_NOT.get(one.get('reason', ''), 'not said why')})" for one in refused]
    hints = dict.fromkeys(str(one["hint"]) for one in refused if one.get("hint"))
    return ReceiptRefused(
        f"Not acknowledged: {', '.join(told)}.", hint=" ".join(hints) or "am mail inbox lists what came to you."
    )


def _acknowledge(gateway: Gateway, message_id: int, project: str | None, context: CliContext) -> Row:
    """As Human of the project that was named, or of where we stand, or else of the message's own: a person is in each.
    Raises the server's refusal where none of these is a project.
    """

    def as_human(key: str) -> Row:
        answer: Row = gateway.call(
            "acknowledge_message", {"project_key": key, "agent_name": HUMAN, "message_id": message_id}
        )
        return answer

    if named := _named(project, context):
        return as_human(named)
    here: Row | None = None
    try:
        here = as_human(project_key(None, context))
    except AgentMailError as refused:
        if not is_outside(refused, project, context):
            raise
    if here is not None and here["acknowledged"]:
        return here
    try:
        home = gateway.read(resource_uri("message", message_id))["project"]
    except AgentMailError as unseen:
        if here is None or code_of(unseen) != NotFound.code:
            raise
        return here
    return as_human(home)


def _named(project: str | None, context: CliContext) -> str | None:
    is_named = bool(project or context.settings.agent_mail_project)
    return project_key(project, context) if is_named else None
