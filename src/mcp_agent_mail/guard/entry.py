"""What a Git hook and `am guard check` run: `main(arguments)` gives the exit code.

Exit codes. Hooks: 0 the commit or push may go on, 1 it is refused. `check`: 0 free, 1 held by another
agent, 2 not a question about this repository's files, 69 it could not be found out and
AGENT_MAIL_GUARD_ON_ERROR=block.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import IntEnum

from mcp_agent_mail.core.settings.client import read_client_settings
from mcp_agent_mail.guard.session import Session, say

HOOKS = {"pre-commit": "commit", "pre-push": "push"}


class Exit(IntEnum):
    PASS = 0
    REFUSED = 1
    USAGE = 2
    UNAVAILABLE = 69


def main(arguments: Sequence[str]) -> int:
    """`hook NAME ARGS…` or `check PATH…`. Never raises but for being interrupted."""
    match list(arguments):
        case ["hook", str(name), *rest] if name in HOOKS:
            return _hook(name, rest)
        case ["check", *rest]:
            return _check(rest)
        case _:
            say([f"usage: am guard hook {'|'.join(HOOKS)} [ARGUMENT…], or am guard check [--json] PATH… | --stdin"])
            return Exit.USAGE


def _hook(name: str, arguments: Sequence[str]) -> int:
    from mcp_agent_mail.guard.hook import run_hook  # noqa: PLC0415  # `check` starts without it

    stdin = sys.stdin.buffer.read() if name == "pre-push" else b""
    session = Session(name, HOOKS[name], read_client_settings(os.environ))
    try:
        session.tell_mistakes()
        return Exit.PASS if run_hook(session, arguments, stdin) else Exit.REFUSED
    except Exception as failed:  # noqa: BLE001  # whatever it is: never blocks or passes without a word
        return Exit.PASS if session.fail(_told(failed)) else Exit.REFUSED
    finally:
        session.close()


def _check(arguments: Sequence[str]) -> int:
    from mcp_agent_mail.guard.check import CheckArguments, PathOutside, read_arguments, run_check  # noqa: PLC0415  # hooks start without

    asked = read_arguments(arguments)
    if not isinstance(asked, CheckArguments):
        say([asked])
        return Exit.USAGE
    session = Session("check", "edit", read_client_settings(os.environ))
    try:
        session.tell_mistakes()
        return Exit.PASS if run_check(session, asked) else Exit.REFUSED
    except PathOutside as outside:
        say([str(outside)])
        return Exit.USAGE
    except Exception as failed:  # noqa: BLE001  # as above
        return Exit.PASS if session.fail(_told(failed)) else Exit.UNAVAILABLE
    finally:
        session.close()


def _told(failed: Exception) -> str:
    """Our own refusals are written for people; of a bug its kind and where it happened."""
    if type(failed).__module__.startswith("mcp_agent_mail."):
        return str(failed)
    trace = failed.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" in {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"  # noqa: PTH119
    return f"a fault of the guard itself: {type(failed).__name__}: {failed}{where}"
