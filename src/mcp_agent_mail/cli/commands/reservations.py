"""`am reservations`: who holds which files, and letting go of what nobody works on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated

import typer

from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.gateway.port import Gateway, open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import Column, ExactFlag, JsonFlag, Row, at, print_fields, print_json, print_rows
from mcp_agent_mail.cli.project_option import ProjectOption, project_key, resource_uri
from mcp_agent_mail.cli.row_flags import lease_state, lease_style
from mcp_agent_mail.core.clock import Micros, system_clock
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.domain.identity.names import HUMAN

_PAGE = 1_000
_MOST = 20_000
_MOST_MINUTES = 366 * 24 * 60

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="See who holds which files, and release what nobody works on.",
)


def _columns(now: Micros) -> tuple[Column, ...]:
    style, state = partial(lease_style, now=now), partial(lease_state, now=now)
    return (
        Column("id", "id", is_right=True),
        Column("agent", "agent"),
        Column("pattern", "path_pattern", may_wrap=True),
        Column("kind", lambda row: "exclusive" if row["exclusive"] else "shared"),
        Column("expires", at("expires_ts"), style=style),
        Column("ended", at("released_ts")),
        Column("holder", lambda row: "idle" if row["stale"] else "", on_terminal=state, style=style),
        Column("reason", "reason", may_wrap=True),
    )


class NoSuchReservation(NotFound):
    """The project has no live reservation of this id."""


@app.command("list", cls=LeanCommand)
def list_reservations(project: ProjectOption = None, exact: ExactFlag = False, json: JsonFlag = False) -> None:
    """List a project's reservations, ended ones too, oldest first."""
    _show(project, as_json=json, exact=exact, active_only=False)


@app.command("active", cls=LeanCommand)
def active(project: ProjectOption = None, exact: ExactFlag = False, json: JsonFlag = False) -> None:
    """List the reservations that hold now."""
    _show(project, as_json=json, exact=exact)


@app.command("soon", cls=LeanCommand)
def soon(
    minutes: Annotated[
        int, typer.Option("--minutes", metavar="N", min=0, max=_MOST_MINUTES, help="Within so many minutes.")
    ] = 10,
    project: ProjectOption = None,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List the reservations that are about to expire."""
    _show(project, as_json=json, exact=exact, until=datetime.now(UTC) + timedelta(minutes=minutes))


def _show(
    project: str | None, *, as_json: bool, exact: bool, active_only: bool = True, until: datetime | None = None
) -> None:
    context = load_context()
    with open_gateway(context) as gateway:
        rows = _leases(gateway, project_key(project, context), active_only=active_only)
    if until is not None:
        rows = [row for row in rows if datetime.fromisoformat(str(row["expires_ts"])) <= until]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, _columns(system_clock()), nothing="No reservations.", exact=exact)


def _leases(gateway: Gateway, project: str, *, active_only: bool) -> list[Row]:
    """Page by page, at most 20,000."""
    leases: list[Row] = []
    page: list[Row] = []
    while len(leases) < _MOST and (not leases or len(page) == _PAGE):
        after = page[-1]["id"] if page else None
        page = gateway.read(
            resource_uri("file_reservations", project, active_only=active_only, limit=_PAGE, after_id=after)
        )
        leases += page
        if not page:
            break
    return leases


@app.command("release", cls=LeanCommand)
def release(
    reservation_id: Annotated[int, typer.Argument(metavar="ID", help="The reservation's id.")],
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why, for its holder.")] = "",
    project: ProjectOption = None,
    json: JsonFlag = False,
) -> None:
    """Release a reservation at once; its holder is told by mail.

    It does not ask whether the holder is at work: calls, mail, files and commits do not stop it.
    """
    context = load_context()
    with open_gateway(context) as gateway:
        key = project_key(project, context)
        lease = _live(gateway, key, reservation_id)
        answer = gateway.call(
            "release_file_reservations",
            {"project_key": key, "agent_name": lease["agent"], "file_reservation_ids": [reservation_id]},
        )
        if answer["released"]:
            _tell_holder(gateway, key, lease, note)
    if json:
        print_json(answer)
    else:
        print_fields(
            [
                ("released", answer["released"]),
                ("pattern", lease["path_pattern"]),
                ("holder", lease["agent"]),
                ("not_released", [entry["reason"] for entry in answer["not_released"]]),
            ]
        )


def _live(gateway: Gateway, project: str, reservation_id: int) -> Row:
    page = gateway.read(resource_uri("file_reservations", project, limit=1, after_id=reservation_id - 1))
    if not page or page[0]["id"] != reservation_id:
        raise NoSuchReservation(
            f"{project} has no live reservation {reservation_id}.", hint="am reservations active lists them."
        )
    lease: Row = page[0]
    return lease


def _tell_holder(gateway: Gateway, project: str, lease: Row, note: str) -> None:
    """In its name the operator let go: whoever held it must not go on editing."""
    why = f"\n\n{note}" if note else ""
    gateway.call(
        "send_message",
        {
            "project_key": project,
            "sender_name": HUMAN,
            "to": [lease["agent"]],
            "subject": f"Your reservation {lease['id']} was released",
            "body_md": f"The operator released `{lease['path_pattern']}`. Reserve it again before you edit.{why}",
            "importance": "high",
        },
    )
