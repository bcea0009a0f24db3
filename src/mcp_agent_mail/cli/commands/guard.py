"""`am guard`: the guard in a code repository of this machine, and what it did.

Install, uninstall and status need no server. `am guard check` and `hook` do not come here but for help:
`__main__` runs them without Typer. Settings are a client's: what lies in the repository's own `.env` does not count.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from mcp_agent_mail.cli.arguments import given_path
from mcp_agent_mail.cli.commands.guard_log import show_log
from mcp_agent_mail.cli.context import read_client_settings
from mcp_agent_mail.cli.exit_codes import ExitCode, NoServer, WireError, code_of
from mcp_agent_mail.cli.gateway.http import HttpGateway, Server
from mcp_agent_mail.cli.gateway.rate_wait import WaitingGateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import ExactFlag, JsonFlag, print_fields, print_json
from mcp_agent_mail.cli.project_option import ProjectOption, absolute_key, resource_uri
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.settings.client import ClientSettings
from mcp_agent_mail.domain.guard.agent_marks import find_mark
from mcp_agent_mail.domain.projects import canonical_path, is_path
from mcp_agent_mail.guard.entry import main as guard_main
from mcp_agent_mail.guard.hooks.code_repository import find_code_repository
from mcp_agent_mail.guard.hooks.install import default_project, install_guard, recorded_project, uninstall_guard
from mcp_agent_mail.guard.hooks.status import GuardStatus, look_at_guard
from mcp_agent_mail.guard.repository import name_command
from mcp_agent_mail.guard.server import find_server

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Let Git refuse commits and pushes of files that another agent has reserved.\n\n"
    "Before an edit `am guard check PATH...` asks the same, and `am guard log` lists what was refused, "
    "warned about and let pass. Git's hooks run `am guard hook`.",
)

PathArgument = Annotated[str, typer.Argument(metavar="PATH", help="A Git work tree, or a folder in it.")]

_ANSWER_TIMEOUT_S = 5.0
_NO_PROJECT = "/"
"""Asked for where there is none to ask for: whether a server answers at all."""

_REFUSES = (
    "commits and pushes of what another agent holds exclusively, and those of an agent's shell that does not say who "
    "it is; a person's pass, with a warning"
)
_DOES_NOT_SEE = (
    "git commit --no-verify, merges and rebases (the push looks at what they brought), push --no-verify, edits (am "
    "guard check asks before one), and files that nobody reserved"
)
_NAMES = f"each agent says who it is: AGENT_NAME=BlueLake in its environment, or {name_command('BlueLake')}"

# Plain JSON, as `--json` prints it.
Report = dict[str, Any]


@app.callback()
def guard() -> None:
    """Let Git refuse commits and pushes of files that another agent has reserved."""


@app.command("install", cls=LeanCommand)
def install(
    path: PathArgument = ".",
    project: Annotated[
        str | None,
        typer.Option(
            "--project",
            "-p",
            metavar="PROJECT",
            help="Path or slug. Else AGENT_MAIL_PROJECT, what is recorded, the work tree's top.",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Even if the repository is recorded as another project's.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Guard a code repository and all its work trees.

    Hooks that are there keep working: they run after the guard. The project is recorded in the
    repository's own Git configuration. Needs no server; safe to repeat, and to be repeated after
    another program has written its hooks anew.
    """
    settings = read_client_settings(None)
    place = _absolute(path)
    human_key, note = _project(project, place, settings)
    installed = install_guard(place, human_key, replace=replace)
    answer = {
        "hook": str(installed.hook),
        "status": installed.status.value,
        "project": human_key,
        "note": note,
        "refuses": _REFUSES,
        "does not see": _DOES_NOT_SEE,
        "names": _NAMES,
    }
    if json:
        print_json({name.replace(" ", "_"): value for name, value in answer.items()})
    else:
        print_fields(list(answer.items()))


