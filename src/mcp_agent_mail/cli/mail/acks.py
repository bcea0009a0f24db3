"""`am acks`: acknowledgements that agents owe, and reminding them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import Column, ExactFlag, JsonFlag, at, is_terminal, print_json, print_rows, print_text
from mcp_agent_mail.cli.project_option import ProjectOption, project_key
from mcp_agent_mail.cli.row_flags import importance_style

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="See which acknowledgements are owed, and remind who is late.",
)

AgentArgument = Annotated[str | None, typer.Argument(metavar="AGENT", help="Whose; without one, every agent's.")]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000, help="At most this many.")]
_MOST_MINUTES = 10 * 365 * 24 * 60
MinutesOption = Annotated[
    int | None,
    typer.Option("--minutes", metavar="N", min=0, max=_MOST_MINUTES, help="Late from then on. Else ACK_TTL_SECONDS."),
]

_OWED = (
    Column("id", "message_id", is_right=True),
    Column("agent", "agent"),
    Column("from", "from"),
    Column("delivered", at("delivered_ts")),
    Column("read", at("read_at")),
    Column("reminded", at("reminded_at")),
    Column("subject", "subject", may_wrap=True, style=importance_style),
)
_REMINDED = (
    Column("id", "message_id", is_right=True),
    Column("agent", "agent"),
    Column("from", "from"),
    Column("reminder", "reminder_id", is_right=True),
    Column("subject", "subject", may_wrap=True),
)


@app.command("pending", cls=LeanCommand)
def pending(
    agent: AgentArgument = None,
    project: ProjectOption = None,
    limit: LimitOption = 200,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List the acknowledgements that are owed, oldest first."""
    _show(agent, project, limit, min_age_s=0, exact=exact, as_json=json)


@app.command("overdue", cls=LeanCommand)
def overdue(
    agent: AgentArgument = None,
    minutes: MinutesOption = None,
    project: ProjectOption = None,
    limit: LimitOption = 200,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List those that are late, oldest first."""
    _show(agent, project, limit, min_age_s=_seconds(minutes), exact=exact, as_json=json)


@app.command("remind", cls=LeanCommand)
def remind(
    agent: AgentArgument = None, minutes: MinutesOption = None, project: ProjectOption = None, json: JsonFlag = False
) -> None:
    """Write to those that are late: of a message once an hour.

    At most 200 reminders at once, by the oldest mail; each lies in the message's thread and says how to acknowledge it.
    You yourself are reminded only by name.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.call(
            "remind_acknowledgements", _asked(project_key(project, context), agent, _seconds(minutes))
        )
    if json:
        print_json(answer)
        return
    print_rows(answer["reminded"], _REMINDED, nothing="Nobody is late who was not reminded within the hour.")
    if answer["more"] and is_terminal():
        print_text("There are more: run it again.")


def _show(
    agent: str | None, project: str | None, limit: int, *, min_age_s: int | None, exact: bool, as_json: bool
) -> None:
    context = load_context()
    with open_gateway(context) as gateway:
        asked = _asked(project_key(project, context), agent, min_age_s)
        answer = gateway.call("owed_acknowledgements", {**asked, "limit": limit})
    if as_json:
        print_json(answer)
        return
    print_rows(answer["owed"], _OWED, nothing="No acknowledgement is owed.", exact=exact)
    if answer["more"] and is_terminal():
        print_text("There are more: raise --limit.")


def _seconds(minutes: int | None) -> int | None:
    return None if minutes is None else minutes * 60


def _asked(project: str, agent: str | None, min_age_s: int | None) -> dict[str, Any]:
    given = {"project_key": project, "agent_name": agent, "min_age_seconds": min_age_s}
    return {name: value for name, value in given.items() if value is not None}
