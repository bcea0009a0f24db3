"""`am token`: tokens that the operator issues, and those of agents; each is shown by its first answer alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

import typer

from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import (
    Column,
    ExactFlag,
    JsonFlag,
    at,
    print_fields,
    print_json,
    print_rows,
    shown_once,
    time_of,
)
from mcp_agent_mail.cli.project_option import ProjectOption, project_key
from mcp_agent_mail.domain.identity.issued_tokens import LIFETIME
from mcp_agent_mail.domain.identity.reissue_command import reissue_command

_ROTATE = (
    "In the place of an issued token: am token create with the same options, hand the new one out, "
    f"then am token revoke ID. Of an agent's registration token: {reissue_command()}."
)


class TokenGroup(LeanGroup):
    """The commands of tokens, and what is meant by those that there are not."""

    instead = dict.fromkeys(("rotate", "renew", "replace"), _ROTATE)


app = typer.Typer(
    cls=TokenGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Issue tokens, list and revoke them; replace a lost one.",
)

_TOKENS = "registration tokens"
"""As what makes a store of archives names them."""


_ISSUED = (
    Column("id", "id", is_right=True),
    Column("status", "status"),
    Column("role", "role"),
    Column("agent", lambda row: row["agent"] or ""),
    Column("made", at("created_ts")),
    Column("expires", at("expires_ts")),
    Column("last used", at("last_used_ts")),
    Column("project", lambda row: row["project"] or "", may_wrap=True),
    Column("note", "note", may_wrap=True),
)
"""On a terminal what has no end, and what nobody has used, is left blank."""


@app.callback()
def token() -> None:
    """Issue tokens, list and revoke them; replace a lost one."""


@app.command("create", cls=LeanCommand)
def create(
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="The agent that it proves; else none.")
    ] = None,
    project: ProjectOption = None,
    role: Annotated[
        Literal["reader", "writer", "operator"] | None,
        typer.Option("--role", help="Else writer with an agent, reader without."),
    ] = None,
    expires: Annotated[
        str, typer.Option("--expires", metavar="TIME", help="How long it lasts: 90d, 12h, 30m or never.")
    ] = LIFETIME,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="What it is for, for the list.")] = None,
    json: JsonFlag = False,
) -> None:
    """Issue a token that opens the server.

    With --agent it proves that agent too. It is printed this once: the store keeps only its hash. Whoever has it
    sends it as Authorization: Bearer.
    """
    if project is not None and agent is None:
        raise typer.BadParameter("--project goes with --agent: a token without one is of no project.")
    context = load_context()
    given = {"agent_name": agent, "role": role, "expires": expires, "note": note}
    if agent is not None:
        given["project_key"] = project_key(project, context)
    with open_gateway(context) as gateway:
        arguments = {name: value for name, value in given.items() if value is not None}
        answer = gateway.call("create_issued_token", arguments)
    with shown_once(f"Token {answer['id']} was issued", hint=f"am token revoke {answer['id']}"):
        if json:
            print_json(answer)
            return
        told = [(name, answer[name]) for name in ("id", "token", "role", "agent", "project", "note")]
        print_fields([*told, ("expires_ts", time_of(answer["expires_ts"]) or "never")])


@app.command("list", cls=LeanCommand)
def list_tokens(
    ended: Annotated[bool, typer.Option("--all", help="Revoked and expired ones too.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000, help="At most this many.")] = 1_000,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List the issued tokens, newest first.

    With when each was last used. Tokens themselves are nowhere; those that agents got when they registered are not
    listed.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        found = gateway.call("list_issued_tokens", {"include_ended": ended, "limit": limit})
    if json:
        print_json(found)
    else:
        print_rows(found, _ISSUED, nothing="No issued tokens: am token create makes one.", exact=exact)


@app.command("revoke", cls=LeanCommand)
def revoke(
    number: Annotated[int, typer.Argument(metavar="ID", help="The number that `am token list` shows.")],
    json: JsonFlag = False,
) -> None:
    """Revoke an issued token.

    It opens nothing from the next request on, and streams that it opened end within 5 seconds. Safe to repeat.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.call("revoke_issued_token", {"issued_token_id": number})
    if json:
        print_json(answer)
    else:
        print_fields([("id", answer["id"]), ("revoked_ts", time_of(answer["revoked_ts"]))])


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
    void = "The old token is void; run it again for another, where its output is seen."
    with shown_once(f"{answer['name']} was given a new token", hint=void):
        if json:
            print_json(answer)
        else:
            print_fields([("agent", answer["name"]), ("registration_token", answer["registration_token"])])


def not_rebuilt_rows(not_rebuilt: Collection[str]) -> list[tuple[str, object]]:
    """The closing lines of a command that has made a store: what is not in it, and what to do where that is tokens."""
    told: list[tuple[str, object]] = [("not rebuilt", "; ".join(not_rebuilt))] if not_rebuilt else []
    if _TOKENS in not_rebuilt:
        told += [("next", f"{reissue_command()}, for each agent that is to prove who it is: no token came along")]
    return told
