"""`am web`: open the pages for people in a browser, signed in as the operator."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.exit_codes import Misread
from mcp_agent_mail.cli.gateway.http import HttpGateway
from mcp_agent_mail.cli.gateway.port import require_server
from mcp_agent_mail.cli.gateway.rate_wait import WaitingGateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import JsonFlag, print_fields, print_json, shown_once, time_of
from mcp_agent_mail.core.errors import NotFound


class PagesMissing(NotFound):
    """The server that runs has no pages for people."""


app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("web", cls=LeanCommand)
def web(
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the link, and open nothing.")] = False,
    json: JsonFlag = False,
) -> None:
    """Open the server's pages in a browser, signed in as the operator.

    The link that is printed signs in one browser, once, within a minute: behind it one presses a button. Where there is
    no display, as over SSH, it is only printed. It needs a running server, and the operator's rights there.
    """
    server = require_server(load_context())
    if prefix := urlsplit(server.url).path.rstrip("/"):
        raise PagesMissing(
            f"The server is below {prefix} of an application, where it has no pages.", hint="am serve has them."
        )
    gateway = HttpGateway(server)
    gateway.connect()
    try:
        link = WaitingGateway(gateway).call("create_sign_in_link", {})
    finally:
        gateway.close()
    if not isinstance(link, dict) or not str(link.get("path", "")).startswith("/"):
        raise Misread("The server answered with no link.", hint="It may be of another version: am status.")
    url = server.url.rstrip("/") + link["path"]
    is_opened = not no_browser and has_display(os.environ, sys.platform) and _open(url)
    told = {"url": url, "expires_ts": link["expires_ts"], "opened": is_opened}
    if is_opened:  # Whoever asked has it.
        _print(told, json=json)
        return
    again = "It ends by itself within a minute. Run it again where its output is seen."
    with shown_once("A link that signs in was made", hint=again):
        _print(told, json=json)


def _print(told: Mapping[str, Any], *, json: bool) -> None:
    """As the command says it."""
    if json:
        print_json(told)
    else:
        print_fields([("url", told["url"]), ("expires", time_of(told["expires_ts"])), ("opened", told["opened"])])


def has_display(environ: Mapping[str, str], platform: str) -> bool:
    """Whether a browser that is started now is seen by whoever started it."""
    if environ.get("BROWSER"):
        return True
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    return platform in ("darwin", "win32") or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def _open(url: str) -> bool:
    """False where no browser could be started."""
    import webbrowser  # it looks through the whole PATH

    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
