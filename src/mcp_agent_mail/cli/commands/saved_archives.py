"""`am archive save`, `list`, `restore`, `export`: archives that leave this store, and come into one."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from mcp_agent_mail.cli.arguments import given_path, reading_argument
from mcp_agent_mail.cli.commands.tokens import not_rebuilt_rows
from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.exit_codes import ExitCode, NoServer
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import (
    Column,
    JsonFlag,
    Row,
    print_fields,
    print_gap,
    print_json,
    print_rows,
    require_no_terminal,
)
from mcp_agent_mail.cli.progress import progress_bars
from mcp_agent_mail.cli.project_option import project_key

_STDOUT = "-"
# Of an answer, what is shown in a table or at its end.
_APART = ("projects", "not_rebuilt")


def _short_commit(project: Row) -> str:
    return str(project["commit"] or "")[:12]


_PROJECTS = (
    Column("project", "slug", is_whole=True),
    Column("path", "human_key", may_wrap=True),
    Column("messages", "messages", is_right=True),
    Column("commit", "commit", is_whole=True, on_terminal=_short_commit),
)


def save(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A new file, or - for standard output.")],
    project: Annotated[
        list[str] | None, typer.Option("--project", "-p", metavar="PROJECT", help="Only this one; may be repeated.")
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Save the archives of all projects, or of some, in one file.

    A tar of Git bundles with a manifest and the SHA-256 of each: mail, attachments, history. No token,
    and nothing that Git has not: `pending events` says how much that is. The same archives give the same
    bytes. Never over an existing file. Beside a server too. Exit codes: 0 saved, 1 refused, or saved
    though the database cannot be read, so that nobody knows whether archives lack anything.
    """
    from mcp_agent_mail.cli.offline.saved_archives import save_offline, save_to_stdout

    target = None if file == _STDOUT else given_path(file, "FILE")
    context = _require_archives()
    keys = project or []
    with progress_bars() as bars:
        told = bars.bar("saving archives")
        if target is None:
            require_no_terminal("am archive save -")
            answer = save_to_stdout(context, sys.stdout.buffer, keys, progress=told)
        else:
            answer = save_offline(context, target, keys, progress=told)
    if target is not None:
        _print(answer, json=json)
    elif answer["pending_events"]:
        sys.stderr.write(f"Notice: {answer['pending_events']} events are not in Git yet, so not in the file.\n")
    return _exit_code(answer)


def list_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Of am archive save.")], json: JsonFlag = False
) -> None:
    """Check a saved file, every byte of it, and list its projects.

    Nothing is written but scratch files (TMPDIR: as large as its largest archive). Exit codes: 0 whole,
    1 damaged, or no saved file: what and where is said.
    """
    from mcp_agent_mail.cli.offline.saved_archives import list_offline

    with progress_bars() as bars:
        answer = list_offline(given_path(file, "FILE"), progress=bars.bar("checking archives"))
    _print(answer, json=json)


def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Of am archive save.")],
    into: Annotated[
        str | None, typer.Option("--into", metavar="DIR", help="Make the store there: missing, or empty.")
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="OLD=NEW", help="A project's path there, and its path here; may be repeated."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Make a store of a saved file, where there is none.

    In STORAGE_ROOT, or in DIR: archives and attachments as they were, the database rebuilt from them,
    all of it verified before it gets its place. As any user, at any path; --map makes a directory here
    another name of a project. Tokens are not in the file: am token reissue. Exit codes: 0 done,
    1 refused, and nothing was changed.
    """
    from mcp_agent_mail.cli.offline.restore_saved import read_pair, restore_offline

    with reading_argument("--map"):
        new_paths = [read_pair(text) for text in map_ or []]
    context = load_context()
    with progress_bars() as bars:
        answer = restore_offline(
            context.settings,
            given_path(file, "FILE"),
            into=None if into is None else given_path(into, "--into"),
            new_paths=new_paths,
            unpacking=bars.bar("unpacking archives"),
            rebuilding=bars.bar("rebuilding the database"),
        )
    _print(answer, *not_rebuilt_rows(answer["not_rebuilt"]), json=json)


def export(
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="Its slug or path.")],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Missing, or empty.")],
    exact: Annotated[bool, typer.Option("--exact", help="With blind copies and private mail: a plain clone.")] = False,
    json: JsonFlag = False,
) -> int:
    """Make a Git repository of a project's history, to give away.

    Each commit with its author, times and words, but no blind recipient and no private mail in any of
    them. Links between agents stay, but for those that such mail alone tells of. Beside a server too.
    Exit codes as those of am archive save.
    """
    from mcp_agent_mail.cli.offline.saved_archives import export_offline

    target = given_path(folder, "DIR")
    context = _require_archives()
    key = project_key(project, context)
    with progress_bars() as bars:
        answer = export_offline(context, key, target, is_exact=exact, progress=bars.bar("reading and writing commits"))
    if json:
        print_json(answer)
    else:
        print_fields(list(answer.items()))
    return _exit_code(answer)


def _exit_code(answer: Row) -> int:
    """Less than was asked for where nobody could say what archives there should be."""
    return ExitCode.FINDINGS if answer["database"] == "unreadable" else ExitCode.DONE


def register(group: typer.Typer) -> None:
    """Add these commands to the group of archives."""
    for name, command in (("save", save), ("list", list_), ("restore", restore), ("export", export)):
        group.command(name, cls=LeanCommand)(command)


def _require_archives() -> CliContext:
    """Archives stand for themselves: a database need not be there."""
    context = load_context()
    if not (context.storage_root / "projects").is_dir():
        raise NoServer(f"There is no archive in {context.storage_root}.", hint="Look at STORAGE_ROOT: am config show")
    return context


# An answer as JSON has it.
def _print(answer: dict[str, Any], *closing: tuple[str, object], json: bool) -> None:
    if json:
        print_json(answer)
        return
    print_rows(answer["projects"], _PROJECTS, nothing="No project.")
    print_gap()
    fields = ((name, value) for name, value in answer.items() if name not in _APART)
    print_fields([*((name.replace("_", " "), _cell(value)) for name, value in fields), *closing])


# A value as JSON has it.
def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(f"{one['old']} = {one['new']}" if isinstance(one, dict) else str(one) for one in value)
    return value
