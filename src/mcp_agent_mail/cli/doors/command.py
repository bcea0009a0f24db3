"""`am facade`: doors of other systems: which are open, whom they know, and who may speak as whom."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from mcp_agent_mail.cli.context import CliContext, load_context, read_settings
from mcp_agent_mail.cli.exit_codes import ExitCode, NoServer, tell_error
from mcp_agent_mail.cli.gateway.known_owner import owner_with_address
from mcp_agent_mail.cli.gateway.port import Gateway, open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import Column, ExactFlag, JsonFlag, Row, at, print_fields, print_json, print_rows
from mcp_agent_mail.cli.project_option import absolute_key
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.escaping import visible

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="See the doors of other systems, and who may speak as whom.",
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A name at a door, or an agent's of their project.")]
DoorArgument = Annotated[str, typer.Argument(metavar="DOOR", help="postal, agentmail or claude-mailbox.")]
OfProject = Annotated[
    str | None, typer.Option("--project", "-p", metavar="PROJECT", help="Path or slug. Else FACADES_PROJECT.")
]

_DOORS = (
    Column("door", "door"),
    Column("open", lambda row: "open" if row["open"] else "closed"),
    Column("at", lambda row: ", ".join(row["at"]), may_wrap=True),
    Column("setting", "setting"),
)
_NAMES = (
    Column("name", "name"),
    Column("owner", lambda row: row["owner"] or "-"),
    Column("linked", lambda row: ", ".join(row["linked"]) or "-"),
    Column("agent", "agent"),
    Column("project", "project"),
    Column("since", at("created_ts")),
)


_USUAL_PORT = "7777"


class DoorClosed(Unavailable):
    """A server runs, and does not have the door."""


@app.command("status", cls=LeanCommand)
def status(exact: ExactFlag = False, json: JsonFlag = False) -> None:
    """Say of each door whether it is open, where, and by which setting.

    Of the running server, else of what a start would open.
    """
    context = load_context()
    try:
        with open_gateway(context) as gateway:
            doors = gateway.call("list_doors", {})
    except NoServer:
        doors = _of_settings(context)
    if json:
        print_json(doors)
    else:
        print_rows(doors, _DOORS, nothing="There are no doors.", exact=exact)


def _of_settings(context: CliContext) -> list[Row]:
    """Where there is neither a server nor a store yet."""
    from mcp_agent_mail.bootstrap.doors import door_places
    from mcp_agent_mail.features.doors.tools import show_place

    return [show_place(place) for place in door_places(context.settings)]


@app.command("names", cls=LeanCommand)
def names(exact: ExactFlag = False, json: JsonFlag = False) -> None:
    """List the names that doors know agents by, oldest first.

    The owner is the door whose callers speak as the name; linked are doors that you let speak as it too.
    """
    with open_gateway(load_context()) as gateway:
        rows = list(_names(gateway))
    if json:
        print_json(rows)
    else:
        print_rows(rows, _NAMES, nothing="No door knows anybody yet.", exact=exact)


def _names(gateway: Gateway) -> Iterator[Row]:
    after = 0
    while page := gateway.call("list_door_names", {"after_id": after}):
        yield from page
        after = page[-1]["id"]


@app.command("link", cls=LeanCommand)
def link(name: NameArgument, door: DoorArgument, project: OfProject = None, json: JsonFlag = False) -> None:
    """Let callers of a door speak as a name that it does not own.

    It may be another door's, or an agent's of this server: whoever reaches the door reads and
    sends as it from then on.
    """
    _change("link_door_name", name, door, project, as_json=json)


@app.command("unlink", cls=LeanCommand)
def unlink(name: NameArgument, door: DoorArgument, project: OfProject = None, json: JsonFlag = False) -> None:
    """Take such a link back; what a door owns stays its own."""
    _change("unlink_door_name", name, door, project, as_json=json)


def _change(tool: str, name: str, door: str, project: str | None, *, as_json: bool) -> None:
    at = {} if project is None else {"project_key": absolute_key(project, "--project")}
    with open_gateway(load_context()) as gateway:
        known = gateway.call(tool, {"name": name, "door": door, **at})
    if as_json:
        print_json(known)
    else:
        print_fields([(column.heading, column.text(known)) for column in _NAMES])


@app.command("postal", cls=LeanCommand)
def postal(
    port: Annotated[
        str | None, typer.Option("--port", metavar="PORT", help="The port that the door has to itself; else 7777.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line for each call on the terminal.")] = False,
) -> int:
    """Run the server with the door postal, on a port of its own too.

    As am serve with POSTAL_ENABLED and POSTAL_PORT set, until Ctrl-C or SIGTERM. Where a server of
    this store runs already, it says whether the door is open there, and at --port, or which setting opens it. Exit
    codes: 0 stopped, or open already; 71 it cannot listen there, 75 a server runs without the door,
    78 bad configuration.
    """
    context = load_context()
    if (owner := owner_with_address(context)) is not None and owner.url is not None:
        return _beside(context, port)
    loaded = read_settings(overrides={"POSTAL_ENABLED": "true", "POSTAL_PORT": port or _USUAL_PORT})
    for notice in loaded.notices:
        sys.stderr.write(visible(f"{notice.level.capitalize()}: {notice}\n"))

    from mcp_agent_mail.server.serve import serve

    return serve(loaded.settings, quiet=quiet)


def _beside(context: CliContext, port: str | None) -> int:
    """The store has its one server: it has the door, at that port where one was named, or needs a setting and a
    start.
    """
    url = context.owner_url() or ""
    with open_gateway(context) as gateway:
        door: dict[str, Any] = next(row for row in gateway.call("list_doors", {}) if row["door"] == "postal")
    places = ", ".join(door["at"])
    if door["open"] and _is_at(port, url, door["at"]):
        print_fields([("postal", "open already"), ("server", url), ("at", places)])
        return ExitCode.DONE
    if door["open"]:
        closed = DoorClosed(
            f"The server at {url} has the door postal open, and not at port {port}: it is at {places}.",
            hint=f"Set POSTAL_PORT={port} in its settings, and start it anew.",
        )
    else:
        closed = DoorClosed(
            f"The server at {url} runs without the door postal.",
            hint=f"Set {door['setting']}=true in its settings (POSTAL_PORT is a port of its own), and start it anew.",
        )
    tell_error(closed)
    return ExitCode.TRY_AGAIN


def _is_at(port: str | None, url: str, places: list[str]) -> bool:
    """The server's own port has the door too."""
    if port is None or url.rstrip("/").endswith(f":{port.strip()}"):
        return True
    return any(place.startswith(f"port {port.strip()} of ") for place in places)
