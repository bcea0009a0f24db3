"""`am config`: the settings, their sources, and what is wrong with them. Nothing is opened."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mcp_agent_mail.cli.context import bad_settings, read_settings
from mcp_agent_mail.cli.env_files.port import set_port, show_port
from mcp_agent_mail.cli.exit_codes import ExitCode
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import Column, JsonFlag, print_json, print_rows, print_text
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.settings.server import LoadedSettings, load_settings
from mcp_agent_mail.core.settings.sources import Mistake, SettingNotice, SettingsError

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Show and check the settings, and set the port.",
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
    loaded = read_settings(env_file=Path(env_file) if env_file else None)
    rows = [{"name": name, "value": source.shown, "source": source.place} for name, source in loaded.sources.items()]
    if json:
        print_json({"settings": rows, "notices": _rows(loaded.notices)})
    else:
        print_rows(rows, _COLUMNS, nothing="")
        _tell_notices(loaded.notices)


@app.command("check", cls=LeanCommand)
def check(env_file: EnvFileOption = None, json: JsonFlag = False) -> int:
    """Say what is wrong with the settings, all of it at once.

    Each mistake with its file and line. CUSTOM_TOOLS is looked up, and no code of it loaded. Exit code 0
    means that the server could start with them, 78 that every mistake was listed.
    """
    try:
        loaded = load_settings(os.environ, cwd=Path.cwd(), env_file=Path(env_file) if env_file else None)
        _require_custom_tools(loaded)
    except SettingsError as wrong:
        if not json:
            _tell_notices(wrong.notices)
            raise bad_settings(wrong) from wrong
        print_json({"ok": False, "mistakes": [asdict(one) for one in wrong.mistakes], "notices": _rows(wrong.notices)})
        return ExitCode.CONFIG
    if json:
        print_json({"ok": True, "mistakes": [], "notices": _rows(loaded.notices)})
    else:
        _tell_notices(loaded.notices)
        print_text("The settings are good.")
    return ExitCode.DONE


def _require_custom_tools(loaded: LoadedSettings) -> None:
    """Raise SettingsError for names that a start would refuse without looking into any package."""
    names = loaded.settings.custom_tools or ()
    if not names:
        return
    # 0.1 s, for whoever has tools of other packages.
    from mcp_agent_mail.bootstrap.custom_tools import CustomToolsRefused, require_entry_points

    try:
        require_entry_points(names)
    except CustomToolsRefused as refused:
        source = loaded.sources["CUSTOM_TOOLS"]
        mistake = Mistake(
            name="CUSTOM_TOOLS",
            value=source.shown,
            place=source.place,
            expected="names of entry points that are there",
            hint=refused.text,
        )
        raise SettingsError([mistake], loaded.notices) from refused


app.command("show-port", cls=LeanCommand)(show_port)
app.command("set-port", cls=LeanCommand)(set_port)


def _rows(notices: Iterable[SettingNotice]) -> list[dict[str, str]]:
    return [asdict(notice) for notice in notices]


def _tell_notices(notices: Iterable[SettingNotice]) -> None:
    sys.stdout.flush()
    for notice in notices:
        sys.stderr.write(visible(f"{notice.level.capitalize()}: {notice}\n"))
