"""`am run`: a command that runs while its agent holds a build slot."""

from __future__ import annotations

import os
import sys
import time
from typing import Annotated

import typer

from mcp_agent_mail.cli.build_slots.context import TOLD, AgentOption, SlotContext, look_at_place, variables
from mcp_agent_mail.cli.build_slots.slot_lease import SlotLease, SlotTaken, SlotTerms
from mcp_agent_mail.cli.build_slots.supervisor import SIGNALLED, Supervisor
from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.exit_codes import ExitCode, NoServer, tell_error
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.project_option import ProjectOption
from mcp_agent_mail.core.escaping import visible

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_FOREVER_S = 3_600.0
_LEAST_TTL_S, _MOST_TTL_S = 60, 2_592_000


@app.command("run", cls=LeanCommand)
def run(
    slot: Annotated[str, typer.Argument(metavar="SLOT", help="The slot's name, like frontend-build.")],
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What to run, with its arguments.")],
    project: ProjectOption = None,
    agent: AgentOption = None,
    ttl: Annotated[
        int,
        typer.Option(
            "--ttl",
            metavar="SECONDS",
            min=_LEAST_TTL_S,
            max=_MOST_TTL_S,
            help="How long the slot outlives a killed am run.",
        ),
    ] = 600,
    shared: Annotated[bool, typer.Option("--shared", help="Hold it together with others who share it.")] = False,
    wait: Annotated[
        int, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for a slot in use.")
    ] = 0,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Run the command, without the slot, even if no server can be asked.")
    ] = False,
) -> int:
    """Hold a build slot while a command runs.

    The slot is renewed meanwhile, and released however the command ends. Signals go on to it. It
    finds AM_SLOT, AGENT, PROJECT, BRANCH and CACHE_KEY in its environment.

    Exit code: the command's, or 128 and the number of the signal that ended it; 75 the slot is in
    use, 126 it cannot be run, 127 there is no such command, 69 no server (see --anyway).
    """
    context = load_context()
    place = look_at_place(project, agent, context)
    terms = SlotTerms(slot=slot, ttl_s=ttl, exclusive=not shared)
    with Supervisor() as supervisor:
        try:
            told = _variables(context, place, slot)
            holding = SlotLease(context, place, terms)
            is_taken = holding.take(wait_s=wait, pause=supervisor.pause)
        except SlotTaken as taken:
            tell_error(taken)
            return ExitCode.TRY_AGAIN
        except NoServer as nobody:
            if not anyway:
                raise
            sys.stderr.write(f"am run: {visible(nobody.message)} The command runs without the slot.\n")
            # Nobody can say which store this is, so a cache has no key.
            return _run(supervisor, command, {"AGENT": place.agent, "BRANCH": place.branch or ""}, None)
        try:
            if not is_taken or supervisor.caught is not None:
                return SIGNALLED + (supervisor.caught or 0)
            return _run(supervisor, command, told, holding)
        finally:
            holding.give_back()


def _variables(context: CliContext, place: SlotContext, slot: str) -> dict[str, str]:
    with open_gateway(context) as gateway:
        return variables(gateway, place, slot)


def _run(supervisor: Supervisor, command: list[str], told: dict[str, str], holding: SlotLease | None) -> int:
    """What an outer `am run` told us is not for this command."""
    kept = {name: value for name, value in os.environ.items() if name not in TOLD}
    next_at = (lambda: holding.next_at) if holding is not None else (lambda: time.monotonic() + _FOREVER_S)
    try:
        return supervisor.run(command, {**kept, **told}, next_at=next_at, work=holding.keep if holding else _nothing)
    except OSError as failed:
        sys.stderr.write(f"am run: {visible(command[0])}: {failed.strerror or failed}\n")
        return ExitCode.NO_COMMAND if isinstance(failed, FileNotFoundError) else ExitCode.NOT_EXECUTABLE


def _nothing() -> None:
    """There is nothing to renew."""
