"""The server process from its first line to its exit code."""

from __future__ import annotations

import gc
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from mcp_agent_mail.bootstrap.custom_tools import CustomToolsRefused
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.failpoints import NO_FAULTS, Faults
from mcp_agent_mail.core.logging import configure_logs, log_line
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.server.lifespan import Announce, Running, run_server
from mcp_agent_mail.server.observability.call_lines import CallLines
from mcp_agent_mail.server.observability.line_queue import LineQueue, queued_output
from mcp_agent_mail.server.process_end import process_end
from mcp_agent_mail.server.transport.listener import CannotListen, PortTaken
from mcp_agent_mail.store.engine.lock import StoreInUse


class ServeExit(IntEnum):
    """How `serve` ends, by sysexits.h where it has a word for it."""

    STOPPED = 0
    FAILED = 1
    CANNOT_LISTEN = 71
    STORE_IN_USE = 75
    BAD_CONFIGURATION = 78


def announce_on_stdout(running: Running) -> None:
    """One line for people and scripts: where the server listens, and which store it serves. A line more for each port
    that a door has to itself.
    """
    where = f"{running.bound_url}{running.mcp_path}"
    if running.bound_url != running.url:
        where += f" (every address of this machine; here {running.url}{running.mcp_path})"
    sys.stdout.write(f"mcp-agent-mail {running.version} serves {where} from {running.storage_root}\n")
    for url, door in running.doors.items():
        sys.stdout.write(f"{door.value} at {url}\n")
    sys.stdout.flush()


def serve(
    settings: Settings,
    *,
    announce: Announce = announce_on_stdout,
    faults: Faults = NO_FAULTS,
    quiet: bool = False,
    handed: socket.socket | None = None,
) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP; `announce` is called once requests are answered. On a terminal calls that
    change something are told, unless `quiet`. A listening socket that was `handed` over is used in the place of one's
    own. Returns the exit code, or ends the process with it where something was left behind.
    """
    # A full collection walks every object of every import for nothing; it is switched on again after the start.
    gc.disable()
    with process_end() as end, queued_output(_lines_left_out) as terminal:
        configure_logs(
            level=settings.log_level, rich_enabled=settings.log_rich_enabled, json_enabled=settings.log_json_enabled
        )
        quiet_fastmcp()
        lines = _call_lines(terminal) if terminal is not None and not quiet and is_watched(settings) else None
        try:
            end.run(run_server(settings, announce, faults, lines, handed=handed))
        except AgentMailError as error:
            end.code = tell_refusal(error)
    return end.code


def _lines_left_out(count: int) -> str:
    return log_line(
        "mcp_agent_mail.server",
        "lines were left out here: standard error is read too slowly",
        {"lines": count},
    )


def _call_lines(terminal: LineQueue) -> CallLines:
    """In colours unless NO_COLOR is set or the terminal is a dumb one."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "dumb") == "dumb"
    return CallLines(terminal, coloured=not is_plain)


def is_watched(settings: Settings) -> bool:
    """Whether somebody sees standard output, and no log is set to tell of calls, or to be quiet, instead."""
    is_logged_otherwise = settings.log_json_enabled or settings.tools_log_enabled
    return sys.stdout.isatty() and not is_logged_otherwise and settings.log_level in ("DEBUG", "INFO")


def tell_refusal(error: AgentMailError) -> ServeExit:
    """Why it does not start, then the next step, on stderr; the exit code."""
    sys.stderr.write(f"{visible(error.message)}\n{visible(error.hint)}\n")
    if isinstance(error, StoreInUse):
        return ServeExit.STORE_IN_USE
    if isinstance(error, PortTaken | CannotListen):
        return ServeExit.CANNOT_LISTEN
    if isinstance(error, CustomToolsRefused):
        return ServeExit.BAD_CONFIGURATION
    return ServeExit.FAILED


def quiet_fastmcp() -> None:
    """Keep FastMCP from reading settings of its own: it does so at import, and from a `.env` in the current folder.

    Its log handler, its rich tracebacks and its spans would cost time on every call.
    """
    for name in [name for name in os.environ if name.startswith("FASTMCP_")]:
        del os.environ[name]
    os.environ.update(
        FASTMCP_ENV_FILE=os.devnull,
        FASTMCP_LOG_ENABLED="false",
        FASTMCP_ENABLE_RICH_TRACEBACKS="false",
        FASTMCP_TELEMETRY_MODE="off",
        FASTMCP_CHECK_FOR_UPDATES="off",
    )


@contextmanager
def fastmcp_quieted() -> Iterator[None]:
    """FastMCP may be imported inside, as `quiet_fastmcp` has it; the environment is afterwards what it was, since the
    process is not ours alone.
    """
    before = {name: value for name, value in os.environ.items() if name.startswith("FASTMCP_")}
    quiet_fastmcp()
    try:
        yield
    finally:
        for name in [name for name in os.environ if name.startswith("FASTMCP_")]:
            del os.environ[name]
        os.environ.update(before)
