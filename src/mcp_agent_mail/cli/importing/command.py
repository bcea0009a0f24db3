"""`am import`: mail, agents and leases of another system's store come in here; that store stays as it is."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_agent_mail.cli.arguments import given_path
from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.gateway.place import FolderGateway
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import JsonFlag
from mcp_agent_mail.cli.progress import progress_bars
from mcp_agent_mail.cli.project_option import absolute_key

if TYPE_CHECKING:
    from mcp_agent_mail.domain.importing.reader import SourceReader
    from mcp_agent_mail.domain.importing.report import ImportReport

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Bring in the mail of another system; its store stays as it is.\n\n"
    "Without --apply only a report: counts, names that change, what is not taken over. With it everything comes in, in "
    "its order, with its times and what was read; nobody is woken. Both may be repeated: what is here already stays as "
    "it is, and an import that was interrupted goes on. Exit codes: 0 done, 1 no such store, and why.",
)

ApplyFlag = Annotated[bool, typer.Option("--apply", help="Do it. Without this nothing is written.")]
IntoOption = Annotated[
    str | None,
    typer.Option("--project", "-p", metavar="PROJECT", help="Into it, path or slug; else into FACADES_PROJECT."),
]


@app.command("postal", cls=LeanCommand)
def import_postal(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Its messages.sqlite.")],
    project: IntoOption = None,
    apply: ApplyFlag = False,
    json: JsonFlag = False,
) -> None:
    """Bring in the messages of postal.

    Ids stay, by the door `postal`. What was given counts as read when it was sent.
    """
    _bring_in("postal", _path(file, "FILE"), project=project, apply=apply, json=json)


@app.command("agentmail", cls=LeanCommand)
def import_agentmail(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="Its .agentmail, or the repository with it.")],
    project: Annotated[
        str | None,
        typer.Option("--project", "-p", metavar="PROJECT", help="The repository's path or slug, as a check."),
    ] = None,
    apply: ApplyFlag = False,
    json: JsonFlag = False,
) -> None:
    """Bring in the mailboxes of AgentMail.

    The project is the repository. Ids stay, by the door `agentmail`. Half a last line and broken lines are reported.
    """
    _bring_in("agentmail", _path(directory, "DIR"), project=project, apply=apply, json=json)


@app.command("claude-mailbox", cls=LeanCommand)
def import_claude_mailbox(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Its mailbox.db.")],
    project: IntoOption = None,
    apply: ApplyFlag = False,
    json: JsonFlag = False,
) -> None:
    """Bring in the messages of ClaudeMailbox.

    Ids stay, by the door `claude-mailbox`. What was delivered is read.
    """
    _bring_in("claude-mailbox", _path(file, "FILE"), project=project, apply=apply, json=json)


@app.command("mcp-agent-mail", cls=LeanCommand)
def import_mcp_agent_mail(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="Its storage.sqlite3, the folder with it, or the archive alone.")
    ],
    archive: Annotated[
        str | None,
        typer.Option("--archive", metavar="DIR", help="Its Git repository: attachments, and mail that was purged."),
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", "-p", metavar="PROJECT", help="This project alone, by path or slug.")
    ] = None,
    apply: ApplyFlag = False,
    json: JsonFlag = False,
) -> None:
    """Bring in the projects of mcp_agent_mail.

    Agents, mail, threads, leases, contacts and products come along. Each project is the one of the same directory here.
    The database counts; the archive alone has no read state, topics, policies and contacts. Agents go on with the
    tokens they have.
    """
    archive_path = None if archive is None else _path(archive, "--archive")
    _bring_in("mcp-agent-mail", _path(path, "PATH"), archive=archive_path, project=project, apply=apply, json=json)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Inside, SIGINT, SIGTERM and SIGHUP end the command by an exception: private copies of others' mail do not stay.
    One that comes while SQLite calls us is lost there, and what SQLite makes of it is not: so the signal has the word.
    """
    ends: list[BaseException] = []

    def end(number: int, _frame: object) -> None:
        ends.append(KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number))
        raise ends[-1]

    # What our parent ignores (`nohup am import …`) stays ignored.
    heard = [one for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heard}
    try:
        yield
    except BaseException:
        if ends:
            raise ends[-1] from None
        raise
    else:
        if ends:  # Whoever was interrupted has swallowed it.
            raise ends[-1]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _path(text: str, name: str) -> Path:
    return given_path(text, name).absolute()


def _bring_in(
    system: str, path: Path, *, archive: Path | None = None, project: str | None, apply: bool, json: bool
) -> None:
    # Reading a source needs SQLite; only this command pays for it.
    from mcp_agent_mail.cli.importing.report import print_report
    from mcp_agent_mail.facades.importers.sources import open_source

    context = load_context()
    into = None if project is None else absolute_key(project, "--project")
    # The source first: what is no such store is said without a server.
    with (
        _ended_in_order(),
        open_source(system, path, archive=archive) as reader,
        progress_bars() as on,
    ):
        bar = on.bar("messages")

        def seen(count: int) -> None:
            bar(count, count)

        report = _applied(context, reader, into, seen) if apply else _rehearsed(context, reader, into, seen)
    print_report(report, path, json=json)


def _applied(context: CliContext, reader: SourceReader, into: str | None, seen: Callable[[int], None]) -> ImportReport:
    from mcp_agent_mail.cli.gateway.imports import import_through

    with open_gateway(context) as gateway:
        return import_through(gateway, reader, project=into, apply=True, seen=seen)


def _rehearsed(
    context: CliContext, reader: SourceReader, into: str | None, seen: Callable[[int], None]
) -> ImportReport:
    """The same steps, over a copy of the store that is thrown away; only counted where none can be made."""
    from mcp_agent_mail.cli.gateway.imports import import_through
    from mcp_agent_mail.cli.gateway.store_copy import can_rehearse, open_rehearsal

    if can_rehearse(context):
        with open_rehearsal(context) as rehearsal:
            if rehearsal is not None:
                return import_through(
                    FolderGateway(rehearsal), reader, project=into, apply=True, is_rehearsal=True, seen=seen
                )
    with open_gateway(context) as gateway:
        report = import_through(gateway, reader, project=into, apply=False, seen=seen)
    return replace(report, notes=(*report.notes, _ONLY_COUNTED))


_ONLY_COUNTED = (
    "The store is not here, or there is no room for a copy of it: this only counts, and does not see where what comes "
    "in meets itself (leases, names, equal attachments)."
)
