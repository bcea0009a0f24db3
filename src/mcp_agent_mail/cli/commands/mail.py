"""`am mail`: what a person reads and writes. Reading consumes nothing: only answers mark anything as read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from mcp_agent_mail.cli.commands.all_projects import (
    find_thread,
    held_everywhere,
    held_in,
    is_outside,
    search_everywhere,
)
from mcp_agent_mail.cli.commands.attachments import attached, bare_digest, save_as
from mcp_agent_mail.cli.commands.delivery import print_status, print_withdrawal, status_of
from mcp_agent_mail.cli.commands.delivery import withdraw as take_back
from mcp_agent_mail.cli.commands.inboxes import read_inbox
from mcp_agent_mail.cli.commands.send import as_answer, body_text, send_there, subject_from
from mcp_agent_mail.cli.commands.send import send as send_here
from mcp_agent_mail.cli.commands.shown_messages import print_message, print_sent
from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.mail import answers, purge, summaries, threads
from mcp_agent_mail.cli.mail.mail_typer import MailGroup
from mcp_agent_mail.cli.mail.meant_threads import thread_in
from mcp_agent_mail.cli.output import (
    Column,
    ExactFlag,
    JsonFlag,
    at,
    print_fields,
    print_json,
    print_rows,
    print_text,
)
from mcp_agent_mail.cli.project_option import ProjectOption, project_key, resource_uri
from mcp_agent_mail.cli.row_flags import (
    importance_style,
    inbox_style,
    inbox_words,
    mail_flags,
    unread_style,
    unread_word,
)
from mcp_agent_mail.core.clock import Micros, system_clock
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.identity.names import HUMAN

app = typer.Typer(
    cls=MailGroup,
    rich_markup_mode=None,
    add_completion=False,
    help="Read and send mail as a person; reading consumes nothing.\n\n"
    "Without a command: your inbox (am mail inbox), outside a project that of all projects.",
)

AttachOption = Annotated[
    list[str] | None,
    typer.Option("--attach", metavar="FILE", help="Send a file along, or sha256:… of an attachment. Repeat for more."),
]
ToOption = Annotated[
    list[str] | None,
    typer.Option("--to", metavar="NAME", help="Recipient: Name, or Name@project; repeat for more."),
]
ValidUntilOption = Annotated[
    str | None,
    typer.Option("--valid-until", metavar="TIME", help="It expires unread then (ISO 8601; UTC without an offset)."),
]
SupersedesOption = Annotated[
    int | None,
    typer.Option("--supersedes", metavar="ID", help="Own message that it replaces, for those it goes to."),
]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000, help="At most this many.")]


def _inbox_columns(ack_ttl_s: int, now: Micros) -> tuple[Column, ...]:
    words, style = inbox_words(ack_ttl_s, now=now), inbox_style(ack_ttl_s, now=now)
    return (
        Column("id", "id", is_right=True),
        Column("received", at("created_ts")),
        Column("from", "from"),
        Column("kind", "kind"),
        Column("flags", mail_flags, may_wrap=True, on_terminal=words, style=style),
        Column("thread", "thread_id"),
        Column("subject", "subject", may_wrap=True, style=unread_style),
        Column("unread", unread_word, piped_only=True),
    )


_FOUND = (
    Column("id", "id", is_right=True),
    Column("sent", at("created_ts")),
    Column("from", "from"),
    Column("thread", "thread_id"),
    Column("subject", "subject", may_wrap=True, style=importance_style),
    Column("snippet", "snippet", may_wrap=True),
)


@app.command("inbox", cls=LeanCommand)
def inbox(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Whose inbox.")] = HUMAN,
    project: ProjectOption = None,
    limit: LimitOption = 20,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Delivered after this time (ISO 8601).")
    ] = None,
    urgent: Annotated[bool, typer.Option("--urgent", help="Only high and urgent mail.")] = False,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List an inbox, newest first: yours, or an agent's.

    Looking marks nothing as read. Outside a project your inbox is that of all projects.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        answer = read_inbox(gateway, agent, project, context, limit=limit, since_ts=since, urgent_only=urgent or None)
    if json:
        print_json(answer)
    else:
        columns = _inbox_columns(context.settings.ack_ttl_seconds, system_clock())
        place = answer["project"]
        if place is None:
            columns, place = (*columns[:2], Column("project", "project"), *columns[2:]), "any project"
        print_rows(answer["messages"], columns, nothing=f"No mail for {answer['agent']} in {place}.", exact=exact)


_HELD = (
    Column("id", "id", is_right=True),
    Column("sent", at("created_ts")),
    Column("from", "from"),
    Column("to", "to"),
    Column("waits for", "code"),
    Column("subject", "subject", may_wrap=True),
)


@app.command("held", cls=LeanCommand)
def held(
    agent: Annotated[str | None, typer.Argument(metavar="AGENT", help="Whose; without one, every agent's.")] = None,
    sent: Annotated[bool, typer.Option("--sent", help="What the agent sent, not what waits for it.")] = False,
    project: ProjectOption = None,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List mail that waits for consent, oldest first.

    Outside a project that of all. `am contacts requests` shows the requests behind it.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        direction = "outbound" if sent else "inbound"
        columns: tuple[Column, ...] = _HELD
        try:
            waiting = held_in(gateway, project_key(project, context), agent, direction)
        except AgentMailError as refused:
            if not is_outside(refused, project, context):
                raise
            waiting = held_everywhere(gateway, agent, direction)
            columns = (*_HELD[:2], Column("project", "project"), *_HELD[2:])
    if json:
        print_json(waiting)
    else:
        print_rows(waiting, columns, nothing="No mail waits for consent.", exact=exact)


@app.command("read", cls=LeanCommand)
def read(
    message_id: Annotated[int, typer.Argument(metavar="ID", help="The message's id.")],
    project: ProjectOption = None,
    json: JsonFlag = False,
) -> None:
    """Show one message with its body."""
    context = load_context()
    with open_gateway(context) as gateway:
        message = gateway.read(resource_uri("message", message_id, project=project and project_key(project, context)))
    if json:
        print_json(message)
    else:
        print_message(message, _elsewhere(message, context))


# The answer is plain JSON.
def _elsewhere(answer: dict[str, Any], context: CliContext) -> str | None:
    """The project of what was read, for the next command to name; None where that looks there anyway."""
    place = answer.get("project")
    return None if place is None or place == project_key(None, context) else str(place)


@app.command("thread", cls=LeanCommand)
def thread(
    thread_id: Annotated[str, typer.Argument(metavar="ID", help="The thread's id, or that of a message in it.")],
    project: ProjectOption = None,
    limit: LimitOption = 1000,
    json: JsonFlag = False,
) -> None:
    """Show a thread with its bodies, oldest first."""
    context = load_context()
    with open_gateway(context) as gateway:
        key = project_key(project, context)
        try:
            thread_id = thread_in(gateway, thread_id, key)
            answer = gateway.read(resource_uri("thread", thread_id, project=key, include_bodies=True, limit=limit))
        except AgentMailError as refused:
            if not is_outside(refused, project, context):
                raise
            answer = find_thread(gateway, thread_id, limit, refused)
    if json:
        print_json(answer)
        return
    place = _elsewhere(answer, context)
    for message in answer["messages"]:
        print_message(message, place)
        print_text("")
    if answer["next_after_id"] is not None:
        print_text(f"{answer['total'] - len(answer['messages'])} more: raise --limit.")


@app.command("search", cls=LeanCommand)
def search(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help='Words, "a phrase", prefix*, AND, OR, NOT, subject: or body:.')
    ],
    project: ProjectOption = None,
    limit: LimitOption = 20,
    order: Annotated[Literal["relevance", "newest", "oldest"], typer.Option("--order", help="What comes first.")] = (
        "relevance"
    ),
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """Search a project's mail; outside of any that of all."""
    context = load_context()
    arguments = {"project_key": project_key(project, context), "query": query, "limit": limit, "order": order}
    with open_gateway(context) as gateway:
        columns: tuple[Column, ...] = _FOUND
        try:
            answer = gateway.call("search_messages", arguments)
        except AgentMailError as refused:
            if not is_outside(refused, project, context):
                raise
            answer = search_everywhere(gateway, arguments)
            columns = (*_FOUND[:2], Column("project", "project"), *_FOUND[2:])
    if json:
        print_json(answer)
    else:
        print_rows(answer["result"], columns, nothing="Nothing found.", exact=exact)


