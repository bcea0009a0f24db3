"""An overview as a person sees it: a few lines of figures, the busiest tools, and the agents that were active last."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_agent_mail.cli.ages import age
from mcp_agent_mail.cli.top.full_look import AgentLook, CallLook, FullLook
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.escaping import on_one_line
from mcp_agent_mail.core.logging import color_system

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

_GOOD, _BAD, _DIM, _LOUD = "green", "bold red", "dim", "bold"
_ROWS_AT_LEAST = 3


def figures(overview: FullLook) -> list[tuple[str, object]]:
    """Name and value of each, for a person and for a pipe; None where nobody knows."""
    calls, is_up = overview.calls, overview.server != "none"
    seen = "" if overview.projects_seen >= overview.projects else f" ({overview.projects_seen} of them looked at)"
    return [
        ("server", overview.server if is_up else "no server"),
        ("problem", overview.problem),
        ("url", overview.url),
        ("version", overview.version),
        ("projects", f"{_at_least(overview.projects, has_more=overview.has_more_projects)}{seen}"),
        ("agents", _at_least(overview.agents, has_more=overview.has_more_agents)),
        ("unread", _at_least(overview.unread, has_more=overview.has_more_unread)),
        ("leases", _at_least(overview.leases, has_more=overview.has_more_leases)),
        ("calls/s", None if calls is None else f"{calls.calls_per_s:g}"),
        ("errors/s", None if calls is None else f"{calls.errors_per_s:g}"),
        ("p95", _milliseconds(calls)),
        ("pending", _pending(overview)),
        ("waiting", None if overview.waits is None else f"{overview.waits} calls, {overview.streams or 0} streams"),
    ]


def _at_least(count: int, *, has_more: bool) -> str:
    return f"{count}+" if has_more else str(count)


def _milliseconds(calls: CallLook | None) -> str | None:
    if calls is None:
        return None
    if calls.p95_ms is not None:
        return f"{calls.p95_ms:g} ms"
    return None if calls.p95_ms_since_start is None else f"{calls.p95_ms_since_start:g} ms since the start"


def _pending(overview: FullLook) -> str | None:
    if overview.pending_events is None:
        return None
    oldest = f", the oldest for {overview.oldest_pending_s:g} s" if overview.pending_events else ""
    return f"{overview.pending_events} events for Git{oldest}"


def frame(overview: FullLook, *, now: Micros) -> list[str]:
    """The lines of a terminal of this size, not one more, in colours where it takes them."""
    # rich costs 0.06 s, so only a terminal pays for it.
    from rich.console import Console

    width, height = shutil.get_terminal_size()
    console = Console(
        file=sys.stdout, width=width, height=height, color_system=color_system(), highlight=False, force_terminal=True
    )
    with console.capture() as captured:
        for part in _parts(overview, height, now):
            console.print(part, overflow="ellipsis", no_wrap=True, crop=True)
    return captured.get().splitlines()[: height - 1]


def _parts(overview: FullLook, height: int, now: Micros) -> list[RenderableType]:
    head = _head(overview)
    tools = _tools(overview.calls)
    taken = len(head) + (tools.row_count + 2 if tools else 0) + 3
    room = max(_ROWS_AT_LEAST, height - taken)
    between: list[RenderableType] = [] if tools is None else ["", tools]
    return [*head, *between, "", _agents(overview.rows[:room], now)]


def _head(overview: FullLook) -> list[Text]:
    from rich.text import Text

    known = {name: on_one_line(str(value)) for name, value in figures(overview) if value is not None}
    is_well = overview.server == "ok"
    first = Text.assemble(
        ("am top  ", _LOUD), (known.pop("server"), _GOOD if is_well else _BAD), f"  {known.pop('url', '')}"
    )
    problem = known.pop("problem", None)
    known.pop("version", None)
    rest = list(known.items())
    lines = [_pairs(rest[at : at + 4]) for at in range(0, len(rest), 4)]
    return [first, *([Text(problem, style=_BAD)] if problem else []), *lines]


def _pairs(pairs: list[tuple[str, str]]) -> Text:
    from rich.text import Text

    line = Text()
    for name, value in pairs:
        line.append(f"{name} ", _DIM).append(value, _LOUD).append("   ")
    return line


def _tools(calls: CallLook | None) -> Table | None:
    if calls is None or not calls.tools:
        return None
    table = _table(("TOOL", "left"), ("CALLS/S", "right"), ("P95 MS", "right"))
    for row in calls.tools:
        table.add_row(_cell(row.tool), f"{row.calls_per_s:g}", "-" if row.p95_ms is None else f"{row.p95_ms:g}")
    return table


def _agents(rows: Sequence[AgentLook], now: Micros) -> RenderableType:
    from rich.text import Text

    if not rows:
        return Text("No agents yet.", style=_DIM)
    table = _table(
        ("AGENT", "left"),
        ("PROJECT", "left"),
        ("PROGRAM", "left"),
        ("UNREAD", "right"),
        ("LEASES", "right"),
        ("ACTIVE", "right"),
        ("LISTENING", "left"),
    )
    for row in rows:
        table.add_row(
            _cell(row.name),
            _cell(row.project),
            _cell(row.program),
            Text("-" if row.unread is None else str(row.unread), style=_LOUD if row.unread else _DIM),
            Text(_at_least(row.leases, has_more=row.has_more_leases), style="" if row.leases else _DIM),
            age(row.last_active_ts, now),
            "yes" if row.listening else "-",
        )
    return table


def _cell(words: str) -> Text:
    """Words of peers: no markup, nothing that a terminal would obey."""
    from rich.text import Text

    return Text(on_one_line(words))


def _table(*headings: tuple[str, str]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style=_DIM)
    for heading, side in headings:
        table.add_column(heading, justify="right" if side == "right" else "left", no_wrap=True, overflow="ellipsis")
    return table
