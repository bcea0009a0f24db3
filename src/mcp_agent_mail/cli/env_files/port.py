"""`am config show-port` and `set-port`: the port in the one `.env` that counts. Registered with `am config`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from mcp_agent_mail.cli.arguments import given_path
from mcp_agent_mail.cli.context import bad_settings, read_settings
from mcp_agent_mail.cli.env_files.env_file import EnvFileThere, chosen_path, set_value
from mcp_agent_mail.cli.env_files.init import write_template
from mcp_agent_mail.cli.output import Column, JsonFlag, print_fields, print_json, print_rows
from mcp_agent_mail.cli.service.port_check import is_ours, is_taken
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.settings.server import load_settings
from mcp_agent_mail.core.settings.sources import COMMAND_LINE, SettingNotice, SettingsError
from mcp_agent_mail.core.store_owner import read_owner

_NAME = "HTTP_PORT"
_MOST = 65_535

EnvFileOption = Annotated[
    str | None,
    typer.Option("--env-file", metavar="FILE", help="This .env instead of the one that would be chosen."),
]
_COLUMNS = (Column("port", "port", is_right=True), Column("source", "source", is_whole=True))


def show_port(env_file: EnvFileOption = None, json: JsonFlag = False) -> None:
    """Show the port that a server started here listens on.

    With what says so: the environment, a line of the .env, or default.
    """
    loaded = read_settings(env_file=_given(env_file))
    row = {"port": loaded.settings.http_port, "source": loaded.sources[_NAME].place}
    if json:
        print_json(row)
    else:
        print_rows([row], _COLUMNS, nothing="")


def set_port(
    port: Annotated[
        int, typer.Argument(metavar="PORT", min=0, max=_MOST, help="0: any free one, printed by am serve.")
    ],
    env_file: EnvFileOption = None,
    json: JsonFlag = False,
) -> None:
    """Write HTTP_PORT into the .env that counts.

    In one step, and nothing else in it changes: mode, comments, order. Without a file one is written as
    by am init. A server that runs keeps its port until it is started again; clients that am setup has set
    up want am setup again. Who listens there already is told.
    """
    path = chosen_path(_given(env_file))
    _require_fit(port, path)
    row = {"port": port, "path": str(path), "created": _set(path, port)}
    if json:
        print_json(row)
    else:
        print_fields(list(row.items()))
    _tell_what_else_counts(port, path)


def _set(path: Path, port: int) -> bool:
    """Was there no file yet?"""
    if set_value(path, _NAME, str(port)) is not None:
        return False
    try:
        write_template(path, port=port)
    except EnvFileThere:
        # Another command has made it meanwhile, unless it is a link to nothing.
        if set_value(path, _NAME, str(port)) is None:
            raise
        return False
    return True


def _given(env_file: str | None) -> Path | None:
    return None if env_file is None else given_path(env_file, "--env-file")


def _require_fit(port: int, path: Path) -> None:
    """Raise BadSettings for a port that no server could be started with: mistakes elsewhere are not this command's."""
    try:
        load_settings(
            os.environ, cwd=Path.cwd(), overrides={_NAME: str(port)}, env_file=path if path.is_file() else None
        )
    except SettingsError as wrong:
        ours = [one for one in wrong.mistakes if one.place == COMMAND_LINE or f"{_NAME} and" in one.hint]
        if ours:
            raise bad_settings(SettingsError(ours)) from wrong


def _tell_what_else_counts(port: int, path: Path) -> None:
    """What stands against the new line, which is in the file all the same."""
    if said := os.environ.get(_NAME, "").strip():
        _tell(f"{_NAME}={said} in the environment beats the file: what is started from here listens there.")
    try:
        loaded = load_settings(os.environ, cwd=Path.cwd(), env_file=path)
    except SettingsError as wrong:
        _tell_duplicates(wrong.notices)
        _tell(f"{len(wrong.mistakes)} of the settings cannot be used; see am config check.")
        return
    _tell_duplicates(loaded.notices)
    owner = read_owner(loaded.settings.storage_root)
    is_there = owner is not None and owner.url is not None and owner.url.endswith(f":{port}")
    if owner is not None and owner.url is not None and not is_there:
        _tell(f"The server at {owner.url} keeps its port until it is started again.")
    if port and not is_there:
        _tell_who_has_it(loaded.settings.http_host, port)


def _tell_who_has_it(host: str, port: int) -> None:
    if not is_taken(host, port):
        return
    who = "An agent-mail server of another store" if is_ours(host, port) else "Another program"
    _tell(f"{who} listens on port {port} now: yours cannot start there. Choose another port, or stop that one.")


def _tell_duplicates(notices: Iterable[SettingNotice]) -> None:
    for notice in notices:
        if notice.name == _NAME:
            _tell(str(notice))


def _tell(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(visible(f"Notice: {text}\n"))
