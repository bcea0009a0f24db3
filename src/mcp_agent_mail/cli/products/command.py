"""`am products`: several projects that make one thing, and their mail together."""

from __future__ import annotations

from typing import Annotated

import typer

from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.mail.summaries import NoLlmFlag, print_thread_summary
from mcp_agent_mail.cli.output import (
    Column,
    ExactFlag,
    JsonFlag,
    at,
    print_fields,
    print_gap,
    print_json,
    print_rows,
    time_of,
)
from mcp_agent_mail.cli.project_option import ProjectOption, project_key, resource_uri
from mcp_agent_mail.cli.row_flags import importance_style, mail_flags, unread_style, unread_word
from mcp_agent_mail.domain.identity.names import HUMAN

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Tie projects to a product, and read their mail together.",
)

ProductArgument = Annotated[str, typer.Argument(metavar="PRODUCT", help="Its name or uid.")]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000, help="At most this many.")]

_PROJECTS = (
    Column("slug", "slug", may_wrap=True),
    Column("created", at("created_at")),
    Column("path", "human_key", may_wrap=True),
)
_FOUND = (
    Column("id", "id", is_right=True),
    Column("sent", at("created_ts")),
    Column("project", "project", may_wrap=True),
    Column("from", "from"),
    Column("thread", "thread_id"),
    Column("subject", "subject", may_wrap=True, style=importance_style),
    Column("snippet", "snippet", may_wrap=True),
)
_INBOX = (
    Column("id", "id", is_right=True),
    Column("received", at("created_ts")),
    Column("project", "project", may_wrap=True),
    Column("from", "from"),
    Column("kind", "kind"),
    Column("flags", mail_flags, may_wrap=True),
    Column("thread", "thread_id"),
    Column("subject", "subject", may_wrap=True, style=unread_style),
    Column("unread", unread_word, piped_only=True),
)


@app.command("ensure", cls=LeanCommand)
def ensure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it; or the name or uid of one.")],
    json: JsonFlag = False,
) -> None:
    """Make a product, or show the one of this name."""
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.call("ensure_product", {"product_key": name})
    if json:
        print_json(answer)
    else:
        print_fields(
            [*((key, answer[key]) for key in ("product_uid", "name")), ("created", time_of(answer["created_at"]))]
        )


@app.command("link", cls=LeanCommand)
def link(product: ProductArgument, project: ProjectOption = None, json: JsonFlag = False) -> None:
    """Make a project part of a product.

    Agents of its projects may then read each other's mail.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        arguments = {"product_key": product, "project_key": project_key(project, context)}
        answer = gateway.call("products_link", arguments)
    if json:
        print_json(answer)
    else:
        print_fields([("product", answer["product"]["name"]), ("project", answer["project"]["human_key"])])


@app.command("show", cls=LeanCommand)
def show(product: ProductArgument, exact: ExactFlag = False, json: JsonFlag = False) -> None:
    """Show a product and its projects."""
    context = load_context()
    with open_gateway(context) as gateway:
        found = gateway.read(resource_uri("product", product))
    if json:
        print_json(found)
        return
    print_fields([*((key, found[key]) for key in ("product_uid", "name")), ("created", time_of(found["created_at"]))])
    print_gap()
    print_rows(found["projects"], _PROJECTS, nothing="No projects yet: am products link adds one.", exact=exact)


@app.command("search", cls=LeanCommand)
def search(
    product: ProductArgument,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help='Words, "a phrase", prefix*, AND, OR, NOT, subject: or body:.')
    ],
    limit: LimitOption = 20,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """Search the mail of all its projects."""
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.call("search_messages_product", {"product_key": product, "query": query, "limit": limit})
    if json:
        print_json(answer)
    else:
        print_rows(answer["result"], _FOUND, nothing="Nothing found.", exact=exact)


@app.command("inbox", cls=LeanCommand)
def inbox(
    product: ProductArgument,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Who is called so in its projects.")] = HUMAN,
    limit: LimitOption = 20,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Delivered after this time (ISO 8601).")
    ] = None,
    urgent: Annotated[bool, typer.Option("--urgent", help="Only high and urgent mail.")] = False,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List what came to a name in all its projects, newest first.

    Yours unless told otherwise. Looking marks nothing as read.
    """
    context = load_context()
    asked = {"product_key": product, "agent_name": agent, "limit": limit, "urgent_only": urgent, "since_ts": since}
    with open_gateway(context) as gateway:
        found = gateway.call("fetch_inbox_product", asked)
    if json:
        print_json(found)
    else:
        print_rows(found, _INBOX, nothing=f"No mail for {agent}.", exact=exact)


@app.command("summary", cls=LeanCommand)
def summary(
    product: ProductArgument,
    thread_id: Annotated[str, typer.Argument(metavar="THREAD", help="A thread that its projects share.")],
    no_llm: NoLlmFlag = False,
    json: JsonFlag = False,
) -> None:
    """Summarize a thread over all its projects."""
    context = load_context()
    asked = {"product_key": product, "thread_id": thread_id, "llm_mode": not no_llm}
    with open_gateway(context) as gateway:
        answer = gateway.call("summarize_thread_product", asked)
    if json:
        print_json(answer)
    else:
        print_thread_summary(answer)
