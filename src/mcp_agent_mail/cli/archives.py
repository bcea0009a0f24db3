"""`am archive`: what Git holds of a project, read from its files on this machine."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_agent_mail.cli.gateway import open_gateway
from mcp_agent_mail.cli.lean import LeanCommand, LeanGroup
from mcp_agent_mail.cli.outcome import NoServer
from mcp_agent_mail.cli.present import Column, JsonFlag, at, print_json, print_rows
from mcp_agent_mail.cli.surroundings import Surroundings, look_around
from mcp_agent_mail.cli.where import ProjectOption, project_key, resource_uri
from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.features.archiving.launch import PROJECTS_FOLDER

if TYPE_CHECKING:
    from mcp_agent_mail.archive.history import HistoryEntry

MAX_COMMITS = 1_000
_SHORT_HASH = 12

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Read the history of a project's archive.",
)

_COMMITS = (
    Column("commit", lambda row: str(row["hexsha"])[:_SHORT_HASH]),
    Column("when", at("authored_at")),
    Column("agents", "agents"),
    Column("summary", "summary", may_wrap=True),
)


@app.callback()
def archive() -> None:
    """Read the history of a project's archive."""


@app.command("log", cls=LeanCommand)
def log(
    project: ProjectOption = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only commits it acted in.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="At most this many (1 to 1000).")] = 20,
    json: JsonFlag = False,
) -> None:
    """List the commits of a project's archive, newest first.

    `git log` in the archive's folder says the same and more.
    """
    around = look_around()
    path = _archive_path(around, project_key(project, around))
    # GitPython: 0.1 s, for this command alone.
    from mcp_agent_mail.archive.history import read_history

    entries = read_history(path, agent=agent, limit=max(1, min(limit, MAX_COMMITS)))
    rows = [_row(entry) for entry in entries]
    if json:
        print_json(rows)
    else:
        print_rows(rows, _COMMITS, nothing="No commit of that agent.")


# A HistoryEntry as JSON has it.
def _row(entry: HistoryEntry) -> dict[str, Any]:
    row = asdict(entry)
    row["agents"] = list(entry.agents)  # a table shows lists with commas
    row["authored_at"] = iso(row.pop("authored_ts"))
    return row


def _archive_path(around: Surroundings, key: str) -> Path:
    with open_gateway(around) as gateway:
        found = gateway.read(resource_uri("project", key))
    path = around.storage_root / PROJECTS_FOLDER / str(found["slug"])
    if not path.is_dir():
        raise NoServer(
            f"The archive of {found['human_key']} is not on this machine: {path} does not exist.",
            hint="Run this where the server's STORAGE_ROOT is; `am status` says whether the archive has caught up.",
        )
    return path
