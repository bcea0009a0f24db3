"""`am projects`: the projects of the store."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from mcp_agent_mail.cli.arguments import given_path
from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.exit_codes import ExitCode, tell_hint
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import (
    Column,
    ExactFlag,
    JsonFlag,
    at,
    print_fields,
    print_json,
    print_rows,
    print_text,
    shown_once,
    time_of,
)
from mcp_agent_mail.cli.progress import progress_bars
from mcp_agent_mail.cli.project_option import absolute_key, list_uri, resource_uri

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="List, show and archive projects, invite agents.",
)

_MOST_HOURS = 720

KeyArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="Its path or slug.")]

PathArgument = Annotated[
    str | None,
    typer.Argument(metavar="DIRECTORY", help="In the repository; else where we stand.", show_default=False),
]

FolderArgument = Annotated[
    str | None, typer.Argument(metavar="DIRECTORY", help="Else where we stand.", show_default=False)
]

_PROJECTS = (
    Column("id", "id", is_right=True),
    Column("slug", "slug", may_wrap=True),
    Column("created", at("created_at")),
    Column("archived", lambda row: "archived" if row.get("archived_at") else ""),
    Column("path", "human_key", may_wrap=True),
)

_CODES = (
    Column("id", "id", is_right=True),
    Column("status", "status"),
    Column("made", at("created_ts")),
    Column("expires", at("expires_ts")),
    Column("used by", lambda row: row["used_by"] or ""),
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
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000, help="At most this many.")] = 200,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List the projects, oldest first.

    Archived ones are left out unless asked for.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        projects = gateway.read(list_uri("projects", include_archived=archived or None, limit=limit))
    if json:
        print_json(projects)
    else:
        print_rows(projects, _PROJECTS, nothing="No projects yet: am projects ensure makes one.", exact=exact)


@app.command("show", cls=LeanCommand)
def show(project: KeyArgument, exact: ExactFlag = False, json: JsonFlag = False) -> None:
    """Show a project and its agents."""
    context = load_context()
    with open_gateway(context) as gateway:
        found = gateway.read(resource_uri("project", absolute_key(project)))
    if json:
        print_json(found)
        return
    told = [(name, found[name]) for name in ("id", "slug", "human_key")]
    print_fields([*told, ("created_at", time_of(found["created_at"]))])
    print_rows(found["agents"], _AGENTS, nothing="No agents yet.", exact=exact)


@app.command("ensure", cls=LeanCommand)
def ensure(path: FolderArgument = None, json: JsonFlag = False) -> None:
    """Make the project of a directory, or show it.

    Which project a directory is, PROJECT_IDENTITY_MODE says. Nothing is written there.
    """
    folder = given_path(path or ".", "DIRECTORY").resolve()
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.call("ensure_project", {"human_key": str(folder)})
    if json:
        print_json(answer)
        return
    told = [(name, answer[name]) for name in ("id", "slug", "human_key", "archive_path")]
    print_fields([*told, ("created_at", time_of(answer["created_at"]))])
    tell_hint(answer.get("hint"))


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


@app.command("invite", cls=LeanCommand)
def invite(
    project: KeyArgument,
    hours: Annotated[int, typer.Option("--hours", metavar="N", min=1, max=720, help="How long it lasts.")] = 24,
    json: JsonFlag = False,
) -> None:
    """Make a code that lets one new agent in.

    It is printed this once: the store keeps only its hash. The agent sends it as registration_token when it registers,
    or as X-Agent-Token, and gets a token of its own.
    """
    if not 1 <= hours <= _MOST_HOURS:
        raise typer.BadParameter(f"--hours takes 1 to {_MOST_HOURS}.")
    context = load_context()
    with open_gateway(context) as gateway:
        arguments = {"project_key": absolute_key(project), "lifetime_seconds": hours * 3_600}
        answer = gateway.call("create_join_code", arguments)
    number = answer["id"]
    revoke = f"am projects revoke-code {shlex.quote(project)} {number}"
    with shown_once(f"Join code {number} was made", hint=revoke):
        if json:
            print_json(answer)
        else:
            print_fields([(name, answer[name]) for name in ("id", "project", "join_code", "expires_ts")])


@app.command("codes", cls=LeanCommand)
def codes(project: KeyArgument, exact: ExactFlag = False, json: JsonFlag = False) -> None:
    """List the join codes of a project, newest first."""
    context = load_context()
    with open_gateway(context) as gateway:
        found = gateway.call("list_join_codes", {"project_key": absolute_key(project)})
    if json:
        print_json(found)
    else:
        print_rows(found, _CODES, nothing="No join codes: am projects invite makes one.", exact=exact)


@app.command("revoke-code", cls=LeanCommand)
def revoke_code(
    project: KeyArgument,
    code: Annotated[int, typer.Argument(metavar="ID", help="The number that `am projects codes` shows.")],
    json: JsonFlag = False,
) -> None:
    """Take back a join code that nobody has used."""
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.call("revoke_join_code", {"project_key": absolute_key(project), "join_code_id": code})
    if json:
        print_json(answer)
    else:
        print_fields([("id", answer["id"]), ("revoked", "yes")])


@app.command("mark-identity", cls=LeanCommand)
def mark_identity(
    path: PathArgument = None,
    private: Annotated[
        bool, typer.Option("--private", help="In the Git directory, for the work trees of this clone alone.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Write the file that makes a repository one project.

    It holds the uid of the directory's project. Commit it: then every clone and work tree is that project, whatever
    PROJECT_IDENTITY_MODE says. A marker that is there already is kept.
    """
    from mcp_agent_mail.cli.commands.project_markers import mark_identity as mark

    _show_mark(mark(load_context(), path, is_private=private), json=json)


