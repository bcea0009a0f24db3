"""`am contacts`: who may write to whom, who waits for an answer, and the operator's answer in an agent's place."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.gateway.port import Gateway, open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import (
    Column,
    ExactFlag,
    JsonFlag,
    Row,
    at,
    print_fields,
    print_json,
    print_rows,
    time_of,
)
from mcp_agent_mail.cli.project_option import ProjectOption, agents_of, project_key

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="See who may write to whom and who waits for an answer; answer for an agent.",
)

SourceArgument = Annotated[
    str, typer.Argument(metavar="FROM", help="Who wants to write: a name, or Name@slug of another project.")
]
TargetArgument = Annotated[str, typer.Argument(metavar="AGENT", help="An agent of the project, whose answer it is.")]
AgentArgument = Annotated[str | None, typer.Argument(metavar="AGENT", help="Whose; without one, every agent's.")]

_COLUMNS = (
    Column("direction", "direction"),
    Column("from", "from"),
    Column("to", "to"),
    Column("status", "status"),
    Column("expires", at("expires_ts")),
    Column("changed", at("updated_ts")),
    Column("other side", "project", may_wrap=True),
    Column("reason", "reason", may_wrap=True),
)


@app.command("list", cls=LeanCommand)
def list_contacts(
    agent: AgentArgument = None, project: ProjectOption = None, exact: ExactFlag = False, json: JsonFlag = False
) -> None:
    """List contact links in both directions."""
    _show("list_contacts", agent, project, as_json=json, exact=exact, nothing="No contact links.")


@app.command("requests", cls=LeanCommand)
def requests(
    agent: AgentArgument = None, project: ProjectOption = None, exact: ExactFlag = False, json: JsonFlag = False
) -> None:
    """List contact requests that wait for an answer, oldest first."""
    _show("contact_requests", agent, project, as_json=json, exact=exact, nothing="No request waits for an answer.")


@app.command("approve", cls=LeanCommand)
def approve(
    target: TargetArgument, source: SourceArgument, project: ProjectOption = None, json: JsonFlag = False
) -> None:
    """Let FROM write to AGENT for 30 days, and deliver what waits.

    In AGENT's place, for one that cannot answer for itself; it is recorded as yours.
    """
    _answer(source, target, project, accept=True, as_json=json)


@app.command("deny", cls=LeanCommand)
def deny(target: TargetArgument, source: SourceArgument, project: ProjectOption = None, json: JsonFlag = False) -> None:
    """Decline FROM's mail to AGENT, and return what waits.

    In AGENT's place, recorded as yours. An approval ends by it.
    """
    _answer(source, target, project, accept=False, as_json=json)


@app.command("policy", cls=LeanCommand)
def policy(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="An agent of the project.")],
    word: Annotated[
        Literal["open", "auto", "contacts_only", "block_all"],
        typer.Argument(metavar="POLICY", help="open, auto, contacts_only or block_all."),
    ],
    project: ProjectOption = None,
    json: JsonFlag = False,
) -> None:
    """Set whose mail an agent takes.

    open: anybody's; auto: that of its project and its contacts; contacts_only; block_all: nobody's. It is recorded as
    yours, and mail that waits stays so until it is answered.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        arguments = {"project_key": project_key(project, context), "agent_name": agent, "policy": word}
        answer = gateway.call("set_contact_policy", arguments)
    if json:
        print_json(answer)
    else:
        print_fields([(key, answer[key]) for key in ("agent", "policy")])


def _answer(source: str, target: str, project: str | None, *, accept: bool, as_json: bool) -> None:
    context = load_context()
    with open_gateway(context) as gateway:
        answer = gateway.call(
            "respond_contact",
            {
                "project_key": project_key(project, context),
                "to_agent": target,
                "from_agent": source,
                "accept": accept,
            },
        )
    if as_json:
        print_json(answer)
        return
    print_fields(
        [
            *((key, answer[key]) for key in ("from", "to", "status")),
            ("expires_ts", time_of(answer["expires_ts"])),
            *((key, len(answer[key])) for key in ("delivered", "returned")),
        ]
    )


def _show(tool: str, agent: str | None, project: str | None, *, as_json: bool, exact: bool, nothing: str) -> None:
    context = load_context()
    with open_gateway(context) as gateway:
        rows = _links(gateway, tool, project_key(project, context), agent)
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, _COLUMNS, nothing=nothing, exact=exact)


def _links(gateway: Gateway, tool: str, project: str, agent: str | None) -> list[Row]:
    """Of one agent, or of all: a link between two of them is shown once, from the side that asks."""
    names = agents_of(gateway, project) if agent is None else [agent]
    links: list[Row] = []
    seen: set[tuple[object, ...]] = set()
    for name in names:
        for link in gateway.call(tool, {"project_key": project, "agent_name": name}):
            key = (link["from"], link["to"], link["created_ts"])
            if agent is not None or key not in seen:
                seen.add(key)
                links.append(link)
    return links
