"""What goes wrong is told as everything else: one line of JSON on standard output, with the exit code that it has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import typer

from mcp_agent_mail.cli.exit_codes import MISREAD, ExitCode, Misread, code_of, exit_code_of
from mcp_agent_mail.cli.lazy_typer import LeanGroup
from mcp_agent_mail.cli.robot.line import MAX_BYTES, encode, fit_value
from mcp_agent_mail.core.errors import AgentMailError

USAGE = "USAGE"


_ROBOT = {
    "fetch_inbox": "am robot inbox",
    "health_check": "am robot status",
    "read_mail": "am robot thread",
    "search_messages": "am robot search",
    "resource://file_reservations": "am robot reservations",
    "resource://inbox": "am robot inbox",
    "resource://message": "am robot thread",
    "resource://thread": "am robot thread",
}
"""What an agent at its shell asks where a person runs another command."""
_NO_OVERSEER = "--agent or AGENT_NAME has to name a registered agent."
_OF_CALLS = ("suggested_tool_calls",)
"""Data for whoever calls tools."""


class RobotGroup(LeanGroup):
    """Commands whose refusals, usage errors too, are `{"error": {type, message, hint, data}}`."""

    # Typer keeps the context and parameter classes private.
    def make_context(self, *given: Any, **more: Any) -> Any:
        return _told(lambda: super(RobotGroup, self).make_context(*given, **more))

    # As above.
    def invoke(self, ctx: Any) -> Any:
        return _told(lambda: super(RobotGroup, self).invoke(ctx))


# Whatever Typer gives back.
def _told(run: Callable[[], Any]) -> Any:
    """Raises typer.Exit with the code of what was told."""
    try:
        return run()
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except typer.TyperException as wrong:
        if not (message := _message(wrong)):
            raise  # It shows the help.
        tell_refusal({"type": USAGE, "message": message, "hint": _next_step(wrong)})
        raise typer.Exit(wrong.exit_code) from None
    except AgentMailError as refused:
        told = (_told_unwritable(refused) if refused.__cause__ is not None else None) or refused
        tell_refusal(_shown(told))
        raise typer.Exit(exit_code_of(told)) from None
    except OSError as failed:
        if (unwritable := _told_unwritable(failed)) is not None:
            tell_refusal(_shown(unwritable))
            raise typer.Exit(exit_code_of(unwritable)) from None
        tell_refusal({"type": "UNAVAILABLE", "message": str(failed)})
        raise typer.Exit(ExitCode.REFUSED) from None
    except Exception as error:  # noqa: BLE001  # what a damaged database raises has no class of ours
        raise typer.Exit(_tell_fault(error)) from None


def _message(wrong: typer.TyperException) -> str:
    """Its own words; empty of what asks for the help by saying nothing."""
    is_help = type(wrong).__name__ == "NoArgsIsHelpError"
    said = getattr(wrong, "format_message", None)
    return "" if is_help else str(said() if said else wrong)


def _next_step(wrong: typer.TyperException) -> str:
    """The command as it would be right, or the help of the one that was run."""
    context = getattr(wrong, "ctx", None)
    place = "am robot" if context is None else context.command_path
    return getattr(wrong, "next_step", "") or f"{place} --help"


def _tell_fault(error: Exception) -> int:
    """A damaged or locked database, an answer of another shape. Raises `error` where it is neither."""
    # Imported only here: it knows SQLite.
    from mcp_agent_mail.store.engine.sqlite.faults import told_fault

    told = (
        _told_unwritable(error) or told_fault(error) or (Misread.because(error) if isinstance(error, MISREAD) else None)
    )
    if told is None:
        raise error
    tell_refusal(_shown(told))
    return exit_code_of(told)


def _told_unwritable(error: Exception) -> AgentMailError | None:
    # Imported only here, as above.
    from mcp_agent_mail.cli.unwritable_store import told_unwritable_store

    return told_unwritable_store(error)


# Plain JSON.
def _shown(error: AgentMailError) -> dict[str, Any]:
    # 2 ms, which only a refusal need pay.
    from mcp_agent_mail.cli.hints import AS_HUMAN, in_commands, in_variables

    hint = in_commands(error.hint, error.data, instead={**_ROBOT, AS_HUMAN: _NO_OVERSEER})
    data = {name: value for name, value in error.data.items() if name not in _OF_CALLS}
    shown = {"type": code_of(error), "message": in_variables(error), "hint": hint, "data": data}
    return {key: value for key, value in shown.items() if value}


# Plain JSON.
def tell_refusal(error: dict[str, Any]) -> None:
    """Print it within the bound of every answer: what a program may need goes before the words are cut."""
    text = encode({"error": error}, "json")
    if len(text.encode()) > MAX_BYTES:
        text = fit_value({"error": {key: value for key, value in error.items() if key != "data"}}, "json")
    sys.stdout.write(text)
