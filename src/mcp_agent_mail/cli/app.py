"""The command line `am`: its commands by name, and what ends it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import typer

from mcp_agent_mail import __version__
from mcp_agent_mail.cli.exit_codes import MISREAD, ExitCode, Misread, tell_error
from mcp_agent_mail.cli.lazy_typer import Entry, LazyGroup, OlderCommand
from mcp_agent_mail.cli.root_help import CommandSection
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.escaping import visible

_HERE = "mcp_agent_mail.cli"

ENTRIES = {
    "init": Entry(f"{_HERE}.env_files.init", "Write a commented .env.", CommandSection.SERVER),
    "serve": Entry(f"{_HERE}.commands.serve", "Run the server.", CommandSection.SERVER),
    "service": Entry(f"{_HERE}.service.command", "Run it at each login.", CommandSection.SERVER),
    "status": Entry(f"{_HERE}.commands.status", "Is it up, what waits.", CommandSection.SERVER),
    "top": Entry(f"{_HERE}.top.command", "Watch it live.", CommandSection.SERVER),
    "web": Entry(f"{_HERE}.web.command", "See it in a browser.", CommandSection.SERVER),
    "config": Entry(f"{_HERE}.commands.config", "See, check settings.", CommandSection.SERVER),
    "demo": Entry(f"{_HERE}.demo.command", "Watch two agents work.", CommandSection.SERVER),
    "mail": Entry(f"{_HERE}.commands.mail", "Read and send mail.", CommandSection.MAIL),
    "acks": Entry(f"{_HERE}.mail.acks", "Who owes an answer.", CommandSection.MAIL),
    "agents": Entry(f"{_HERE}.commands.agents", "Who is there.", CommandSection.MAIL),
    "projects": Entry(f"{_HERE}.commands.projects", "Projects; invitations.", CommandSection.MAIL),
    "products": Entry(f"{_HERE}.products.command", "Projects tied together.", CommandSection.MAIL),
    "contacts": Entry(f"{_HERE}.commands.contacts", "Who may write to whom.", CommandSection.MAIL),
    "reservations": Entry(f"{_HERE}.commands.reservations", "Who holds which files.", CommandSection.MAIL),
    "history": Entry(f"{_HERE}.commands.history", "Look back in time.", CommandSection.MAIL),
    "token": Entry(f"{_HERE}.commands.tokens", "Issue, list, revoke.", CommandSection.MAIL),
    "setup": Entry(f"{_HERE}.setup.command", "Set up agent CLIs here.", CommandSection.CONNECT),
    "docs": Entry(f"{_HERE}.clients.docs", "Tell agents in AGENTS.md.", CommandSection.CONNECT),
    "guard": Entry(f"{_HERE}.commands.guard", "Let Git mind held files.", CommandSection.CONNECT),
    "facade": Entry(f"{_HERE}.doors.command", "Doors of other systems.", CommandSection.CONNECT),
    "import": Entry(f"{_HERE}.importing.command", "Bring in others' mail.", CommandSection.CONNECT),
    "completion": Entry(f"{_HERE}.completion.command", "TAB for bash, zsh, fish.", CommandSection.CONNECT),
    "wait": Entry(f"{_HERE}.clients.wait", "Wait for an agent's mail.", CommandSection.SHELL),
    "hook": Entry(f"{_HERE}.commands.hook", "Answer an agent CLI.", CommandSection.SHELL),
    "robot": Entry(f"{_HERE}.robot.command", "For agents with no MCP.", CommandSection.SHELL),
    "run": Entry(f"{_HERE}.build_slots.run", "Run in a build slot.", CommandSection.SHELL),
    "env": Entry(f"{_HERE}.build_slots.env", "What am run tells.", CommandSection.SHELL),
    "archive": Entry(f"{_HERE}.commands.archives", "See, save, restore Git.", CommandSection.STORE),
    "share": Entry(f"{_HERE}.sharing.command", "Give mail away as pages.", CommandSection.STORE),
    "doctor": Entry(f"{_HERE}.commands.doctor", "Check, back up, repair.", CommandSection.STORE),
    "debug": Entry(f"{_HERE}.debug.command", "A report for helpers.", CommandSection.STORE),
    "reset": Entry(f"{_HERE}.reset.command", "Empty it, saved first.", CommandSection.STORE),
    "migrate": Entry(f"{_HERE}.older_names.migrate", "Bring the schema up to date."),
}

OLDER_NAMES = {
    "serve-http": OlderCommand(words=("serve",)),
    "serve-stdio": OlderCommand(words=("serve", "--stdio")),
    "list-projects": OlderCommand(words=("projects", "list")),
    "list-acks": OlderCommand(words=("acks", "pending")),
    "file_reservations": OlderCommand(words=("reservations",)),
    "am-run": OlderCommand(words=("run",)),
    "amctl env": OlderCommand(words=("env",)),
    "clear-and-reset-everything": OlderCommand(words=("reset",)),
    "migrate": OlderCommand(words=("migrate",), said="am serve brings the store up to date at each start."),
}
"""Names that other versions of this program and its neighbours have for a command: the words that are run instead.
One whose command is not there is unknown, as any other word is."""


class Root(LazyGroup):
    """The root of the command line: `am` with its commands by name."""

    entries = ENTRIES
    older_names = OLDER_NAMES
    said_without = "mail"
    instead: ClassVar[Mapping[str, str]] = {"version": "Run am --version."}


app = typer.Typer(
    cls=Root,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
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
    """Mail for coding agents."""


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
    # A root that only shows its help imports no more than it needs.
    from mcp_agent_mail.cli.output import print_nowhere

    print_nowhere()


def _exit_code_of(arguments: Sequence[str]) -> int:
    """What a damaged database, or a failing disk, raises wherever a command reads it, is told too."""
    if (mistake := _not_text(arguments)) is not None:
        return _tell_not_text(arguments[0], mistake)
    try:
        return _ended(arguments)
    except Exception as error:
        # Imported only here: it knows SQLite.
        from mcp_agent_mail.store.engine.sqlite.faults import told_fault

        if (told := _told_unwritable(error) or told_fault(error)) is None:
            raise
        return tell_error(told)


def _told_unwritable(error: Exception) -> AgentMailError | None:
    # Imported only here, as above.
    from mcp_agent_mail.cli.unwritable_store import told_unwritable_store

    return told_unwritable_store(error)


def _ended(arguments: Sequence[str]) -> int:
    try:
        # Not `main()`: it would turn a closed pipe into an exit code of its own.
        command = typer.main.get_command(app)
        with command.make_context("am", list(arguments)) as context:
            outcome = command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except (AgentMailError, *MISREAD) as error:
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


def _not_text(arguments: Sequence[str]) -> str | None:
    if all(argument.isascii() for argument in arguments):
        return None
    # A root that only shows its help imports no more than it needs.
    from mcp_agent_mail.cli.arguments import not_text

    return not_text(arguments)


def _tell_not_text(command: str, mistake: str) -> int:
    if command == "robot":
        from mcp_agent_mail.cli.robot.refusals import USAGE, tell_refusal

        tell_refusal({"type": USAGE, "message": mistake, "hint": "am robot --help"})
    else:
        sys.stderr.write(f"Error: {mistake}\n")
    return ExitCode.USAGE


def _tell_failed(failed: OSError) -> int:
    """A full disk, a file that cannot be read: the operating system's words name the file."""
    # Only an error needs it.
    from mcp_agent_mail.core.disk_space import is_want_of_room, room_lacking

    if is_want_of_room(failed):
        return tell_error(room_lacking(failed))
    if (told := _told_unwritable(failed)) is not None:
        return tell_error(told)
    sys.stderr.write(f"Error: {visible(str(failed))}\n")
    return ExitCode.REFUSED


def _tell_usage(error: typer.TyperException) -> int:
    """Typer's own words for a mistake in the command line; its class for it is private."""
    if show := getattr(error, "show", None):
        show()
    return error.exit_code
