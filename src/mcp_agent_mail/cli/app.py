"""The command line `am`: its commands by name, and what ends it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from mcp_agent_mail import __version__
from mcp_agent_mail.cli.exit_codes import ExitCode, Misread, tell_error
from mcp_agent_mail.cli.lazy_typer import Entry, LazyGroup
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.escaping import visible

_HERE = "mcp_agent_mail.cli"

ENTRIES = {
    "serve": Entry(f"{_HERE}.commands.serve", "Run the server until Ctrl-C."),
    "setup": Entry(f"{_HERE}.setup.command", "Set up the agent command lines here: MCP entry and hooks, or undo."),
    "status": Entry(f"{_HERE}.commands.status", "Is the server up, who owns the store, what is pending."),
    "top": Entry(f"{_HERE}.top.command", "Watch the server live: agents, unread mail, leases, calls."),
    "mail": Entry(f"{_HERE}.commands.mail", "Read and send mail as a person; reading consumes nothing."),
    "wait": Entry(f"{_HERE}.clients.wait", "Wait for an agent's mail; it ends at the first."),
    "robot": Entry(f"{_HERE}.robot.command", "Answer an agent that has a shell and no MCP, in one line."),
    "agents": Entry(f"{_HERE}.commands.agents", "List, show and retire agents."),
    "projects": Entry(f"{_HERE}.commands.projects", "List, show and archive projects, invite agents."),
    "reservations": Entry(
        f"{_HERE}.commands.reservations", "See who holds which files, and release what nobody works on."
    ),
    "contacts": Entry(
        f"{_HERE}.commands.contacts", "See who may write to whom and who waits for an answer; answer for an agent."
    ),
    "archive": Entry(f"{_HERE}.commands.archives", "Look at and look after the projects' archives."),
    "history": Entry(f"{_HERE}.commands.history", "Look back: at a message, an agent, a file, an inbox of then."),
    "guard": Entry(f"{_HERE}.commands.guard", "Let Git refuse commits of files that another agent has reserved."),
    "hook": Entry(f"{_HERE}.commands.hook", "Answer an event of an agent CLI, which runs this."),
    "run": Entry(f"{_HERE}.build_slots.run", "Hold a build slot while a command runs."),
    "env": Entry(f"{_HERE}.build_slots.env", "Print what am run tells a command, for a shell."),
    "token": Entry(f"{_HERE}.commands.tokens", "Replace a lost agent token."),
    "docs": Entry(f"{_HERE}.clients.docs", "Tell agents about their mail in AGENTS.md and its like."),
    "facade": Entry(f"{_HERE}.doors.command", "See the doors of other systems, and who may speak as whom."),
    "doctor": Entry(f"{_HERE}.commands.doctor", "Check the store; back up, restore, repair or rebuild it."),
    "debug": Entry(f"{_HERE}.debug.command", "Write a report for whoever helps, without mail and names."),
    "service": Entry(f"{_HERE}.service.command", "Start the server with your login."),
    "config": Entry(f"{_HERE}.commands.config", "Show and check the settings."),
    "import": Entry(f"{_HERE}.importing.command", "Bring in the mail of another system; its store stays as it is."),
    "demo": Entry(f"{_HERE}.demo.command", "Watch two scripted agents work a task by mail on a scratch server."),
}


class Root(LazyGroup):
    """The root of the command line: `am` with its commands by name."""

    entries = ENTRIES


app = typer.Typer(
    cls=Root, no_args_is_help=True, rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"am {__version__}")
        raise typer.Exit


@app.callback()
def am(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Mail for coding agents: run the server, read along, write to agents as Human.

    Data comes from the running server, or straight from the store when none runs. Tables on a
    terminal, tab-separated lines when piped, JSON with --json.

    Exit codes: 0 done, 1 refused or findings, 2 usage, 69 no server or store, 78 bad configuration;
    of am serve also 71 it cannot listen there, 75 the store is another server's.
    """


_ELSEWHERE = "Hint: Send it elsewhere, or free some room. Look at what was done before you repeat a write."


def run(arguments: Sequence[str]) -> int:
    """Run `am ARGUMENTS` and return its exit code. Output is flushed, so that a closed pipe is noticed here."""
    try:
        code = _exit_code_of(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left (`am mail inbox | head -1`); Python must not complain about it at exit.
        _print_nowhere()
        return ExitCode.BROKEN_PIPE
    except OSError as failed:
        # The output, into a file on a full disk. No 69: that means that there is no server or store.
        _print_nowhere()
        sys.stderr.write(
            f"Error: The output could not be written: {visible(failed.strerror or str(failed))}.\n{_ELSEWHERE}\n"
        )
        return ExitCode.REFUSED
    return code


def _print_nowhere() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_MISREAD = (LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""What reading an answer of another shape raises, wherever a command reads it."""


def _exit_code_of(arguments: Sequence[str]) -> int:
    """What a damaged database, or a failing disk, raises wherever a command reads it, is told too."""
    try:
        return _ended(arguments)
    except Exception as error:
        # Imported only here: it knows SQLite.
        from mcp_agent_mail.store.engine.faults import told_fault

        if (told := told_fault(error)) is None:
            raise
        return tell_error(told)


def _ended(arguments: Sequence[str]) -> int:
    try:
        # Not `main()`: it would turn a closed pipe into an exit code of its own.
        command = typer.main.get_command(app)
        with command.make_context("am", list(arguments)) as context:
            outcome = command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except (AgentMailError, *_MISREAD) as error:
        return tell_error(error if isinstance(error, AgentMailError) else Misread.because(error))
    except typer.TyperException as error:
        return _tell_usage(error)
    except (KeyboardInterrupt, EOFError, typer.Abort):
        sys.stderr.write("\nInterrupted.\n")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as failed:
        return _tell_failed(failed)
    return outcome if isinstance(outcome, int) else ExitCode.DONE


def _tell_failed(failed: OSError) -> int:
    """A full disk, a file that cannot be read: the operating system's words name the file."""
    # Only an error needs it.
    from mcp_agent_mail.core.disk_space import is_want_of_room, room_lacking

    if is_want_of_room(failed):
        return tell_error(room_lacking(failed))
    sys.stderr.write(f"Error: {visible(str(failed))}\n")
    return ExitCode.REFUSED


def _tell_usage(error: typer.TyperException) -> int:
    """Typer's own words for a mistake in the command line; its class for it is private."""
    if show := getattr(error, "show", None):
        show()
    return error.exit_code
