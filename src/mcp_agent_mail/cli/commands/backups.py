"""`am doctor backup|backups|restore|repair`: a way back, the way back, and what is mended without one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_agent_mail.cli.commands.tokens import not_rebuilt_rows
from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.exit_codes import ExitCode, tell_error
from mcp_agent_mail.cli.output import Column, JsonFlag, at, print_fields, print_json, print_rows, print_text
from mcp_agent_mail.cli.progress import progress_bars
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.settings.server import Settings

if TYPE_CHECKING:
    from mcp_agent_mail.features.recovery.backups.backup import Told

_MOST_KEPT = 1_000

ToOption = Annotated[Path | None, typer.Option("--to", metavar="DIR", help="The folder of backups. Else BACKUP_DIR.")]

# Plain JSON, as `--json` prints it.
_Work = Callable[[Settings, "Told"], dict[str, Any]]

_BACKUPS = (
    Column("made", at("created")),
    Column("path", "path", is_whole=True),
    Column("bytes", "bytes", is_right=True),
    Column("projects", "projects", is_right=True),
    Column("messages", "messages", is_right=True),
    Column("verified", "verified"),
    Column("problem", "problem", may_wrap=True),
)


def backup(
    to: ToOption = None,
    keep: Annotated[int, typer.Option("--keep", metavar="N", min=1, max=_MOST_KEPT, help="How many stay.")] = 7,
    json: JsonFlag = False,
) -> int:
    """Back up the whole store, with or without a server.

    A folder with mail, archives, attachments and hashes of tokens as they were at one instant. It
    gets its name once a store made of it aside was verified. Then the oldest of this store beyond N go.
    Exit codes: 0 made, 1 refused.
    """

    def made(settings: Settings, told: Told) -> dict[str, Any]:
        from mcp_agent_mail.cli.offline.backups import back_up_offline
        from mcp_agent_mail.cli.offline.served_files import require_served_files

        require_served_files(load_context())
        return back_up_offline(settings, None if to is None else to.absolute(), keep, told)

    return _done(made, json)


def backups(
    to: ToOption = None,
    check: Annotated[bool, typer.Option("--check", help="Read every byte of each.")] = False,
    json: JsonFlag = False,
) -> int:
    """List the backups, newest first.

    With --check each file is compared with what was written. Exit codes: 0 all can be used, 1 findings.
    """
    from mcp_agent_mail.cli.offline.backups import list_backups_offline

    settings = load_context().settings
    rows = list(list_backups_offline(settings, None if to is None else to.absolute(), reads_all=check))
    if json:
        print_json(rows)
    else:
        print_rows(rows, _BACKUPS, nothing="No backup yet: am doctor backup")
        for row in rows:
            for fault in row.get("faults", ()):
                print_text(f"{fault['problem']}: {row['path']}/{fault['path']}: {fault['evidence']}")
    is_troubled = any(row["problem"] or row.get("faults") for row in rows)
    return ExitCode.FINDINGS if is_troubled else ExitCode.DONE


def restore(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="SOURCE",
            help="A backup, by path or name; a saved file; or a store's folder.",
            show_default=False,
        ),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Go back to the store that was replaced last.")] = False,
    json: JsonFlag = False,
) -> int:
    """Put a backup, or a saved file, in place of the store.

    Without a server. The new store is built aside and verified; only then it takes the place, all of it
    or nothing: what is interrupted, the next command finishes. The old one is kept for --undo; numbers
    that it gave out are not given again. A saved file brings no tokens back: am token reissue.
    An archive's files go back to its project's directory only over the same store, where nothing else lies.
    Exit codes: 0 restored, 1 refused, and nothing changed; or restored with findings, which are told, or without a
    database.
    """
    if (source is None) is not undo:
        raise typer.BadParameter("Name a SOURCE, or say --undo.")

    def restored(settings: Settings, told: Told) -> dict[str, Any]:
        from mcp_agent_mail.cli.offline.backups import restore_offline

        return restore_offline(settings, source, told)

    return _done(restored, json)


def repair(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be made anew; change nothing.")] = False,
    json: JsonFlag = False,
) -> int:
    """Make anew what follows from the rest of the store.

    Without a server, and after a backup: permissions, search index, inbox counts, indexes of Git, the
    files that archives show, archives that are lost or damaged. Mail itself is never written: what is
    left has its next step.
    Exit codes: 0 nothing is left, 1 refused or something is.
    """

    def repaired(settings: Settings, told: Told) -> dict[str, Any]:
        from mcp_agent_mail.cli.offline.backups import repair_offline

        return repair_offline(settings, dry_run=dry_run, told=told)

    answer = _answer(repaired)
    if answer is None:
        return ExitCode.REFUSED
    if json:
        print_json(answer)
    else:
        for one in answer["repaired"]:
            print_text(f"{'would repair' if dry_run else 'repaired'}: {one['what']}: {one['evidence']}")
        for one in answer["left"]:
            print_text(f"left: {one['what']}: {one['evidence']}\n  next: {one['next_step']}")
        kept = [("kept", path) for path in answer["kept"]]
        print_fields(
            [
                ("would repair" if dry_run else "repaired", len(answer["repaired"])),
                ("left", len(answer["left"])),
                ("backup", answer["backup"]),
                *((("removed", _in_words("removed", answer["removed"])),) if answer["removed"] else ()),
                *kept,
            ]
        )
    return ExitCode.FINDINGS if answer["left"] else ExitCode.DONE


def _done(work: _Work, json: bool) -> int:
    answer = _answer(work)
    if answer is None:
        return ExitCode.REFUSED
    if json:
        print_json(answer)
    else:
        print_fields(
            [
                (name.replace("_", " "), _in_words(name, value))
                for name, value in answer.items()
                if value != [] and name != "not_rebuilt"
            ]
            + not_rebuilt_rows(answer.get("not_rebuilt", ()))
        )
    is_well = answer.get("has_database", True) and not answer.get("findings")
    return ExitCode.DONE if is_well else ExitCode.FINDINGS


# Plain JSON, as `--json` prints it.
def _answer(work: _Work) -> dict[str, Any] | None:
    """None where it was refused, which was told: exit code 1 here, whatever it would be elsewhere."""
    settings = load_context().settings
    try:
        with progress_bars() as bars:
            return work(settings, bars.bar)
    except AgentMailError as refused:
        tell_error(refused)
        return None


def _in_words(name: str, value: object) -> object:
    if (name, value) == ("verified", None):
        return "not checked: am doctor verify"
    return "; ".join(map(str, value)) if isinstance(value, list) else value
