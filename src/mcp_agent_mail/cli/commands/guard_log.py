"""What `am guard log` shows: the server's record, or the store's, and what still lies in the guard's spool."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.output import Column, Row, at, print_json, print_rows
from mcp_agent_mail.cli.project_option import project_key
from mcp_agent_mail.core.clock import iso, system_clock
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.guard.events import NewGuardEvent, read_detail, read_guard_event
from mcp_agent_mail.guard.hooks.code_repository import NoCodeRepository
from mcp_agent_mail.guard.hooks.install import recorded_project
from mcp_agent_mail.guard.spool import read_spooled


def show_log(project: str | None, *, of_all: bool, limit: int, as_json: bool, exact: bool = False) -> None:
    """Print the guard's last `limit` events, newest first, those still in the spool among them. They are of one
    project, by default the current directory's, unless `of_all`. Raises NoServer only where the spool is empty too.
    """
    context = load_context(is_among_strangers=True)
    key = None if of_all else _project_key(project, context)
    # The spool first: what a server takes in meanwhile is then in both, and not in neither.
    spooled = _spooled(context, key)
    recorded = _recorded(context, key, limit)
    events = _newest([*recorded, *_not_in(recorded, spooled)], limit)
    if as_json:
        print_json({"events": events})
    else:
        print_rows(events, _COLUMNS, nothing="The guard has refused, warned about and let pass nothing.", exact=exact)


def _project_key(project: str | None, context: CliContext) -> str:
    """As the guard itself: what the repository is recorded as comes before where it lies."""
    named = project or context.settings.agent_mail_project
    if named is None:
        with suppress(NoCodeRepository):
            named = recorded_project(Path.cwd())
    return project_key(named, context)


# The events are plain JSON.
def _recorded(context: CliContext, key: str | None, limit: int) -> list[dict[str, Any]]:
    arguments = {"limit": limit} if key is None else {"limit": limit, "project_key": key}
    try:
        with open_gateway(context) as gateway:
            events: list[dict[str, Any]] = gateway.call("list_guard_events", arguments)["events"]
    except NoServer:
        if not read_spooled(context.storage_root):
            raise
        return []
    return [{**event, "is_spooled": False} for event in events]


# As above.
def _spooled(context: CliContext, key: str | None) -> list[dict[str, Any]]:
    """What no server has taken in yet, in the shape of what one gives. What none will take in is left out."""
    shown = []
    for spooled in read_spooled(context.storage_root):
        with suppress(InvalidInput):
            event = read_guard_event(spooled, system_clock())
            if key is None or event.project == key:
                shown.append(_show(event))
    return shown


# As above.
def _show(event: NewGuardEvent) -> dict[str, Any]:
    return {
        **read_detail(event.detail),
        "id": None,
        "ts": iso(event.ts),
        "action": event.action.value,
        "hook": event.hook,
        "agent": event.agent,
        "project": event.project,
        "repository": event.repository,
        "is_spooled": True,
    }


# As above.
def _not_in(recorded: list[dict[str, Any]], spooled: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Less what a server took in since it was read."""
    known = [{**event, "id": None, "is_spooled": True} for event in recorded]
    return [event for event in spooled if event not in known]


# As above.
def _newest(events: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    return sorted(events, key=lambda event: (event["ts"], event["id"] or 0), reverse=True)[:limit]


def _what(row: Row) -> str:
    """The first paths and who holds them, or what went wrong."""
    paths = row.get("paths") or []
    said = [f"{path['path']} ({path['holder']})" for path in paths[:3]]
    more = int(row.get("path_count") or 0) - len(said)
    return ", ".join([*said, *([f"and {more} more"] if more > 0 and said else [])]) or str(row.get("note") or "")


_COLUMNS = (
    Column("when", at("ts")),
    Column("did", "action"),
    Column("hook", "hook"),
    Column("agent", "agent"),
    Column("paths", _what, may_wrap=True),
    Column("repository", "repository", may_wrap=True),
)