@app.command("send", cls=LeanCommand)
def send(
    to: ToOption = None,
    body: Annotated[
        str | None, typer.Argument(metavar="BODY", help="The text (Markdown); - reads it from standard input.")
    ] = None,
    subject: Annotated[str, typer.Option("--subject", "-s", metavar="TEXT", help="Its subject.")] = "",
    project: ProjectOption = None,
    cc: Annotated[list[str] | None, typer.Option("--cc", metavar="NAME", help="Copy to. Repeat for more.")] = None,
    bcc: Annotated[
        list[str] | None, typer.Option("--bcc", metavar="NAME", help="Blind copy to. Repeat for more.")
    ] = None,
    thread: Annotated[str | None, typer.Option("--thread", metavar="ID", help="Thread to put it in.")] = None,
    reply_to: Annotated[
        int | None,
        typer.Option(
            "--reply-to", metavar="ID", help="Id of the message it answers; to its sender unless --to is given."
        ),
    ] = None,
    importance: Annotated[
        Literal["low", "normal", "high", "urgent"], typer.Option("--importance", help="How important it is.")
    ] = "normal",
    ack: Annotated[bool, typer.Option("--ack", help="Ask for an acknowledgement.")] = False,
    sender: Annotated[str, typer.Option("--from", metavar="NAME", help="Send as this agent.")] = HUMAN,
    attach: AttachOption = None,
    no_convert: Annotated[
        bool, typer.Option("--no-convert", help="Send images as they are, and none that the text shows.")
    ] = False,
    valid_until: ValidUntilOption = None,
    supersedes: SupersedesOption = None,
    json: JsonFlag = False,
) -> None:
    """Send a message, as Human unless told otherwise.

    Without --subject the first line of the text is the subject; of an answer without --to
    it is "Re:" and that of the message.
    """
    if not to and reply_to is None:
        raise typer.BadParameter("Say to whom: --to NAME, or --reply-to ID to answer a message.", param_hint="--to")
    context = load_context()
    text = body_text(body)
    arguments = {
        "sender_name": sender,
        "to": to,
        "cc": cc,
        "bcc": bcc,
        "subject": subject,
        "body_md": text,
        "thread_id": thread,
        "reply_to": reply_to,
        "importance": importance,
        "ack_required": ack,
        "attachment_paths": [attached(one) for one in attach or ()],
        "convert_images": False if no_convert else None,
        "valid_until": valid_until,
        "supersedes": supersedes,
    }
    with open_gateway(context) as gateway:
        if to:
            answer = send_there(gateway, {**arguments, "subject": subject or subject_from(text)}, project, context)
        else:
            answer = send_here(gateway, as_answer(gateway, arguments, project, context))
    if json:
        print_json(answer)
    else:
        print_sent(answer)


