"""`python -m mcp_agent_mail` and the console scripts `am`, `mcp-agent-mail`, `am-run` and `amctl`."""

from __future__ import annotations

import atexit
import gc
import sys

_HELP = frozenset({"--help", "-h"})


def main() -> None:
    """Run the command line and end the process with its exit code."""
    arguments = sys.argv[1:]
    _end_quickly()
    # Imported here, so that importing this module costs nothing.
    if _is_guards(arguments):
        # Before Typer: a commit and an edit wait for it.
        from mcp_agent_mail.guard.entry import main as guard

        sys.exit(guard(arguments[1:]))
    if arguments[:1] == ["hook"] and not _HELP & set(arguments[1:]):
        # Likewise: an agent CLI waits for it at every event.
        _hold_closed_numbers()
        sys.exit(_hook(arguments[1:]))
    _open_closed_streams()
    from mcp_agent_mail.cli.app import run

    sys.exit(run(arguments))


def am_run() -> None:
    """`am-run ARGUMENTS`, an older program's name for `am run ARGUMENTS`."""
    _run_as("am-run")


def amctl() -> None:
    """`amctl env ARGUMENTS`, an older program's name for `am env ARGUMENTS`."""
    _run_as("amctl")


def _run_as(name: str) -> None:
    _end_quickly()
    _open_closed_streams()
    from mcp_agent_mail.cli.app import run

    sys.exit(run([name, *sys.argv[1:]]))


def _end_quickly() -> None:
    """What is left goes with the process: the collector's last walk over it took longer than many a command."""
    atexit.register(gc.freeze)


def _open_closed_streams() -> None:
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from mcp_agent_mail.core.standard_streams import open_closed_streams

        open_closed_streams()


def _hold_closed_numbers() -> None:
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from mcp_agent_mail.core.standard_streams import hold_closed_numbers

        hold_closed_numbers()


def _hook(arguments: list[str]) -> int:
    """Ctrl-C while it is loaded ends it as it does later: in silence, with 0."""
    try:
        from mcp_agent_mail.clients.hook.entry import main as hook

        return hook(arguments)
    except KeyboardInterrupt:
        return 0


def _is_guards(arguments: list[str]) -> bool:
    """What hooks run: everything else of `am guard` can wait for Typer, help too."""
    return arguments[:1] == ["guard"] and arguments[1:2] in (["hook"], ["check"]) and not _HELP & set(arguments[2:])


if __name__ == "__main__":
    main()
