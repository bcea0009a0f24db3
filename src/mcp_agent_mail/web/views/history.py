"""The history of a project as pages show it: commits, what one changed, files, and figures over time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from mcp_agent_mail.archive.reading.browser import CommitChange, ShownFile, ShownFolder
from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.history.results import PastDays
from mcp_agent_mail.store.mail.past_mail import DAY, MailPair
from mcp_agent_mail.web.addresses import HOME, agent_url, with_query
from mcp_agent_mail.web.render.circle_layout import AgentGraph, GraphAgent, GraphLine, agent_graph

MOST_DIFF_LINES = 3_000
_FILE_HEAD = "diff --git "
_SAID = (_FILE_HEAD, "index ", "--- ", "+++ ")
"""What a head has beside the name of its file, which stands above it."""
_ESCAPED = re.compile(r"\\([abtnvfr\"\\]|[0-7]{3})")
_ESCAPES = dict(zip('abtnvfr"\\', '\a\b\t\n\v\f\r"\\', strict=True))
_BAR, _HEIGHT = 12, 96
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
class ChangedFileView:
    """What became of a file. `added` and `removed` are None where Git counts no lines, as in bytes. Without `parts` its
    lines are beyond the bound. `is_open`: it is shown unfolded.
    """

    path: str
    added: int | None
    removed: int | None
    parts: Sequence[ChangePart]
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    files: Sequence[ChangedFileView]
    is_whole: bool


def diff_view(change: CommitChange) -> ChangeView:
    """The first MOST_DIFF_LINES of what a commit changed, by file. A file is unfolded where it is the only one."""
    lines = change.diff.split("\n")
    sections = _sections(lines[:MOST_DIFF_LINES])
    counted = [(one.path, one.added, one.removed, sections.pop(_as_told(one.path), [])) for one in change.files]
    found = [*counted, *(_counted(*one) for one in sections.items())]
    files = [
        ChangedFileView(
            path=path,
            added=added,
            removed=removed,
            parts=_change_parts(section),
            is_open=bool(section) and len(found) == 1,
        )
        for path, added, removed, section in found
    ]
    return ChangeView(files=files, is_whole=change.is_whole_diff and len(lines) <= MOST_DIFF_LINES)


def _sections(lines: Sequence[str]) -> dict[str, list[str]]:
    """The lines of each file. Of one that became a link, or was one, Git tells in two pieces."""
    sections: dict[str, list[str]] = {}
    own: list[str] = []
    for line in lines:
        if line.startswith(_FILE_HEAD):
            own = sections.setdefault(_path_in(line), [])
        own.append(line)
    return sections


def _path_in(head: str) -> str:
    """`diff --git a/PATH b/PATH`, both the same: in quotes where the path has a quote or control characters."""
    told = head.removeprefix(_FILE_HEAD)
    first = told[: len(told) // 2]
    if not first.startswith('"'):
        return first.removeprefix("a/")
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1]) or chr(int(found[1], 8)), first[1:-1]).removeprefix("a/")


def _as_told(path: str) -> str:
    """As it stands in the text of a diff, which has no bytes that are no text."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _counted(path: str, section: list[str]) -> tuple[str, int, int, list[str]]:
    """A file whose lines Git did not count for us."""
    kinds = [kind for kind, _ in _kinds(section)]
    return path, kinds.count("added"), kinds.count("removed"), section


def _change_parts(section: Sequence[str]) -> list[ChangePart]:
    groups = groupby(_kinds(section), key=lambda one: one[0])
    return [ChangePart(kind=kind, text="\n".join(line for _, line in group)) for kind, group in groups]


def _kinds(section: Sequence[str]) -> Iterator[tuple[str, str]]:
    is_head = False
    for line in section:
        is_head = line.startswith(_FILE_HEAD) or (is_head and not line.startswith("@@"))
        if is_head and line.startswith(_SAID):
            continue
        yield "file" if is_head else _kind(line), line


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


def folder_rest(slug: str, folder: ShownFolder) -> str | None:
    """Where a folder goes on."""
    if not folder.has_more:
        return None
    return archive_url("browser", slug, path=folder.path, skip=folder.skipped + len(folder.listed))


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


def shown_agent(name: str, slug: str, here: str) -> str:
    """With its project where that is another one."""
    return name if slug == here else f"{name}@{slug}"


def network_graph(pairs: Sequence[MailPair], here: str) -> AgentGraph:
    """Both directions of a pair are one line, as wide as they wrote to each other much."""
    agents: dict[str, GraphAgent] = {}
    between: dict[tuple[str, str], int] = {}
    for one in pairs:
        ends = []
        for name, slug in ((one.sender, one.sender_slug), (one.recipient, one.recipient_slug)):
            label = shown_agent(name, slug, here)
            agents[label] = GraphAgent(label=label, name=name, href=agent_url(slug, name))
            ends.append(label)
        first, second = sorted(ends)
        between[first, second] = between.get((first, second), 0) + one.messages
    lines = [
        GraphLine(source=first, target=second, kind="mail", said=f"{first} and {second}: {count:,}", weight=count)
        for (first, second), count in between.items()
    ]
    return agent_graph(list(agents.values()), lines)