@app.command("uninstall", cls=LeanCommand)
def uninstall(path: PathArgument = ".", json: JsonFlag = False) -> int:
    """Take the guard out of a repository.

    The hooks from before are put back as they were. What somebody has changed since is left and
    named; the exit code is 1 then.
    """
    uninstalled = uninstall_guard(_absolute(path))
    if json:
        print_json({"removed": uninstalled.removed, "left": list(uninstalled.left)})
    else:
        print_fields([("removed", uninstalled.removed), *(("left", reason) for reason in uninstalled.left)])
    return ExitCode.FINDINGS if uninstalled.left else ExitCode.DONE


@app.command("status", cls=LeanCommand)
def status(path: PathArgument = ".", json: JsonFlag = False) -> int:
    """Say whether the guard is in effect, and what to do.

    Changes nothing. Exit codes: 0 in effect, 1 something to do.
    """
    report = _report(look_at_guard(_absolute(path)), read_client_settings(None))
    if json:
        print_json(report)
    else:
        print_fields(_lines(report))
    return ExitCode.FINDINGS if report["problems"] else ExitCode.DONE


@app.command("check", cls=LeanCommand)
def check(
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH...", help="Files, from where you stand.")] = None,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Read them from standard input, one per line or NUL-separated.")
    ] = False,
    json: JsonFlag = False,
) -> int:
    """Ask before an edit whether another agent holds the files.

    Exit codes: 0 free (or held by you too), 1 held by another agent,
    2 no files of this repository, 69 it could not be found out and AGENT_MAIL_GUARD_ON_ERROR=block.
    """
    options = [*(["--json"] if json else []), *(["--stdin"] if stdin else [])]
    return guard_main(["check", *options, "--", *(paths or [])])


