"""`am history`: what was, and when. Looks into files on this machine, and changes nothing."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from mcp_agent_mail.cli.arguments import reading_argument
from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import Column, ExactFlag, JsonFlag, Row, at, print_json, print_rows
from mcp_agent_mail.cli.project_option import ProjectOption
from mcp_agent_mail.core.ids import MessageId

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Look back: at a message, an agent, a file, an inbox of then.",
)

LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000, help="At most this many.")]


@app.callback()
def history() -> None:
    """Look back: at a message, an agent, a file, an inbox of then.

    Read from the store and the archives on this machine, with a server or without one. Changes nothing.
    """


def _event_in_words(row: Row) -> str:
    if by := row.get("superseded_by"):
        return f"{row['event']}, replaced by {by}"
    return f"{row['event']}, replaces {old}" if (old := row.get("supersedes")) else str(row["event"])


_EVENTS = (
    Column("when", at("ts")),
    Column("event", _event_in_words, is_whole=True),
    Column("agent", "agent"),
    Column("commit", "commit", is_whole=True),
    Column("archive", "archive", piped_only=True),
)


@app.command("message", cls=LeanCommand)
def message(
    message_id: Annotated[str, typer.Argument(metavar="ID", help="The message's id.")],
    project: ProjectOption = None,
    limit: LimitOption = 200,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """Tell what became of a message, oldest first.

    Sent, held, delivered, refused, read, acknowledged, expired, withdrawn, purged: when, by whom, and
    the commit of the archive that says so; which message it replaces, or was replaced by. Blind and
    held copies too.
    """
    from mcp_agent_mail.cli.offline.history import message_history
    from mcp_agent_mail.core.params import Id

    with reading_argument("ID"):
        wanted = MessageId(Id().convert("ID", message_id))
    answer = message_history(load_context(), wanted, project, limit=limit)
    if json:
        print_json(answer)
        return
    print_rows(answer["events"], _EVENTS, nothing="Nothing is known of it.", exact=exact)
    if left := answer["total"] - len(answer["events"]):
        sys.stderr.write(f"Notice: {left} later events were left out; --limit shows more.\n")


def _words_of_change(row: Row) -> str:
    return ", ".join(row["changed"])


_PROFILES = (
    Column("when", at("ts")),
    Column("event", "event", is_whole=True),
    Column("changed", _words_of_change, may_wrap=True),
    Column("program", "program"),
    Column("model", "model"),
    Column("contacts", "contact_policy"),
    Column("attachments", "attachments_policy"),
    Column("task", "task_description", may_wrap=True),
    Column("commit", "commit", is_whole=True),
)


@app.command("agent", cls=LeanCommand)
def agent(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The agent's name.")],
    project: ProjectOption = None,
    limit: LimitOption = 200,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """Tell what an agent was over time, newest first.

    Its profile, its policies, and when it retired or came back, each with the commit of the archive.
    What changed several times before one commit is one change.
    """
    from mcp_agent_mail.cli.offline.history import agent_history

    answer = agent_history(load_context(), name, project, limit=limit)
    if json:
        print_json(answer)
    else:
        print_rows(answer["events"], _PROFILES, nothing="Nothing is known of it.", exact=exact)


# A Lease as JSON has it.
def _with_end(row: dict[str, Any]) -> dict[str, Any]:
    """With when and how it ended; of a live one when it will, unless it is renewed."""
    how = row["ended_by"] or ("held" if row["live"] else "expiry")
    return {**row, "until": row["released_ts"] or row["expires_ts"], "end": how}


_LEASES = (
    Column("id", "id", is_right=True),
    Column("agent", "agent"),
    Column("pattern", "path_pattern", may_wrap=True),
    Column("exclusive", "exclusive"),
    Column("from", at("created_ts")),
    Column("until", at("until")),
    Column("end", "end"),
    Column("reason", "reason", may_wrap=True),
)


@app.command("file", cls=LeanCommand)
def file(
    path: Annotated[str, typer.Argument(metavar="PATH", help="From the project's root; with / at its end all below.")],
    project: ProjectOption = None,
    limit: LimitOption = 200,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List who held reservations that cover a file, newest first.

    Live ones too. The path is taken letter by letter, and need not exist.
    """
    from mcp_agent_mail.cli.offline.history import file_history

    rows = file_history(load_context(), path, project, limit=limit)
    if json:
        print_json(rows)
    else:
        print_rows([_with_end(row) for row in rows], _LEASES, nothing="Nobody has reserved it.", exact=exact)


_INBOX = (
    Column("id", "id", is_right=True),
    Column("received", at("created_ts")),
    Column("from", "from"),
    Column("kind", "kind"),
    Column("thread", "thread_id"),
    Column("subject", "subject", may_wrap=True),
    Column("read", at("read_at")),
    Column("acknowledged", at("acknowledged_at")),
)


@app.command("inbox", cls=LeanCommand)
def inbox(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Whose inbox.")],
    moment: Annotated[str, typer.Option("--at", metavar="TIME", help="When (ISO 8601 or epoch seconds).")],
    project: ProjectOption = None,
    limit: LimitOption = 20,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List an inbox as it was at a time, newest first.

    What had been delivered by then, and what had been read and acknowledged by then. With --json with
    the bodies; those of messages that were purged since come from Git.
    """
    from mcp_agent_mail.cli.offline.history import past_inbox
    from mcp_agent_mail.core.params import Time

    with reading_argument("--at"):
        then = Time().convert("--at", moment)
    rows = past_inbox(load_context(), agent, then, project, limit=limit)
    missing = [str(row["id"]) for row in rows if "body_missing" in row]
    if json:
        print_json(rows)
    else:
        print_rows(rows, _INBOX, nothing=f"{agent} had no mail then.", exact=exact)
    if missing:
        sys.stderr.write(f"Notice: Git has no text of what was purged since: {', '.join(missing)}.\n")
