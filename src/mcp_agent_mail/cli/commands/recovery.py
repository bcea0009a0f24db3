"""`am doctor rebuild`: a database of archives alone. Registered with `am doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mcp_agent_mail.cli.commands.tokens import not_rebuilt_rows
from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.exit_codes import ExitCode, tell_error
from mcp_agent_mail.cli.output import JsonFlag, print_fields, print_json
from mcp_agent_mail.cli.progress import progress_bars
from mcp_agent_mail.core.clock import Micros, parse_time
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput


def rebuild(
    into: Annotated[
        Path | None, typer.Option("--into", metavar="DIR", help="Make a whole store there: empty, or not there yet.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="As the archives were then (needs --into).")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="SLUG", help="Leave this project out; may be repeated.")
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Make the database anew from the archives alone.

    Same ids, same store, every commit; verified, then put in its place. The old files are kept. What no archive tells
    of is named: tokens (am token reissue), windows, presence. A database that can be read first gives Git what waits.

    Without --into no server may run. With it nothing here is changed, a server may run, and what it has not given to
    Git yet is not there. TIME is ISO 8601 or seconds since 1970. Exit codes: 0 done, 1 refused, or done with findings.
    """
    until = _time(at)
    if until is not None and into is None:
        raise InvalidInput("--at makes another store, and needs --into.", hint="am doctor rebuild --at TIME --into DIR")
    context = load_context()
    left_out = tuple(dict.fromkeys(without or ()))
    # The services of the archive: 0.1 s.
    from mcp_agent_mail.cli.offline.rebuild import rebuild_elsewhere, rebuild_offline

    try:
        with progress_bars() as bars:
            if into is None:
                made = rebuild_offline(context.settings, without=left_out, told=bars.bar)
            else:
                made = rebuild_elsewhere(context.settings, into, without=left_out, until=until, told=bars.bar)
    except AgentMailError as refused:
        tell_error(refused)
        return ExitCode.REFUSED
    if json:
        print_json(made)
    else:
        _print_made(made)
    return ExitCode.FINDINGS if made["findings"] else ExitCode.DONE


def _time(text: str | None) -> Micros | None:
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r:.100} is no time. Write it as 2026-11-21T20:38:32Z, or as seconds since 1970.", param_hint="--at"
        ) from None


# As `--json` prints it.
def _print_made(made: dict[str, Any]) -> None:
    print_fields(
        [
            ("database", made["path"]),
            ("projects", made["projects"]),
            ("agents", made["agents"]),
            ("messages", made["messages"]),
            ("attachments brought", made["contents"]),
            ("queued for Git", made["queued"]),
            *((("made of what others say", ", ".join(made["stand_ins"])),) if made["stand_ins"] else ()),
            ("kept", made["kept"] or "nothing was there"),
            *((("removed", "; ".join(made["removed"])),) if made["removed"] else ()),
            *((("not brought back", made["unread"]),) if made["unread"] else ()),
            *(("finding", f"{one['check']}: {one['problem']}: {one['evidence']}") for one in made["findings"]),
            *not_rebuilt_rows(made["not_rebuilt"]),
        ]
    )
