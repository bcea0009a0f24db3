"""`am init`: a `.env` to begin with, in which every setting stands as a comment."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from mcp_agent_mail.cli.arguments import given_path
from mcp_agent_mail.cli.env_files.env_file import OTHER_FILE, EnvFileUnfit, chosen_path, write_new
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import JsonFlag, print_fields, print_json
from mcp_agent_mail.core.disk_space import is_want_of_room
from mcp_agent_mail.core.settings.env_text import NO_ROWS, OWN_HEAD, env_text

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("init", cls=LeanCommand)
def init(
    env_file: Annotated[
        str | None,
        typer.Option("--env-file", metavar="FILE", help="Write it there, not where commands look for it."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Write a .env with every setting, each commented out.

    So it changes nothing until you take a # away. It is the file that every command reads:
    ~/.config/mcp-agent-mail/.env, or what AGENT_MAIL_ENV_FILE names. For you alone (0600), and never
    over a file that is there. HTTP_BEARER_TOKEN has a new random value in it, for the day when you
    listen beyond this machine.
    """
    path = chosen_path(None if env_file is None else given_path(env_file, "--env-file"))
    write_template(path)
    if json:
        print_json({"path": str(path)})
    else:
        print_fields([("path", str(path)), ("next", "am serve, then am setup in another shell")])


def write_template(path: Path, *, port: int | None = None) -> None:
    """Write the file anew, with `port` in force if there is one. Raises EnvFileThere, and EnvFileUnfit where it cannot
    be made.
    """
    active = NO_ROWS if port is None else {"HTTP_PORT": str(port)}
    token = {"HTTP_BEARER_TOKEN": secrets.token_urlsafe(32)}
    try:
        write_new(path, env_text(OWN_HEAD, suggested=token, active=active))
    except OSError as failed:
        if is_want_of_room(failed):
            raise
        raise EnvFileUnfit(
            f"{path} was not written: {failed.strerror or failed}.", hint=OTHER_FILE, data={"path": str(path)}
        ) from failed