@app.command("status", cls=LeanCommand)
def status(
    message_id: Annotated[int, typer.Argument(metavar="ID", help="The message's id.")],
    project: ProjectOption = None,
    asking: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="As this agent is told it. Else as its sender is.")
    ] = None,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """Show how far a message got with each recipient.

    held, delivered, handed_over, shown, read, acknowledged, answered; or refused, expired, withdrawn.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        answer = status_of(gateway, message_id, asking, project, context)
    if json:
        print_json(answer)
    else:
        print_status(answer, exact=exact)


@app.command("withdraw", cls=LeanCommand)
def withdraw(
    message_id: Annotated[int, typer.Argument(metavar="ID", help="The message's id.")],
    sender: Annotated[str, typer.Option("--from", "--as", metavar="NAME", help="Its sender.")] = HUMAN,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Told to whoever has read it.")] = None,
    project: ProjectOption = None,
    json: JsonFlag = False,
) -> None:
    """Take back a message, as Human unless told otherwise.

    Unread copies disappear; whoever has read it sees when and why. The archive's history keeps the text.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        answer = take_back(gateway, message_id, sender, reason, project, context)
    if json:
        print_json(answer)
    else:
        print_withdrawal(answer)


@app.command("attachment", cls=LeanCommand)
def attachment(
    sha256: Annotated[str, typer.Argument(metavar="SHA256", help="Of an attachment, as its message shows it.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")
    ],
    project: ProjectOption = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    json: JsonFlag = False,
) -> None:
    """Save what a message carries as a file."""
    context, digest = load_context(), bare_digest(sha256)
    with open_gateway(context) as gateway:
        slug = gateway.read(resource_uri("project", project_key(project, context)))["slug"]
        saved = save_as(output, gateway.download(slug, digest), digest, is_forced=force)
    if saved is None:
        return
    if json:
        print_json(saved)
    else:
        print_fields(list(saved.items()))


for more in (answers, threads, summaries, purge):
    app.add_typer(more.app)
