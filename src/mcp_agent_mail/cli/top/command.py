"""`am top`: the server at work, again and again until `q`, or once for a script. Changes nothing."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.exit_codes import ExitCode, tell_error
from mcp_agent_mail.cli.gateway.busy_server import is_busy
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import (
    Column,
    JsonFlag,
    at,
    is_terminal,
    print_fields,
    print_gap,
    print_json,
    print_rows,
)
from mcp_agent_mail.core.errors import AgentMailError

if TYPE_CHECKING:
    from mcp_agent_mail.cli.top.full_look import FullLook
    from mcp_agent_mail.cli.top.look_source import LookSource

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

_AGENTS = (
    Column("agent", "name"),
    Column("project", "project"),
    Column("program", "program"),
    Column("unread", "unread", is_right=True),
    Column("leases", lambda row: f"{row['leases']}{'+' if row['has_more_leases'] else ''}", is_right=True),
    Column("active", at("last_active_ts")),
    Column("listening", "listening"),
)
_ONCE_WINDOW_S = 1.0
_ONCE_PROJECTS = 200
_BY_SIGNAL = 128


@app.command("top", cls=LeanCommand)
def top(
    once: Annotated[bool, typer.Option("--once", help="Look once, for a second, and end.")] = False,
    every: Annotated[int, typer.Option("--every", metavar="S", min=1, max=60, help="Seconds between two looks.")] = 2,
    json: JsonFlag = False,
) -> int:
    """Watch agents, unread mail, leases, calls and the archive, live until q or Ctrl-C.

    A look costs the server some ten small questions: agents and leases of four projects in turn, calls of the last
    minute from /metrics. Sums are of the projects looked at; a plus says that there is more. A restart is survived;
    without a server it shows what the store says. --once and --json, or an output that is no terminal, look once:
    0 done, 1 the server says error, is busy or refuses, 69 neither server nor store.
    """
    context = load_context()
    # What looks is imported here: --help does without.
    from mcp_agent_mail.cli.top.look_source import LookSource

    looks = LookSource(context)
    try:
        looks.require_first()
        if once or json or not is_terminal() or os.environ.get("TERM") in (None, "", "dumb"):
            return _look_once(looks, json=json)
        return _watch(looks, every)
    finally:
        looks.close()


def _look_once(looks: LookSource, *, json: bool) -> int:
    """Calls are those of one second; every project is asked, the newest 200 at most. A server that says `error`, or is
    busy, is a refusal.
    """
    try:
        overview = _one_look(looks)
    except AgentMailError as refused:
        if not is_busy(refused):
            raise
        tell_error(refused)
        return ExitCode.REFUSED
    _print(overview, json=json)
    return ExitCode.REFUSED if overview.server == "error" else ExitCode.DONE


def _one_look(looks: LookSource) -> FullLook:
    overview = looks.require_look(projects=_ONCE_PROJECTS)
    if overview.server != "none":
        time.sleep(_ONCE_WINDOW_S)
        overview = looks.require_look(projects=0)
    return overview


def _print(overview: FullLook, *, json: bool) -> None:
    from mcp_agent_mail.cli.top.page import figures

    value = overview.to_json()
    if json:
        print_json(value)
        return
    print_fields(figures(overview))
    if is_terminal() and overview.rows:
        print_gap()
        print_rows(value["agents_shown"], _AGENTS, nothing="")


def _watch(looks: LookSource, every_s: int) -> int:
    from mcp_agent_mail.cli.top.page import frame
    from mcp_agent_mail.cli.top.screen import Ended, open_screen
    from mcp_agent_mail.core.clock import system_clock

    try:
        with open_screen() as screen:
            while True:
                screen.show(frame(looks.look(), now=system_clock()))
                if screen.rest(every_s):
                    return ExitCode.DONE
    except Ended as ended:
        return _exit_code(ended.number)


def _exit_code(number: int) -> int:
    """Ctrl-C is how one leaves, as `q` is. Where the terminal has gone, nothing more can be said on it. What asks for a
    core, or is nobody's usual way to end a command, ends it as a signal does.
    """
    import signal

    if number == signal.SIGINT:
        return ExitCode.DONE
    if number not in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    if number == signal.SIGHUP:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
    return _BY_SIGNAL + number
