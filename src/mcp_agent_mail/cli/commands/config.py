"""`am config`: the settings, their sources, and what is wrong with them. Nothing is opened."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mcp_agent_mail.cli.context import read_settings
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import Column, JsonFlag, print_json, print_rows, print_text
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.settings.server import LoadedSettings

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Show and check the settings.",
)

EnvFileOption = Annotated[
    str | None,
    typer.Option("--env-file", metavar="FILE", help="Read this .env instead of the one that would be chosen."),
]

_COLUMNS = (Column("name", "name"), Column("value", "value", may_wrap=True), Column("source", "source", may_wrap=True))


@app.command("show", cls=LeanCommand)
def show(env_file: EnvFileOption = None, json: JsonFlag = False) -> None:
    """Show every setting, its value and its source.

    Secrets are shown as ***.
    """
    loaded = _read(env_file)
    rows = [{"name": name, "value": source.shown, "source": source.place} for name, source in loaded.sources.items()]
    if json:
        print_json({"settings": rows, "notices": _notices(loaded)})
    else:
        print_rows(rows, _COLUMNS, nothing="")
        _tell_notices(loaded)


@app.command("check", cls=LeanCommand)
def check(env_file: EnvFileOption = None, json: JsonFlag = False) -> None:
    """Say what is wrong with the settings.

    Exit code 0 means that the server could start with them, 78 that every mistake was listed.
    """
    loaded = _read(env_file)
    if json:
        print_json({"ok": True, "notices": _notices(loaded)})
    else:
        _tell_notices(loaded)
        print_text("The settings are good.")


def _read(env_file: str | None) -> LoadedSettings:
    return read_settings(env_file=Path(env_file) if env_file else None)


def _notices(loaded: LoadedSettings) -> list[dict[str, str]]:
    return [
        {"level": notice.level, "name": notice.name, "message": notice.message, "place": notice.place}
        for notice in loaded.notices
    ]


def _tell_notices(loaded: LoadedSettings) -> None:
    sys.stdout.flush()
    for notice in loaded.notices:
        sys.stderr.write(visible(f"{notice.level.capitalize()}: {notice}\n"))
