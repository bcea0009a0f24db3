"""`am mail purge`: old mail that everyone has read goes, as retention lets it go."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.exit_codes import ExitCode
from mcp_agent_mail.cli.gateway.port import Gateway, open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import JsonFlag, Row, print_fields, print_json, print_text, time_of
from mcp_agent_mail.cli.project_option import ProjectOption, project_key

app = typer.Typer()


@app.command("purge", cls=LeanCommand)
def purge(
    max_age_days: Annotated[
        int | None,
        typer.Option(
            "--max-age-days", metavar="N", min=1, max=36_500, help="Older than this. Else RETENTION_MAX_AGE_DAYS."
        ),
    ] = None,
    is_sure: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    project: ProjectOption = None,
    json: JsonFlag = False,
) -> int:
    """Let old mail go that all have read; Git keeps its text.

    In its place stands a tombstone. First it is counted, and asked whether to go on; without a terminal, or with
    --json, nothing goes unless --yes is given. Exit codes: 0 done or counted, 1 refused or not agreed to.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        asked = {"project_key": project_key(project, context), "max_age_days": max_age_days}
        arguments = {name: value for name, value in asked.items() if value is not None}
        if is_sure:
            answer = _purge(gateway, arguments)
        else:
            answer = gateway.call("purge_old_messages", {**arguments, "dry_run": True})
            if not json and answer["messages_affected"] and sys.stdin.isatty():
                _tell(answer)
                if not typer.confirm("Let them go?", err=True):
                    return ExitCode.REFUSED
                answer = _purge(gateway, arguments)
    if json:
        print_json(answer)
        return ExitCode.DONE
    _tell(answer)
    if answer["status"] == "dry_run" and answer["messages_affected"]:
        print_text("\nNothing was changed. --yes lets them go.")
    return ExitCode.DONE


def _purge(gateway: Gateway, arguments: Row) -> Row:
    """Call by call, of which each takes a bounded part, until nothing is left. Gives the last answer, with the sum."""
    count = 0
    while True:
        answer: Row = gateway.call("purge_old_messages", {**arguments, "dry_run": False})
        if not answer["messages_affected"]:
            return {**answer, "messages_affected": count}
        count += answer["messages_affected"]


def _tell(answer: Row) -> None:
    is_dry = answer["status"] == "dry_run"
    print_fields(
        [
            ("may go" if is_dry else "gone", answer["messages_affected"]),
            ("older than", time_of(answer["cutoff_date"])),
            ("days", answer["max_age_days"]),
        ]
    )
