"""What is talked about in a project: its threads, and the mail of a topic."""

from __future__ import annotations

from typing import Annotated

import typer

from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import Column, ExactFlag, JsonFlag, at, print_json, print_rows
from mcp_agent_mail.cli.project_option import ProjectOption, project_key
from mcp_agent_mail.cli.row_flags import importance_style, mail_flags

app = typer.Typer()

LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000, help="At most this many.")]
SinceOption = Annotated[str | None, typer.Option("--since", metavar="TIME", help="After this time (ISO 8601).")]

_MAIL = (
    Column("id", "id", is_right=True),
    Column("sent", at("created_ts")),
    Column("from", "from"),
    Column("flags", mail_flags, may_wrap=True),
    Column("thread", "thread_id"),
    Column("subject", "subject", may_wrap=True, style=importance_style),
)
_THREADS = (
    Column("thread", "thread_id", is_whole=True),
    Column("messages", "messages", is_right=True),
    Column("last", at("last_ts")),
    Column("by", "last_from"),
    Column("subject", "subject", may_wrap=True),
    Column("participants", "participants", may_wrap=True),
)


@app.command("topic", cls=LeanCommand)
def topic(
    name: Annotated[str, typer.Argument(metavar="TOPIC", help="A topic; letter case does not count.")],
    project: ProjectOption = None,
    limit: LimitOption = 50,
    since: SinceOption = None,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List a project's mail on a topic, newest first."""
    context = load_context()
    arguments = {"project_key": project_key(project, context), "topic_name": name, "limit": limit, "since_ts": since}
    with open_gateway(context) as gateway:
        found = gateway.call("fetch_topic", {**arguments, "include_bodies": False})
    if json:
        print_json(found)
    else:
        print_rows(found, _MAIL, nothing=f"No mail on {name}.", exact=exact)


@app.command("threads", cls=LeanCommand)
def threads(
    project: ProjectOption = None,
    limit: LimitOption = 20,
    since: SinceOption = None,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List a project's threads, newest activity first."""
    context = load_context()
    arguments = {"project_key": project_key(project, context), "limit": limit, "since_ts": since}
    with open_gateway(context) as gateway:
        answer = gateway.call("list_threads", arguments)
    if json:
        print_json(answer)
    else:
        print_rows(answer["threads"], _THREADS, nothing="No threads yet.", exact=exact)
