"""The console script `agentmail`. It starts by itself, before Typer and with little of the standard library: hooks and
shells of agents wait for it.
"""

from __future__ import annotations

import sys

from mcp_agent_mail.cli.agentmail.refusals import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130
_HELP = frozenset({"--help", "-h", "-help"})


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
    except Failure as failed:
        # Only a refusal needs it: its words may be a server's.
        from mcp_agent_mail.core.escaping import visible

        _say(visible(failed.lines))
        return failed.code
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: list[str]) -> int:
    name, rest = arguments[0] if arguments else "", arguments[1:]
    if name in _HELP or (name == "help" and not rest):
        return _print_help()
    if not name:
        from mcp_agent_mail.cli.agentmail.words import HELP

        _say(HELP)
        return 1
    if _HELP & set(rest[: rest.index("--")] if "--" in rest else rest):
        return _print_usage(name)
    return _of_name(name, rest)


def _of_name(name: str, rest: list[str]) -> int:
    """Each imports what it needs alone."""
    if name == "receive" and "--hook" in rest:
        from mcp_agent_mail.cli.agentmail.hook import receive_by_hook

        return receive_by_hook()
    if name in ("send", "receive", "recipients", "status", "onboard"):
        from mcp_agent_mail.cli.agentmail import commands

        return int(getattr(commands, name)(rest))
    if name == "cleanup":
        from mcp_agent_mail.cli.agentmail.upkeep import clean_up

        return clean_up(rest)
    if name == "mailman":
        from mcp_agent_mail.cli.agentmail.mailman_process import run_mailman

        return run_mailman(rest)
    if name == "mcp":
        from mcp_agent_mail.cli.agentmail.mcp_server import serve

        return serve()
    raise Failure(f"unknown command: {name:.100}", usage="agentmail <subcommand>; agentmail --help lists them")


def _print_help() -> int:
    from mcp_agent_mail.cli.agentmail.words import HELP

    sys.stdout.write(HELP)
    return 0


def _print_usage(name: str) -> int:
    from mcp_agent_mail.cli.agentmail.words import HELP, USAGES

    sys.stdout.write(f"USAGE\n  {USAGES[name]}\n" if name in USAGES else HELP)
    return 0


def _say(words: str) -> None:
    sys.stderr.write(words)


if __name__ == "__main__":
    main()