@app.command("discovery-init", cls=LeanCommand)
def discovery_init(path: PathArgument = None, json: JsonFlag = False) -> None:
    """Write `.agent-mail.yaml`, the readable marker.

    It names the repository's project for people and programs, and counts like the marker file, after it. A file that is
    there already is kept.
    """
    from mcp_agent_mail.cli.commands.project_markers import init_discovery

    _show_mark(init_discovery(load_context(), path), json=json)


@app.command("adopt", cls=LeanCommand)
def adopt(
    source: Annotated[str, typer.Argument(metavar="SRC", help="The project that goes, by path or slug.")],
    target: Annotated[str, typer.Argument(metavar="DST", help="The project that takes it in.")],
    apply: Annotated[bool, typer.Option("--apply", help="Do it; else only the plan is shown.")] = False,
    json: JsonFlag = False,
) -> int:
    """Make one project part of another, with its history.

    Agents, mail, links, reservations and the archive move; the old path, slug and uid lead to DST. Refused where both
    have an agent or a thread of one name. With --apply the server must be stopped; cut off, it is finished by the
    next start or by running it again. Exit codes: 0 done, 1 refused, or some is not in Git yet.
    """
    from mcp_agent_mail.cli.offline.adopt import adopt_offline, plan_offline

    context = load_context()
    context.require_store()
    keys = (absolute_key(source), absolute_key(target))
    with progress_bars() as bars:
        if apply:
            answer = adopt_offline(context.settings, *keys, progress=bars.bar("bringing events into Git"))
        else:
            answer = plan_offline(context.settings, *keys)
    if json:
        print_json(answer)
    else:
        print_fields(list(answer.items()))
        if not apply:
            print_text("\nNothing was changed. With the server stopped, --apply does it.\n")
    return ExitCode.REFUSED if answer["problem"] else ExitCode.DONE


# Plain JSON, as `--json` prints it.
def _show_mark(mark: dict[str, Any], *, json: bool) -> None:
    if json:
        print_json(mark)
    else:
        print_fields([(name, mark[name]) for name in ("file", "written", "project_uid", "slug", "human_key")])


def _change(tool: str, project: str, *, json: bool) -> None:
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.call(tool, {"project_key": absolute_key(project)})
    if json:
        print_json(answer)
    else:
        print_fields([(name, answer[name]) for name in ("slug", "human_key", "archived", "archived_at")])
