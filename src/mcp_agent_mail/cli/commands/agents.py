"""`am agents`: the agents of a project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from mcp_agent_mail.cli.arguments import UsageMistake
from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import (
    Column,
    ExactFlag,
    JsonFlag,
    at,
    is_terminal,
    print_fields,
    print_gap,
    print_json,
    print_rows,
    time_of,
)
from mcp_agent_mail.cli.project_option import ProjectOption, project_key, resource_uri
from mcp_agent_mail.cli.row_flags import UNREAD

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="List, show and retire agents.",
)

NameArgument = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's name.")]
WindowArgument = Annotated[str, typer.Argument(metavar="WINDOW", help="Its UUID, as am agents windows shows it.")]


def _other_names(agent: Mapping[str, Any]) -> str:  # Any: JSON
    """Those that other systems' users know it by, each once."""
    return ", ".join(
        dict.fromkeys(name for alias in agent.get("aliases", ()) if (name := alias["name"]) != agent["name"])
    )


_AGENTS = (
    Column("name", "name"),
    Column("program", "program"),
    Column("model", "model"),
    Column("unread", "unread_count", is_right=True, style=lambda row: UNREAD if row.get("unread_count") else ""),
    Column("last active", at("last_active_ts")),
    Column("retired", lambda row: "retired" if row.get("retired_at") else ""),
    Column("task", "task_description", may_wrap=True),
    # The last, so that whoever cuts columns out of the others goes on.
    Column("listening", "listening_via"),
    Column("also called", _other_names),
)

_STATUS = ("status", "status_note")
_WINDOWS = (
    Column("window", "window_uuid", is_whole=True),
    Column("name", "display_name"),
    Column("last active", at("last_active_ts")),
    Column("expires", at("expires_ts")),
    Column("created", at("created_ts")),
)

_COMMITS = (
    Column("commit", "hexsha", is_whole=True),
    Column("authored", at("authored_ts")),
    Column("summary", "summary", may_wrap=True),
)


@app.command("list", cls=LeanCommand)
def list_agents(
    project: ProjectOption = None,
    retired: Annotated[bool, typer.Option("--retired", help="Retired agents too.")] = False,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List a project's agents, last active first."""
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.read(resource_uri("agents", project_key(project, context), include_retired=retired or None))
    if json:
        print_json(answer)
    else:
        agents = answer["agents"]
        has_names = not is_terminal() or any(_other_names(agent) for agent in agents)
        columns = _AGENTS if has_names else _AGENTS[:-1]  # A pipe's columns are always the same.
        print_rows(agents, columns, nothing=f"No agents yet in {answer['project']['human_key']}.", exact=exact)


@app.command("show", cls=LeanCommand)
def show(name: NameArgument, project: ProjectOption = None, exact: ExactFlag = False, json: JsonFlag = False) -> None:
    """Show an agent and its latest commits in the archive."""
    context = load_context()
    with open_gateway(context) as gateway:
        agent = gateway.call("whois", {"project_key": project_key(project, context), "agent_name": name})
    if json:
        print_json(agent)
        return
    shown = ("id", "name", "program", "model", "task_description", "status", "status_note")
    times = ("busy_since", "inception_ts", "last_active_ts", "retired_at")
    print_fields(
        [
            *((key, agent.get(key)) for key in shown),
            *((("also called", names),) if (names := _other_names(agent)) else ()),
            ("listening", agent["listening_via"] or "no"),
            *((key, time_of(agent.get(key))) for key in times),
        ]
    )
    print_gap()
    print_rows(agent["recent_commits"], _COMMITS, nothing="No commits yet.", exact=exact)


@app.command("retire", cls=LeanCommand)
def retire(name: NameArgument, project: ProjectOption = None, json: JsonFlag = False) -> None:
    """Retire an agent: no new mail in or out.

    Its mail and its name stay. Whom you retire comes back by am agents unretire alone.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.call("deregister_agent", {"project_key": project_key(project, context), "agent_name": name})
    if json:
        print_json(answer)
    else:
        print_fields([("retired", answer["agent_name"]), ("retired_at", answer["retired_at"])])


@app.command("unretire", cls=LeanCommand)
def unretire(name: NameArgument, project: ProjectOption = None, json: JsonFlag = False) -> None:
    """Bring a retired agent back."""
    context = load_context()
    with open_gateway(context) as gateway:
        agent = gateway.call("unretire_agent", {"project_key": project_key(project, context), "agent_name": name})
    if json:
        print_json(agent)
    else:
        print_fields([("name", agent["name"]), ("program", agent["program"]), ("model", agent["model"])])


@app.command("status", cls=LeanCommand)
def status(
    name: NameArgument,
    word: Annotated[
        Literal["ready", "busy", "do_not_disturb", "offline"] | None,
        typer.Argument(metavar="STATUS", help="ready, busy, do_not_disturb or offline; without one it is shown."),
    ] = None,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Why; left out, there is none.")] = None,
    project: ProjectOption = None,
    json: JsonFlag = False,
) -> None:
    """Show or set whether an agent says that it is free.

    It is shown to its peers, and stops no mail. What you set is recorded as yours.
    """
    if word is None and note is not None:
        raise UsageMistake("--note goes with a STATUS.")
    context = load_context()
    about = {"project_key": project_key(project, context), "agent_name": name}
    with open_gateway(context) as gateway:
        if word is None:
            found = gateway.call("whois", {**about, "include_recent_commits": False})
            answer = {"agent": found["name"], **{key: found[key] for key in _STATUS}}
        else:
            answer = gateway.call("set_status", {**about, "status": word, "note": note})
    if json:
        print_json(answer)
    else:
        print_fields([("agent", answer["agent"]), *((key, answer.get(key)) for key in _STATUS)])


@app.command("windows", cls=LeanCommand)
def windows(project: ProjectOption = None, exact: ExactFlag = False, json: JsonFlag = False) -> None:
    """List the windows of clients that give agents their names."""
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.call("list_window_identities", {"project_key": project_key(project, context)})
    if json:
        print_json(answer)
    else:
        print_rows(answer["identities"], _WINDOWS, nothing="No client has told of a window.", exact=exact)


@app.command("rename-window", cls=LeanCommand)
def rename_window(
    window: WindowArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What who registers from it without a name is called.")],
    project: ProjectOption = None,
    json: JsonFlag = False,
) -> None:
    """Change the name that a window gives; agents keep theirs."""
    context = load_context()
    with open_gateway(context) as gateway:
        arguments = {"project_key": project_key(project, context), "window_uuid": window, "new_display_name": name}
        answer = gateway.call("rename_window", arguments)
    if json:
        print_json(answer)
    else:
        print_fields(
            [("window", answer["window_uuid"]), ("name", answer["display_name"]), ("was", answer["old_display_name"])]
        )


@app.command("expire-window", cls=LeanCommand)
def expire_window(window: WindowArgument, project: ProjectOption = None, json: JsonFlag = False) -> None:
    """Forget a window: registering from it begins anew."""
    context = load_context()
    with open_gateway(context) as gateway:
        arguments = {"project_key": project_key(project, context), "window_uuid": window}
        answer = gateway.call("expire_window", arguments)
    if json:
        print_json(answer)
    else:
        print_fields(
            [
                ("window", answer["window_uuid"]),
                ("name", answer["display_name"]),
                ("expired", time_of(answer["expired_at"])),
            ]
        )
