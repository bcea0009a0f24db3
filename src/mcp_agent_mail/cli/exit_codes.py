"""How a command ends: exit codes, and errors as fact, then hint, on stderr."""

from __future__ import annotations

import sys
from enum import IntEnum
from typing import Self

from mcp_agent_mail.core.errors import AgentMailError, Unavailable
from mcp_agent_mail.core.escaping import on_one_line, visible

_SHOWN = 200
MISREAD = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""What reading an answer of another shape raises."""


class ExitCode(IntEnum):
    """The numbers of sysexits.h where it has one."""

    DONE = 0
    REFUSED = 1
    FINDINGS = 1
    USAGE = 2
    UNAVAILABLE = 69
    SOFTWARE = 70
    TRY_AGAIN = 75
    CONFIG = 78
    NOT_EXECUTABLE = 126
    NO_COMMAND = 127
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class WireError(AgentMailError):
    """A refusal as it came over the wire: its `code` is the server's."""

    def __init__(self, error: dict[str, object]) -> None:
        data = error.get("data")
        super().__init__(
            str(error.get("message") or "The server refused without a reason."),
            hint=str(error.get("hint") or ""),
            data=data if isinstance(data, dict) else {},
        )
        self.wire_code = str(error.get("type") or "INTERNAL")

    def __copy__(self) -> WireError:
        """Exceptions are copied from their words alone otherwise, of which none is made here."""
        return WireError({"type": self.wire_code, "message": self.message, "hint": self.hint, "data": dict(self.data)})


class NoServer(Unavailable):
    """Neither a server nor a store to work on."""


class Misread(AgentMailError):
    """A server answered something of a shape that no server of ours answers, or this command has a fault."""

    code = "INTERNAL"

    @classmethod
    def because(cls, cause: Exception) -> Self:
        """The error to show for `cause`, of which its kind and the first 200 characters are told."""
        return cls(
            f"This command could not make sense of what it was told ({type(cause).__name__}: {str(cause)[:_SHOWN]}).",
            hint="Does an agent-mail server of this version answer there (am status, am --version)? Look before you "
            "repeat a write.",
        )


class BadSettings(AgentMailError):
    """The settings hold mistakes; nothing was opened."""

    code = "CONFIG"


_EXIT_CODES = {
    Unavailable.code: ExitCode.UNAVAILABLE,
    BadSettings.code: ExitCode.CONFIG,
    Misread.code: ExitCode.SOFTWARE,
}


def code_of(error: AgentMailError) -> str:
    return error.wire_code if isinstance(error, WireError) else error.code


def exit_code_of(error: AgentMailError) -> int:
    """With which code a command ends that was refused so."""
    return _EXIT_CODES.get(code_of(error), ExitCode.REFUSED)


def tell_error(error: AgentMailError) -> int:
    """Print the fact, then the next step; return the exit code. What comes of a store that can only be read is told as
    that.
    """
    # 2 ms, which only an error, or an answer with a hint, need pay.
    from mcp_agent_mail.cli.hints import in_variables

    if isinstance(error, Unavailable) and error.__cause__ is not None:
        # Likewise: it knows SQLite.
        from mcp_agent_mail.cli.unwritable_store import told_unwritable_store

        error = told_unwritable_store(error) or error
    code = code_of(error)
    sys.stdout.flush()
    # Of an error over the wire it is the server's own text.
    _tell(f"Error ({on_one_line(code)[:_SHOWN]}): ", in_variables(error))
    tell_hint(error.hint, error.data)
    return exit_code_of(error)


def tell_hint(hint: str | None, data: object = None) -> None:
    """Print the next step, in commands; nothing where there is none."""
    if hint:
        from mcp_agent_mail.cli.hints import in_commands

        _tell("Hint: ", in_commands(hint, data))


def _tell(head: str, text: str) -> None:
    """On a terminal folded to its width; lines of the text's own stay."""
    from mcp_agent_mail.cli.output import folded

    first, *more = visible(text).split("\n")
    is_terminal = sys.stderr.isatty()
    lines = [folded(head, first), *(folded("", line) for line in more)] if is_terminal else [head + first, *more]
    sys.stderr.write("\n".join(lines) + "\n")
