"""`am robot`: what an agent with a shell and no MCP asks, each answered in one line.

It asks as --agent or AGENT_NAME with AGENT_MAIL_AGENT_TOKEN, and never with the operator's token. Nothing is marked as
read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.robot.line import MAX_BYTES, MOST_BYTES, RobotAnswer, Style, fit
from mcp_agent_mail.cli.robot.refusals import RobotGroup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_agent_mail.cli.robot.caller import RobotCaller

app = typer.Typer(
    cls=RobotGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Answer an agent that has a shell and no MCP, in one line of JSON.\n\n"
    "It asks as --agent NAME, else AGENT_NAME, else Git's agent-mail.name, and never as the operator.",
)

_Project = Annotated[
    str | None,
    typer.Option(
        "--project",
        "-p",
        metavar="PROJECT",
        help="Path or slug. Else AGENT_MAIL_PROJECT, Git's agent-mail.project, the Git top level, the current "
        "directory.",
    ),
]
_Agent = Annotated[
    str | None,
    typer.Option("--agent", "-a", metavar="NAME", help="Who asks. Else AGENT_NAME, or Git's agent-mail.name."),
]
_Format = Annotated[Style, typer.Option("--format", help="Compact JSON in one line, or TOON.")]
_Limit = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=1, max=1_000, help="So many, whole; else as many as fit into 2 KiB."),
]
_Json = Annotated[bool, typer.Option("--json", help="Taken as every command takes it: it is JSON already.")]
_Bodies = Annotated[bool, typer.Option("--bodies", help="With the texts.")]


@app.callback()
def robot() -> None:
    """Answer an agent that has a shell and no MCP, in one line of JSON.

    It asks as --agent NAME (else AGENT_NAME, else Git's agent-mail.name) with AGENT_MAIL_AGENT_TOKEN, never as the
    operator, and marks nothing as read. An answer has 2 KiB at most; "more" counts at least what was left out, and
    "cut" says that a text was. A refusal is {"error": {...}} on standard output, with am's exit codes.
    """


@app.command("status", cls=LeanCommand)
def status(
    project: _Project = None,
    agent: _Agent = None,
    form: _Format = "json",
    json: _Json = False,  # noqa: ARG001  # as everywhere
) -> None:
    """Server, mail and reservations: ask this first."""
    from mcp_agent_mail.cli.robot import answers

    _answer((project, agent), form, answers.status)


@app.command("inbox", cls=LeanCommand)
def inbox(
    project: _Project = None,
    agent: _Agent = None,
    all_mail: Annotated[bool, typer.Option("--all", help="Mail that was read too.")] = False,
    urgent: Annotated[bool, typer.Option("--urgent", help="Only high and urgent mail.")] = False,
    bodies: _Bodies = False,
    limit: _Limit = None,
    form: _Format = "json",
    json: _Json = False,  # noqa: ARG001  # as everywhere
) -> None:
    """Your unread mail, newest first."""
    from mcp_agent_mail.cli.robot import answers

    def ask(caller: RobotCaller) -> RobotAnswer:
        return answers.inbox(caller, limit=limit, all_mail=all_mail, urgent=urgent, bodies=bodies)

    _answer((project, agent), form, ask, limit)


@app.command("thread", cls=LeanCommand)
def thread(
    thread_id: Annotated[str, typer.Argument(metavar="ID", help="The thread's id, or that of a message in it.")],
    project: _Project = None,
    agent: _Agent = None,
    after: Annotated[
        int | None, typer.Option("--after", metavar="ID", min=1, help="Go on behind this message: next_after_id.")
    ] = None,
    heads: Annotated[bool, typer.Option("--heads", help="Without the texts.")] = False,
    limit: _Limit = None,
    form: _Format = "json",
    json: _Json = False,  # noqa: ARG001  # as everywhere
) -> None:
    """A thread with its texts, oldest first."""
    from mcp_agent_mail.cli.robot import answers

    def ask(caller: RobotCaller) -> RobotAnswer:
        return answers.thread(caller, thread_id, after_id=after, limit=limit, bodies=not heads)

    _answer((project, agent), form, ask, limit)


@app.command("search", cls=LeanCommand)
def search(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help='Words, "a phrase", prefix*, AND, OR, NOT, subject: or body:.')
    ],
    project: _Project = None,
    agent: _Agent = None,
    limit: _Limit = None,
    form: _Format = "json",
    json: _Json = False,  # noqa: ARG001  # as everywhere
) -> None:
    """Mail of the project by words, best first."""
    from mcp_agent_mail.cli.robot import answers

    _answer((project, agent), form, lambda caller: answers.search(caller, query, limit=limit), limit)


@app.command("reservations", cls=LeanCommand)
def reservations(
    project: _Project = None,
    agent: _Agent = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only your own.")] = False,
    limit: _Limit = None,
    form: _Format = "json",
    json: _Json = False,  # noqa: ARG001  # as everywhere
) -> None:
    """Who has reserved which files: yours first, then the oldest."""
    from mcp_agent_mail.cli.robot import answers

    _answer((project, agent), form, lambda caller: answers.reservations(caller, mine=mine, limit=limit), limit)


@app.command("whoami", cls=LeanCommand)
def whoami(
    project: _Project = None,
    agent: _Agent = None,
    form: _Format = "json",
    json: _Json = False,  # noqa: ARG001  # as everywhere
) -> None:
    """Who you are here, and whether your token proved it."""
    from mcp_agent_mail.cli.robot import answers

    _answer((project, agent), form, answers.whoami)


def _answer(
    said: tuple[str | None, str | None],
    form: Style,
    ask: Callable[[RobotCaller], RobotAnswer],
    limit: int | None = None,
) -> None:
    """`said`: the project and the agent. Nothing is printed before the whole answer is there."""
    from mcp_agent_mail.cli.robot.caller import open_caller

    with open_caller(*said) as caller:
        answer = ask(caller)
    sys.stdout.write(fit(answer, form, max_bytes=MOST_BYTES if limit else MAX_BYTES))
