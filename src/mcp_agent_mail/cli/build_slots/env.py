"""`am env`: what `am run` tells a command, for a shell or a script."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from mcp_agent_mail.cli.build_slots.context import AgentOption, look_at_place, variables
from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import print_json, print_text
from mcp_agent_mail.cli.project_option import ProjectOption

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("env", cls=LeanCommand)
def env(
    slot: Annotated[str | None, typer.Argument(metavar="SLOT", help="Print AM_SLOT too; it is not held.")] = None,
    project: ProjectOption = None,
    agent: AgentOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of shell lines.")] = False,
) -> None:
    """Print AGENT, PROJECT, BRANCH and CACHE_KEY for a shell.

    Use it as: eval "$(am env)". CACHE_KEY is the same for the same project, agent and branch, and
    for no other: name build folders and caches by it. Nothing is held: see am run.
    """
    context = load_context()
    place = look_at_place(project, agent, context)
    with open_gateway(context) as gateway:
        told = variables(gateway, place, slot)
    if json:
        print_json(told)
    else:
        print_text("\n".join(f"export {name}={shlex.quote(value)}" for name, value in told.items()))
