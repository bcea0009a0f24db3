"""`am setup`: its options, and the order of what it does: plan, diff, consent, change, proof."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mcp_agent_mail.cli.arguments import UsageMistake, given_path
from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.exit_codes import ExitCode
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import print_json
from mcp_agent_mail.cli.setup import report
from mcp_agent_mail.cli.setup.surroundings import (
    fault_of_server,
    notes_on,
    require_server,
    retire_left_agents,
    settings_for,
    surroundings,
)
from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.setup.codex_query import read_trust
from mcp_agent_mail.clients.setup.contract_wishes import SetupSettings, wishes_of
from mcp_agent_mail.clients.setup.journal import Journal
from mcp_agent_mail.clients.setup.plan import Plan, carry_out, make_plan
from mcp_agent_mail.clients.setup.proof import Bench, ProofStep, prove, retire_scratch_agents
from mcp_agent_mail.clients.setup.reworded_hooks import reworded_hooks
from mcp_agent_mail.clients.setup.status import State, look_at_client, persons_part
from mcp_agent_mail.clients.setup.undo import make_undo_plan, take_back
from mcp_agent_mail.clients.setup.wishes import FileWish
from mcp_agent_mail.core.lazy.dataclass import dataclass

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the command line says. `clients` in the order of CLIENTS; `is_named`: they were given by name."""

    clients: Sequence[str]
    is_named: bool
    project: Path | None
    is_dry: bool
    is_sure: bool
    json: bool


