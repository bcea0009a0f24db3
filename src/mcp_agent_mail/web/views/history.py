"""The history of a project as pages show it: commits, what one changed, files, and figures over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from mcp_agent_mail.archive.reading.browser import CommitChange, ShownFile, ShownFolder
from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.features.history.results import PastDays
from mcp_agent_mail.store.mail.past_mail import DAY, MailPair
from mcp_agent_mail.web.addresses import HOME, with_query

MOST_DIFF_LINES = 3_000
MOST_NODES = 24
_BAR, _HEIGHT = 12, 96
_RADIUS, _CENTRE_X, _CENTRE_Y = 150, 320, 190
_TEXT_CONTROLS = frozenset(range(32)) - {9, 10, 12, 13}


def archive_url(page: str, slug: str | None, *, key: str | None = None, **asked: str | int | None) -> str:
    """A page about a project's archive; `key` is a further part of its path."""
    path = f"{HOME}/archive/{page}" if key is None else f"{HOME}/archive/{page}/{key}"
    return with_query(path, {"project": slug, **asked})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePart:
    """Lines of one kind that stand together: `added`, `removed`, `place`, `file` or `same`."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    parts: Sequence[ChangePart]
    is_whole: bool


def diff_view(change: CommitChange) -> ChangeView:
    """The first MOST_DIFF_LINES of what a commit changed."""
    lines = change.diff.split("\n")
    shown = lines[:MOST_DIFF_LINES]
    parts, is_head = [], False
    kinds = []
    for line in shown:
        is_head = line.startswith("diff --git ") or (is_head and not line.startswith("@@"))
        kinds.append("file" if is_head else _kind(line))
    for kind, group in groupby(zip(kinds, shown, strict=True), key=lambda one: one[0]):
        parts.append(ChangePart(kind=kind, text="\n".join(line for _, line in group)))
    return ChangeView(parts=parts, is_whole=change.is_whole_diff and len(lines) <= MOST_DIFF_LINES)


def _kind(line: str) -> str:
    if line.startswith("@@"):
        return "place"
    return {"+": "added", "-": "removed"}.get(line[:1], "same")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathLink:
    """`href` is None for a name that no address can hold."""

    name: str
    href: str | None
    is_folder: bool = True
    size_bytes: int | None = None


def trail(slug: str, path: str) -> list[PathLink]:
    """The folders above a path, and it, from the root on."""
    parts = path.split("/") if path else []
    links = [PathLink(name=slug, href=archive_url("browser", slug))]
    for count, part in enumerate(parts, 1):
        links.append(PathLink(name=part, href=_browser_url(slug, "/".join(parts[:count]))))
    return links


def folder_links(slug: str, folder: ShownFolder) -> list[PathLink]:
    """What lies in a folder."""
    before = f"{folder.path}/" if folder.path else ""
    return [
        PathLink(
            name=one.name,
            href=_browser_url(slug, before + one.name),
            is_folder=one.is_folder,
            size_bytes=one.size_bytes,
        )
        for one in folder.listed
    ]


def _browser_url(slug: str, path: str) -> str | None:
    try:
        path.encode()
    except UnicodeEncodeError:
        return None
    return archive_url("browser", slug, path=path)


def file_text(file: ShownFile) -> str | None:
    """The content, if it is text."""
    if file.content is None or _TEXT_CONTROLS & set(file.content[:8_192]):
        return None
    return file.content.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A day in a chart, in its own units; `top` is measured from above."""

    left: int
    top: int
    height: int
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Bars of one figure on the axis of days. `latest` is today's, `total` that of all days, `most` that of the highest
    bar.
    """

    title: str
    kind: str
    bars: Sequence[Bar]
    latest: int
    total: int
    most: int
    width: int
    height: int = _HEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRow:
    day: str
    messages: int
    commits: int


def day_name(day: int) -> str:
    """`2026-05-01`."""
    return iso(Micros(day * DAY))[:10]


def charts(days: PastDays) -> list[Chart]:
    """Small multiples on one axis."""
    return [
        _chart("Messages", "messages", "message", days.first_day, days.messages),
        _chart("Commits", "commits", "commit", days.first_day, days.commits),
    ]


def _chart(title: str, kind: str, unit: str, first_day: int, counts: Sequence[int]) -> Chart:
    most = max(counts)
    bars = []
    for place, count in enumerate(counts):
        height = 0 if not count else max(2, round(count / most * (_HEIGHT - 4)))
        said = f"{day_name(first_day + place)}: {count:,} {unit if count == 1 else unit + 's'}"
        bars.append(Bar(left=place * _BAR + 1, top=_HEIGHT - height, height=height, said=said))
    return Chart(
        title=title,
        kind=kind,
        bars=bars,
        latest=counts[-1],
        total=sum(counts),
        most=most,
        width=len(counts) * _BAR,
    )


def day_rows(days: PastDays) -> list[DayRow]:
    """Days on which anything was, newest first."""
    rows = [
        DayRow(day=day_name(days.first_day + place), messages=sent, commits=made)
        for place, (sent, made) in enumerate(zip(days.messages, days.commits, strict=True))
        if sent or made
    ]
    return rows[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPoint:
    """An agent in the picture; `anchor` is how its name stands beside it."""

    name: str
    x: int
    y: int
    text_x: int
    text_y: int
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLine:
    """A line between two agents, as wide as they wrote to each other much."""

    x1: int
    y1: int
    x2: int
    y2: int
    width: int
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsView:
    """`left_out` is how many agents the picture has no room for: the table has them."""

    nodes: Sequence[AgentPoint]
    edges: Sequence[PairLine]
    left_out: int
    width: int = 2 * _CENTRE_X
    height: int = 2 * _CENTRE_Y


def shown_agent(name: str, slug: str, here: str) -> str:
    """With its project where that is another one."""
    return name if slug == here else f"{name}@{slug}"


def network_view(pairs: Sequence[MailPair], here: str) -> PairsView:
    """The MOST_NODES agents that wrote or had most, on a circle."""
    totals: dict[str, int] = {}
    between: dict[tuple[str, str], int] = {}
    for one in pairs:
        ends = sorted(
            (shown_agent(one.sender, one.sender_slug, here), shown_agent(one.recipient, one.recipient_slug, here))
        )
        between[ends[0], ends[1]] = between.get((ends[0], ends[1]), 0) + one.messages
        for name in set(ends):
            totals[name] = totals.get(name, 0) + one.messages
    kept = sorted(totals, key=lambda name: (-totals[name], name))[:MOST_NODES]
    nodes = {name: _node(name, place, len(kept)) for place, name in enumerate(sorted(kept))}
    most = max(between.values(), default=1)
    edges = [
        PairLine(
            x1=nodes[first].x,
            y1=nodes[first].y,
            x2=nodes[second].x,
            y2=nodes[second].y,
            width=1 + round(5 * count / most),
            said=f"{first} and {second}: {count:,}",
        )
        for (first, second), count in between.items()
        if first in nodes and second in nodes and first != second
    ]
    return PairsView(nodes=list(nodes.values()), edges=edges, left_out=len(totals) - len(kept))


def _node(name: str, place: int, count: int) -> AgentPoint:
    angle = 2 * math.pi * place / count - math.pi / 2
    across, down = math.cos(angle), math.sin(angle)
    anchor = "middle" if abs(across) < 0.2 else "start" if across > 0 else "end"
    return AgentPoint(
        name=name,
        x=round(_CENTRE_X + _RADIUS * across),
        y=round(_CENTRE_Y + _RADIUS * down),
        text_x=round(_CENTRE_X + (_RADIUS + 12) * across),
        text_y=round(_CENTRE_Y + (_RADIUS + (20 if anchor == "middle" else 4)) * down + 4),
        anchor=anchor,
    )
