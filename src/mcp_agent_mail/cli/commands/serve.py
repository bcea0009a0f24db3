"""`am serve`: the server process. Everything about serving is in `server`; here are its options."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_agent_mail.cli.context import read_client_settings, read_settings
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.settings.server import LoadedSettings
from mcp_agent_mail.core.settings.sources import HANDED_SOCKET

if TYPE_CHECKING:
    import socket

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("serve", cls=LeanCommand)
def serve(
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Address to listen on, instead of HTTP_HOST.")
    ] = None,
    port: Annotated[
        str | None, typer.Option("--port", metavar="PORT", help="Port instead of HTTP_PORT; 0 takes a free one.")
    ] = None,
    env_file: Annotated[
        str | None,
        typer.Option("--env-file", metavar="FILE", help="Read this .env instead of the one that would be chosen."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line for each call on the terminal.")] = False,
    stdio: Annotated[
        bool,
        typer.Option("--stdio", help="Speak MCP on stdin and stdout for the one running server; start it if need be."),
    ] = False,
) -> int:
    """Run the server until Ctrl-C, SIGTERM, or its terminal closes.

    Its address is printed once it answers; on a terminal then a line for each call that changes
    something: who, what, to whom, how long. Exit codes: 0 stopped, 71 it cannot listen there, 75 the
    store belongs to another server, 78 bad configuration.

    A listening socket that systemd hands over (LISTEN_FDS) is used in the place of HTTP_HOST and HTTP_PORT.

    With --stdio it is no server of its own: it passes everything on to the server of the store, and
    starts one in the background if none runs. It ends with its input.
    """
    file = Path(env_file) if env_file else None
    if stdio:
        return _serve_stdio(host or port, file)
    from mcp_agent_mail.server.transport.handed_listener import take_handed_listener

    try:
        handed = take_handed_listener(os.environ, os.getpid())
    except AgentMailError as error:
        from mcp_agent_mail.server.serve import tell_refusal

        return tell_refusal(error)
    if handed is not None:
        with handed:
            return _serve_handed(handed, host or port, file, quiet=quiet)
    given = {"HTTP_HOST": host, "HTTP_PORT": port}
    overrides = {name: value for name, value in given.items() if value is not None}
    return _serve(read_settings(overrides=overrides, env_file=file), quiet=quiet)


def _serve_handed(handed: socket.socket, address: str | None, env_file: Path | None, *, quiet: bool) -> int:
    """Settings are judged by what the socket is bound to, not by what they say of it."""
    if address is not None:
        raise typer.BadParameter("A listening socket was handed over (LISTEN_FDS): no --host, no --port.")
    from mcp_agent_mail.server.transport.handed_listener import address_of

    bound_host, bound_port = address_of(handed)
    overrides = {"HTTP_HOST": bound_host, "HTTP_PORT": str(bound_port)}
    loaded = read_settings(overrides=overrides, env_file=env_file, overridden_by=HANDED_SOCKET)
    return _serve(loaded, quiet=quiet, handed=handed)


def _serve(loaded: LoadedSettings, *, quiet: bool, handed: socket.socket | None = None) -> int:
    for notice in loaded.notices:
        sys.stderr.write(visible(f"{notice.level.capitalize()}: {notice}\n"))

    # As `serve` does for whoever begins there: walks over what it imports took a tenth of our imports.
    gc.disable()
    from mcp_agent_mail.server.serve import serve as run_server

    return run_server(loaded.settings, quiet=quiet, handed=handed)


def _serve_stdio(address: str | None, env_file: Path | None) -> int:
    if address is not None:
        raise typer.BadParameter(
            "--stdio finds the server by STORAGE_ROOT, or by AGENT_MAIL_URL: no --host, no --port."
        )
    from mcp_agent_mail.cli.stdio.proxy import serve_stdio

    return serve_stdio(read_client_settings(env_file), env_file=env_file)
