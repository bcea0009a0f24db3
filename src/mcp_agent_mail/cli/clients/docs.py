"""`am docs`: what agents are told in the files that their clients read at the start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from mcp_agent_mail.cli.exit_codes import ExitCode, tell_error
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import Column, print_json, print_rows
from mcp_agent_mail.clients.docs.files import Edited, default_files, edit_all

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Tell agents about their mail in AGENTS.md and its like.",
)

_COLUMNS = (Column("file", "path", may_wrap=True), Column("outcome", "outcome", may_wrap=True))


@app.callback()
def docs() -> None:
    """Tell agents about their mail in AGENTS.md and its like."""


@app.command("insert", cls=LeanCommand)
def insert(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...", help="Else AGENTS.md, CLAUDE.md and GEMINI.md that are there, or a new AGENTS.md."
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the text out again.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON: a list of files.")] = False,
) -> int:
    """Put how to use the mail into files that agents read.

    It stands between two marks; nothing else in a file changes, and doing it again changes nothing. --remove gives
    back what was there before.
    """
    here = _top()
    paths = [Path(file) for file in files] if files else default_files(here)
    edited = edit_all(paths, removes=remove, within=None if files else here)
    rows = [{"path": _place(one), "outcome": one.outcome.value} for one in edited]
    if json:
        print_json(rows)
    else:
        print_rows(rows, _COLUMNS, nothing="")
    for one in edited:
        _tell_problem(one)
    return ExitCode.REFUSED if any(one.problem for one in edited) else ExitCode.DONE


def _place(one: Edited) -> str:
    """With where it really lies, if a link leads there."""
    written = os.path.normpath(Path(os.path.realpath(os.curdir), one.path))  # `..` as it is written
    return one.path if written == one.real else f"{one.path} -> {one.real}"


def _tell_problem(one: Edited) -> None:
    if one.problem is not None:
        tell_error(one.problem.reworded(message=f"{one.path}: {one.problem.message}", hint=one.problem.hint, data={}))


def _top() -> Path:
    """The top of the work tree that we stand in, else where we stand."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