@app.command("log", cls=LeanCommand)
def log(
    project: ProjectOption = None,
    of_all: Annotated[bool, typer.Option("--all", help="Of all projects, and of unknown ones.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=1_000, help="At most so many.")] = 50,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List what the guard did, newest first.

    That is what it refused, warned about, let pass and could not check, while no server ran too.
    The newest 10,000 of a project are kept.
    """
    show_log(project, of_all=of_all, limit=limit, as_json=json, exact=exact)


def _absolute(path: str) -> Path:
    return given_path(path, "PATH").absolute()


# --- The project --------------------------------------------------------------------------------------------------


def _project(option: str | None, place: Path, settings: ClientSettings) -> tuple[str, str | None]:
    """Its human key, and what could not be made sure of. Raises NotFound for a name that no project has."""
    given = option or settings.agent_mail_project
    key = (
        absolute_key(given, "--project")
        if given
        else recorded_project(place) or default_project(find_code_repository(place))
    )
    found, why_not = _look_up(key, settings)
    if found is not None:
        return found, None
    if why_not is None and given:
        raise NotFound(
            f"The server knows no project {key:.300}.",
            hint="`am projects list` shows them, `am projects ensure` makes one.",
            data={"parameter": "project_key"},
        )
    if not is_path(key):
        raise InvalidInput(
            f"Which path {key!r:.200} stands for only a server can tell: {why_not}.",
            hint=f"Give the project's absolute path, or {_reach_one(settings)}",
            data={"parameter": "project_key"},
        )
    if why_not is None:
        return canonical_path(key), "no agent has used this project yet; the first ensure_project makes it"
    return canonical_path(key), f"not compared with the server's projects: {why_not}"


def _reach_one(settings: ClientSettings) -> str:
    if settings.agent_mail_url is None:
        return "start the server: am serve"
    return "check AGENT_MAIL_URL, and ask whoever runs that server."


def _look_up(key: str, settings: ClientSettings) -> tuple[str | None, str | None]:
    """The human key; else nothing and, if nobody could be asked, why."""
    server = find_server(settings)
    if server is None:
        return None, "no server is running"
    gateway = HttpGateway(
        Server(url=server.url, bearer_token=server.bearer_token, agent_token=server.agent_token),
        answer_timeout_s=_ANSWER_TIMEOUT_S,
    )
    try:
        return str(WaitingGateway(gateway).read(resource_uri("project", key))["human_key"]), None
    except NoServer:
        return None, f"no server answers at {server.url}"
    except WireError as refused:
        return None, None if code_of(refused) == NotFound.code else refused.message
    finally:
        gateway.close()


# --- The report ---------------------------------------------------------------------------------------------------


def _report(standing: GuardStatus, settings: ClientSettings) -> Report:
    server = find_server(settings)
    found, why_not = _look_up(standing.project or _NO_PROJECT, settings)
    name, source = _name(standing, settings)
    mark = find_mark(os.environ)
    return {
        "repository": str(standing.top),
        "hooks_dir": str(standing.folder),
        "in_front_of": standing.hooks_path if standing.in_front else None,
        "core_hooks_path": standing.hooks_path,
        "hooks": [
            {
                "hook": hook.hook,
                "path": str(hook.path),
                "state": hook.standing.value,
                "guards": hook.guards,
                "former": str(hook.former) if hook.former else None,
            }
            for hook in standing.hooks
        ],
        "project": {"human_key": standing.project, "known": bool(found) if why_not is None else None},
        "name": {"name": name, "source": source, "mark": mark.variable if mark else None},
        "server": {"url": server.url if server else None, "reachable": why_not is None},
        "guard": {"python": standing.python, "runnable": standing.is_runnable},
        "mode": settings.agent_mail_guard_mode,
        "on_error": settings.agent_mail_guard_on_error,
        "problems": _problems(standing, is_known=found is not None or why_not is not None),
    }


def _name(standing: GuardStatus, settings: ClientSettings) -> tuple[str | None, str | None]:
    """In the order of the guard."""
    if settings.agent_name:
        return settings.agent_name, "AGENT_NAME"
    if standing.name:
        return standing.name, "git config agent-mail.name"
    author = os.environ.get("GIT_AUTHOR_NAME")
    return (author, "GIT_AUTHOR_NAME, if that is an agent") if author else (None, None)


def _in_words(name: Report) -> str:
    if name["name"]:
        return f"{name['name']} ({name['source']})"
    if name["mark"]:
        return f"an agent that does not say who it is ({name['mark']} is set): set AGENT_NAME"
    return "a person: no agent's name is set"


def _problems(standing: GuardStatus, *, is_known: bool) -> list[dict[str, str]]:
    """Each with its next step."""
    found = [
        {"problem": f"{hook.hook} is {hook.standing.value}", "next": hook.next_step or ""}
        for hook in standing.hooks
        if not hook.guards
    ]
    if standing.project is None:
        found.append({"problem": "the repository is recorded as no project's", "next": "am guard install"})
    elif not is_known:
        found.append(
            {
                "problem": f"the server knows no project {standing.project}",
                "next": "am guard install --replace --project PROJECT, or let an agent call ensure_project",
            }
        )
    if standing.python is not None and not standing.is_runnable:
        found.append({"problem": f"{standing.python} cannot run the guard", "next": "am guard install"})
    return found


def _lines(report: Report) -> list[tuple[str, object]]:
    project, name, server = report["project"], report["name"], report["server"]
    return [
        ("repository", report["repository"]),
        ("hooks in", report["hooks_dir"]),
        ("in front of", report["in_front_of"]),
        *(
            (hook["hook"], hook["state"] + (f", then {hook['former']}" if hook["former"] else ""))
            for hook in report["hooks"]
        ),
        ("project", project["human_key"]),
        ("who commits", _in_words(name)),
        ("server", f"{server['url'] or 'none'}{'' if server['reachable'] else ', not reached: the last known leases'}"),
        ("guard", report["guard"]["python"]),
        ("mode", f"{report['mode']}; if it cannot run: {report['on_error']}"),
        *(("to do", f"{problem['problem']}: {problem['next']}") for problem in report["problems"]),
    ]
