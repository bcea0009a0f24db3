"""`am token`: agent tokens, which only their first answer shows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

import typer

from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import JsonFlag, print_fields, print_json
from mcp_agent_mail.cli.project_option import ProjectOption, project_key

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Replace a lost agent token.",
)

_TOKENS = "registration tokens"
"""As what makes a store of archives names them."""


@app.callback()
def token() -> None:
    """Replace a lost agent token."""


@app.command("reissue", cls=LeanCommand)
def reissue(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent's name.")],
    project: ProjectOption = None,
    json: JsonFlag = False,
) -> None:
    """Give an agent a new token; the old one is void.

    It is printed this once: the store keeps only its hash.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.call("reissue_token", {"project_key": project_key(project, context), "agent_name": agent})
    if json:
        print_json(answer)
    else:
        print_fields([("agent", answer["name"]), ("registration_token", answer["registration_token"])])


def not_rebuilt_rows(not_rebuilt: Collection[str]) -> list[tuple[str, object]]:
    """The closing lines of a command that has made a store: what is not in it, and what to do where that is tokens."""
    told: list[tuple[str, object]] = [("not rebuilt", "; ".join(not_rebuilt))] if not_rebuilt else []
    if _TOKENS in not_rebuilt:
        told += [("next", "am token reissue AGENT, for each agent that is to prove who it is: no token came along")]
    return told