@app.command("setup", cls=LeanCommand)
def setup(
    client: Annotated[
        list[str] | None,
        typer.Option("--client", "-c", metavar="NAME", help=f"One of {', '.join(CLIENTS)}; may be repeated."),
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", "-p", metavar="DIR", help="The files of this project, not your own.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be changed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what am setup has changed.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Say how each client stands.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Give the agent command lines on this machine our MCP entry and hooks.

    Those that are found, or are named. Every change is shown first; everything else in a file stays
    as it is. Then each client is tried out: its entry is called, and a message has to come out of
    its hook.

    Exit codes: 0 done or nothing to do, 1 refused, drifted, not proven, or another am setup is at
    work, 2 usage (also without a terminal and without --yes), 69 no server, 78 bad configuration.
    """
    if undo and status:
        raise UsageMistake(
            "--undo and --status are two commands: look with am setup --status, or with am setup --undo --dry-run."
        )
    asked = Asked(
        clients=_clients(client),
        is_named=bool(client),
        project=_project(project, must_exist=not undo),
        is_dry=dry_run,
        is_sure=yes,
        json=json,
    )
    if undo:
        return _undo(asked)
    if not asked.clients:
        report.say_nobody(as_json=json)
        return ExitCode.DONE
    context = load_context(is_among_strangers=True)
    return _status(asked, context) if status else _set_up(asked, context)


def _clients(named: Sequence[str] | None) -> list[str]:
    unknown = [name for name in named or () if name.lower() not in CLIENTS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(CLIENTS)}.", param_hint="--client")
    wanted = {name.lower() for name in named or ()}
    return [name for name in CLIENTS if name in wanted] if wanted else surroundings().find_clients()


def _project(given: str | None, *, must_exist: bool) -> Path | None:
    if given is None:
        return None
    folder = Path(os.path.abspath(given_path(given, "--project")))  # noqa: PTH100  # without `..`, links as they are
    if must_exist and not folder.is_dir():
        raise typer.BadParameter(f"{given} is no folder.", param_hint="--project")
    return folder


# --- Setting up ---------------------------------------------------------------------------------------------------


def _set_up(asked: Asked, context: CliContext) -> int:
    wishes = _all_wishes(asked, settings_for(context))
    plan = make_plan(wishes, project=asked.project)
    if asked.is_dry:
        plan.left_alone += reworded_hooks(wishes, project=asked.project)
        fault = fault_of_server(context)
        report.tell_plan(plan, as_json=asked.json, is_dry=True, notes=[] if fault is None else [fault])
        if fault is not None:
            return ExitCode.UNAVAILABLE
        return ExitCode.REFUSED if plan.left_alone else ExitCode.DONE
    _require_consent_possible(plan, asked)
    gateway = require_server(context)
    try:
        # A server that was started says where it is; until then the settings did.
        settings = settings_for(context)
        wishes = _all_wishes(asked, settings)
        plan = make_plan(wishes, project=asked.project)
        if not _is_agreed(plan, asked, "Write these changes?"):
            return ExitCode.REFUSED
        journal = Journal(surroundings().home)
        with journal.held():
            carry_out(plan, journal)
            plan.left_alone += reworded_hooks(wishes, project=asked.project)
            proofs = _prove(
                asked,
                settings,
                Bench(
                    call=gateway.call,
                    project=asked.project or journal.path.parent,
                    environ=os.environ,
                    am=settings.am,
                    as_wished={change.target.path for change in plan.changes} | set(plan.settled),
                    within=asked.project,
                ),
            )
    finally:
        gateway.close()
    outcome = report.SetupReport(
        plan=plan,
        proofs=proofs,
        person={name: persons_part(read_contract(name), has_token=settings.has_token) for name in asked.clients},
        notes=notes_on(context, settings),
    )
    report.tell_outcome(outcome, as_json=asked.json)
    return ExitCode.DONE if outcome.is_done else ExitCode.REFUSED


def _prove(asked: Asked, settings: SetupSettings, bench: Bench) -> dict[str, list[ProofStep]]:
    retire_scratch_agents(bench.call, bench.project)
    around = surroundings()
    return {name: prove(name, wishes_of(name, settings, around, asked.project), bench) for name in asked.clients}


def _all_wishes(asked: Asked, settings: SetupSettings) -> list[FileWish]:
    around = surroundings()
    return [wish for name in asked.clients for wish in wishes_of(name, settings, around, asked.project)]


# --- Consent ------------------------------------------------------------------------------------------------------


def _require_consent_possible(plan: Plan, asked: Asked) -> None:
    """Nobody there to be asked, and something to ask: a mistake in how the command was called."""
    if plan.changes and not asked.is_sure and (asked.json or not sys.stdin.isatty()):
        raise UsageMistake("There is no terminal to ask on: look with --dry-run, then give --yes.")


def _is_agreed(plan: Plan, asked: Asked, question: str) -> bool:
    _require_consent_possible(plan, asked)
    if not asked.json:
        report.tell_diffs(plan)
    if not plan.changes or asked.is_sure:
        return True
    return typer.confirm(question, err=True)


# --- Taking back, and looking -------------------------------------------------------------------------------------


def _undo(asked: Asked) -> int:
    journal = Journal(surroundings().home)
    journal.read()
    named = asked.clients if asked.is_named else []
    plan = make_undo_plan(journal, clients=named, project=asked.project)
    if asked.is_dry:
        report.tell_plan(plan, as_json=asked.json, is_dry=True, command="am setup --undo")
        return ExitCode.REFUSED if plan.left_alone else ExitCode.DONE
    if not _is_agreed(plan, asked, "Take these back?"):
        return ExitCode.REFUSED
    if plan.changes or plan.idle or journal.has_traces():
        with journal.held():
            plan = make_undo_plan(journal, clients=named, project=asked.project)
            take_back(plan, journal)
            retire_left_agents(asked.project or journal.path.parent)
    report.tell_plan(plan, as_json=asked.json, is_dry=False, command="am setup --undo")
    return ExitCode.REFUSED if plan.left_alone else ExitCode.DONE


def _status(asked: Asked, context: CliContext) -> int:
    settings = settings_for(context)
    around = surroundings()
    states = [
        look_at_client(
            name,
            wishes_of(name, settings, around, asked.project),
            has_token=settings.has_token,
            project=asked.project,
            read_trust=lambda: read_trust(os.environ),
        )
        for name in asked.clients
    ]
    if asked.json:
        print_json([report.as_row(state) for state in states])
    else:
        report.tell_states(states)
    wrong = (State.DRIFTED, State.PARTLY, State.UNREADABLE, State.LEFT_ALONE)
    return ExitCode.FINDINGS if any(state.state in wrong for state in states) else ExitCode.DONE
