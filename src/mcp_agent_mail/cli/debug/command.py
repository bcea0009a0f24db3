"""`am debug report FILE`: a file for whoever helps, in which nothing of anybody's mail stands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from mcp_agent_mail.cli.arguments import given_path
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import print_text
from mcp_agent_mail.core.errors import Conflict, InvalidInput

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Write a report for whoever helps, without mail and names.",
)


_STANDARD_OUTPUT = "-"


class FileTaken(Conflict):
    """There is something at the place of the report."""


@app.callback()
def debug() -> None:
    """Write a report for whoever helps, without mail and names."""


@app.command("report", cls=LeanCommand)
def report(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The file to make, never one that is there; - is standard output."),
    ],
    log: Annotated[
        str | None,
        typer.Option("--log", metavar="LOG", help="The server's log, where it is not STORAGE_ROOT/server.log."),
    ] = None,
) -> None:
    """Write down what somebody who helps needs to know.

    Versions, masked settings, health, the doctor's verdict, pending work and the last lines of the log, with or without
    a server, and with a damaged store. JSON, 256 KiB at most, readable for you alone. It holds no
    subject, body, agent, project, token or path of yours: of every text only words that stand in this program are told.
    Read it before you hand it on.
    """
    path = None if file == _STANDARD_OUTPUT else given_path(file, "FILE")
    if path is not None:
        _require_free(path)
    # The doctor and the archive: half a second, which a refusal does not take.
    from mcp_agent_mail.cli.debug.report import make_report, untold_log

    text = make_report(None if log is None else _require_log(given_path(log, "--log")))
    if (untold := untold_log(text)) is not None:
        sys.stderr.write(f"Notice: {untold}\n")
    if path is None:
        sys.stdout.write(text)
        return
    _write_new(path, text)
    print_text(f"Written: {path} ({len(text.encode()) / 1024:.0f} KiB). Read it before you hand it on.")


def _require_log(path: Path) -> Path:
    if not path.is_file():
        raise InvalidInput(f"There is no file {path}.", hint="Name the log of the server: --log LOG.")
    return path


def _require_free(path: Path) -> None:
    if os.path.lexists(path):
        raise FileTaken(f"{path} is there already, and stays as it is.", hint="Name a file that is not there yet.")
    if not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent}.", hint="Name a file in a folder that is there.")


def _write_new(path: Path, text: str) -> None:
    """Whole, mode 0600 from birth, or not at all. Raises FileTaken where somebody has made it meanwhile."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        _require_free(path)
        raise
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
