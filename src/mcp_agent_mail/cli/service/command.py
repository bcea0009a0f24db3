"""`am service`: the server with a person's login."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import JsonFlag, print_fields, print_json
from mcp_agent_mail.cli.service.install import ServiceRequest, ServiceState
from mcp_agent_mail.cli.service.install import install as install_service
from mcp_agent_mail.cli.service.install import look as look_at_service
from mcp_agent_mail.cli.service.install import uninstall as uninstall_service
from mcp_agent_mail.cli.service.surroundings import ports_of, read_surroundings

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Start the server with your login.",
)


@app.callback()
def service() -> None:
    """Start the server with your login."""


@app.command("install", cls=LeanCommand)
def install(
    skip_port_check: Annotated[
        bool, typer.Option("--skip-port-check", help="Do not ask who listens on the server's ports.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Have the server started with your login, and now.

    By a user unit of systemd; a file for launchd and one for the task scheduler of Windows are
    written there and not proven. It is the server of this command's environment: each setting there is told to
    it, but secrets, which are named. A .env of this folder is read if AGENT_MAIL_ENV_FILE names it, else
    refused. A port of the server that is another program's is refused.
    """
    told = read_surroundings("am service install", {}, os.environ)
    request = ServiceRequest(surroundings=told, ports=ports_of(told.settings), skips_check=skip_port_check)
    _show(install_service(request), as_json=json)


@app.command("uninstall", cls=LeanCommand)
def uninstall(json: JsonFlag = False) -> None:
    """Stop it and start it no more; the store and its mail stay."""
    _show(uninstall_service(), as_json=json)


@app.command("status", cls=LeanCommand)
def status(json: JsonFlag = False) -> None:
    """Say whether it is installed, and whether it runs."""
    _show(look_at_service(), as_json=json)


def _show(state: ServiceState, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "platform": state.platform.value,
                "path": str(state.path),
                "installed": state.is_installed,
                "active": state.is_active,
                **({} if state.doors is None else {"doors": list(state.doors)}),
                "notes": state.notes,
            }
        )
        return
    active = {True: "yes", False: "no", None: "nobody can say"}[state.is_active]
    fields: list[tuple[str, object]] = [
        ("by", state.platform.value),
        ("file", str(state.path)),
        ("installed", "yes" if state.is_installed else "no"),
        ("running", active),
        *([] if state.doors is None else [("doors", ", ".join(state.doors) or "none")]),
        *(("note", note) for note in state.notes),
    ]
    print_fields(fields)
