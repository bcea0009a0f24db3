"""`am reset`: begin anew with an empty store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_agent_mail.cli.arguments import UsageMistake
from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.exit_codes import ExitCode
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import JsonFlag, print_fields, print_json
from mcp_agent_mail.cli.progress import progress_bars
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.escaping import visible

if TYPE_CHECKING:
    from mcp_agent_mail.store.engine.sqlite.swap import NotedReset

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class WrongName(InvalidInput):
    """Another name than the folder's: nothing was changed."""


@app.command("reset", cls=LeanCommand)
def reset(
    confirm: Annotated[
        str | None, typer.Option("--confirm", metavar="NAME", help="The name of the store's folder: asks nothing.")
    ] = None,
    no_archive: Annotated[bool, typer.Option("--no-archive", help="Save nothing first: the mail is gone.")] = False,
    json: JsonFlag = False,
) -> int:
    """Empty the store: all projects, agents and mail.

    It asks for the name of the store's folder. First it gives Git what waits and saves all archives in
    BACKUP_DIR, as am archive save does; am archive restore FILE brings them back, tokens apart. Backups,
    and what am doctor keeps, stay and are named. Not beside a running server. Killed half-way, the store is
    whole, or the saved file is there and the next am reset finishes. Exit codes: 0 done, 1 refused.
    """
    context = load_context()
    # The services of the archive: 0.1 s.
    from mcp_agent_mail.cli.offline.reset import is_finished, reset_offline
    from mcp_agent_mail.core.store_owner import SWAP_FILE
    from mcp_agent_mail.store.engine.sqlite.swap import noted_reset

    noted = noted_reset(context.storage_root / SWAP_FILE)
    if is_finished(context):
        _print(_finished(context, noted), json=json)
        return ExitCode.DONE
    _require_confirmed(context, confirm, json=json)
    with progress_bars() as bars:
        done = reset_offline(context, saves=not no_archive, told=bars.bar)
    _print(done, json=json)
    return ExitCode.DONE


def _require_confirmed(context: CliContext, confirm: str | None, *, json: bool) -> None:
    root = context.storage_root
    name = root.name
    where = f"{root} (a link: {root.resolve()} is what is emptied)" if root.is_symlink() else str(root)
    if confirm is None:
        if json:
            raise UsageMistake("--json asks nothing: give the name of the store's folder with --confirm NAME.")
        sys.stderr.write(visible(f"This empties the store in {where}: all its mail.\nIts folder's name: "))
        sys.stderr.flush()
        confirm = sys.stdin.readline()
        if not confirm:
            if sys.stdin.isatty():
                raise EOFError
            raise UsageMistake("Nobody answers: give the name of the store's folder with --confirm NAME.")
    if confirm.strip() != name:
        raise WrongName(
            f"{confirm.strip()[:100]!r} is not the name of {context.storage_root}; nothing was changed.",
            hint=f"Type the folder's own name: {name}",
        )


# As `--json` prints it.
def _finished(context: CliContext, noted: NotedReset | None) -> dict[str, Any]:
    from mcp_agent_mail.cli.offline.reset import newest_saved

    file = newest_saved(context.settings.backup_dir) if noted is None else noted.saved
    if noted is None:  # It was killed once all was done but to say so.
        found = f"it has no file of a reset: {context.settings.backup_dir}" if file is None else f"the newest is {file}"
        saved = f"What it saved, if anything, is in BACKUP_DIR; {found}."
    else:
        saved = "It had saved nothing." if file is None else f"What it saved is in {file}."
    return {
        "path": str(context.storage_root),
        "archive": None if file is None else str(file),
        "sha256": None,
        "projects": 0,
        "stays": [],
        "finished": f"A reset was interrupted; it is done now. {saved}",
    }


# Likewise.
def _print(done: dict[str, Any], *, json: bool) -> None:
    if json:
        print_json(done)
        return
    fields = [("emptied", done["path"])]
    if "finished" in done:
        fields.append(("finished", done["finished"]))
    else:
        fields.append(("archive", done["archive"] or "none was saved"))
        fields += [("stays", path) for path in done["stays"]]
    print_fields(fields)
