"""The console script `claude-mailbox`. It starts by itself, before Typer and with little of the standard library: hooks
and shells of agents wait for it.
"""

from __future__ import annotations

import os
import sys

from mcp_agent_mail.cli.claude_mailbox.refusals import REFUSED, CommandRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130
BROKEN_PIPE = 141
_HELP = frozenset({"--help", "-h", "help"})
_VERSION = frozenset({"--version", "-V"})
_CALLS = frozenset({"send", "peek", "check", "list", "watch"})
_SESSIONS = frozenset({"session-announce", "session-end"})
_SERVERS = frozenset({"serve", "start", "stop", "status"})
_HOOKS = frozenset({"install-hook", "uninstall-hook"})
_SERVICES = frozenset({"install-autostart", "uninstall-autostart"})


def main() -> None:
    """Run the command and end the process with its exit code."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from mcp_agent_mail.core.standard_streams import hold_closed_numbers

        hold_closed_numbers()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """The exit code."""
    try:
        return _run(list(arguments))
    except CommandRefused as failed:
        # Only a refusal needs it: its words may be a server's.
        from mcp_agent_mail.core.escaping import visible

        sys.stderr.write(visible(f"{failed}\n"))
        return failed.code
    except BrokenPipeError:
        return _left_alone()
    except KeyboardInterrupt:
        return INTERRUPTED


def _left_alone() -> int:
    """Nobody reads any more. Python would complain once more as it ends, of what is left to be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return BROKEN_PIPE


def _run(arguments: list[str]) -> int:
    name, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if name in _VERSION:
        from mcp_agent_mail import __version__

        sys.stdout.write(f"{__version__}\n")
        return 0
    if not name or name in _HELP or _HELP & set(rest):
        from mcp_agent_mail.cli.claude_mailbox.usage import HELP

        (sys.stdout if name else sys.stderr).write(HELP)
        return 0 if name else REFUSED
    return _of_name(name, rest)


def _of_name(name: str, rest: list[str]) -> int:
    """Each imports what it needs alone."""
    if name in _CALLS:
        from mcp_agent_mail.cli.claude_mailbox import commands

        return commands.COMMANDS[name](rest)
    if name in _SESSIONS:
        from mcp_agent_mail.cli.claude_mailbox import session_hooks

        return session_hooks.COMMANDS[name](rest)
    if name in _SERVERS:
        from mcp_agent_mail.cli.claude_mailbox import server_process

        return server_process.COMMANDS[name](rest)
    if name in _HOOKS:
        from mcp_agent_mail.cli.claude_mailbox import install_hooks

        return install_hooks.COMMANDS[name](rest)
    if name in _SERVICES:
        from mcp_agent_mail.cli.claude_mailbox import autostart_service

        return autostart_service.COMMANDS[name](rest)
    if name == "mcp-stdio":
        from mcp_agent_mail.cli.claude_mailbox.stdio_proxy import serve_stdio

        return serve_stdio(rest)
    raise CommandRefused(f"claude-mailbox: unknown command {name!r:.100}. claude-mailbox --help lists them.")


if __name__ == "__main__":
    main()
