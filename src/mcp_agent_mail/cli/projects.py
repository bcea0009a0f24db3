"""`am projects`: the projects of the store."""

from __future__ import annotations

from typing import Annotated

import typer

from mcp_agent_mail.cli.gateway import open_gateway
from mcp_agent_mail.cli.lean import LeanCommand, LeanGroup
from mcp_agent_mail.cli.present import Column, JsonFlag, at, print_fields, print_json, print_rows
from mcp_agent_mail.cli.surroundings import look_around
from mcp_agent_mail.cli.where import absolute_key, list_uri, resource_uri

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="List, show and archive projects.",
)

KeyArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="Its path or slug.")]

_PROJECTS = (
    Column("id", "id", is_right=True),
    Column("slug", "slug"),
    Column("created", at("created_at")),
    Column("archived", lambda row: "archived" if row.get("archived_at") else ""),
    Column("path", "human_key", may_wrap=True),
)

_AGENTS = (
    Column("name", "name"),
    Column("program", "program"),
    Column("model", "model"),
    Column("last active", at("last_active_ts")),
    Column("task", "task_description", may_wrap=True),
)


@app.command("list", cls=LeanCommand)
def list_projects(
    archived: Annotated[bool, typer.Option("--archived", help="Archived projects too.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="At most this many (1 to 1000).")] = 200,
    json: JsonFlag = False,
) -> None:
    """List the projects, oldest first.

    Archived ones are left out unless asked for.
    """
    around = look_around()
    with open_gateway(around) as gateway:
        projects = gateway.read(list_uri("projects", include_archived=archived or None, limit=limit))
    if json:
        print_json(projects)
    else:
        print_rows(projects, _PROJECTS, nothing="No projects yet: an agent's ensure_project makes one.")


@app.command("show", cls=LeanCommand)
def show(project: KeyArgument, json: JsonFlag = False) -> None:
    """Show a project and its agents."""
    around = look_around()
    with open_gateway(around) as gateway:
        found = gateway.read(resource_uri("project", absolute_key(project)))
    if json:
        print_json(found)
        return
    print_fields([(name, found[name]) for name in ("id", "slug", "human_key", "created_at")])
    print_rows(found["agents"], _AGENTS, nothing="No agents yet.")


@app.command("archive", cls=LeanCommand)
def archive(project: KeyArgument, json: JsonFlag = False) -> None:
    """Archive a project; nothing is deleted.

    It refuses writes and leaves the lists until it is unarchived.
    """
    _change("archive_project", project, json=json)


@app.command("unarchive", cls=LeanCommand)
def unarchive(project: KeyArgument, json: JsonFlag = False) -> None:
    """Bring an archived project back."""
    _change("unarchive_project", project, json=json)


def _change(tool: str, project: str, *, json: bool) -> None:
    around = look_around()
    with open_gateway(around) as gateway:
        answer = gateway.call(tool, {"project_key": absolute_key(project)})
    if json:
        print_json(answer)
    else:
        print_fields([(name, answer[name]) for name in ("slug", "human_key", "archived", "archived_at")])
