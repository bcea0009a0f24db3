"""Looking back over a project: its archive's commits and files, mail over time, an inbox as it was."""

from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.archive.reading.browser import ShownFolder
from mcp_agent_mail.core.clock import SECOND, Micros, iso, parse_time
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.names import UnknownAgent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.history.results import PastInbox
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.message import message_number
from mcp_agent_mail.web.pages.page_numbers import page_number
from mcp_agent_mail.web.refusals import for_people, status_of
from mcp_agent_mail.web.request import PageAnswer
from mcp_agent_mail.web.views.commit_lines import commit_lines
from mcp_agent_mail.web.views.history import (
    archive_url,
    charts,
    day_rows,
    diff_view,
    file_text,
    folder_links,
    folder_rest,
    network_graph,
    shown_agent,
    trail,
)

COMMITS_A_PAGE = 50
PAST_MAIL = 50
SHOWN_TEXT = 4_000
"""Characters of a text that was purged since."""
_SECTION = "history"
_MOST_PROJECTS = 200
_TABS = (
    ("activity", "Activity"),
    ("timeline", "Timeline"),
    ("network", "Who writes to whom"),
    ("browser", "Files"),
    ("time-travel", "An inbox at a past time"),
    ("guide", "Guide"),
)


_AGO = (("1 h ago", 3_600 * SECOND), ("yesterday", 86_400 * SECOND), ("last week", 7 * 86_400 * SECOND))


class UnfitTime(InvalidInput):
    """What stands for a time is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLink:
    page: str
    label: str
    href: str


async def _project(page: PageContext) -> Project | None:
    """The one that is asked for, else the only one that there is."""
    if key := page.request.asked("project"):
        return await page.services.pages.oversight.project(key)
    known = await page.services.pages.oversight.projects(limit=2)
    return known[0] if len(known) == 1 else None


async def _shown(page: PageContext, name: str, project: Project | None, **model: object) -> PageAnswer:
    slug = None if project is None else project.slug
    tabs = [HistoryLink(page=one, label=label, href=archive_url(one, slug)) for one, label in _TABS]
    label = dict(_TABS).get(name, "Commit")
    template = f"history_{name.replace('-', '_')}.html"
    told = {"tabs": tabs, "tab": name, "here": slug, **model}
    return await page.shown(
        template, told, title=f"{label} · {slug}" if slug else label, section=_SECTION, project=slug
    )


async def _choice(page: PageContext, name: str) -> PageAnswer:
    """Which project's? Every page of history is about one."""
    known = await page.services.pages.oversight.projects(limit=_MOST_PROJECTS)
    choices = [(one.name, one.slug, archive_url(name, one.slug)) for one in known]
    tabs = [HistoryLink(page=one, label=label, href=archive_url(one, None)) for one, label in _TABS]
    model = {"tabs": tabs, "tab": name, "here": None, "choices": choices}
    return await page.shown("history_choice.html", model, title=dict(_TABS).get(name, "Commit"), section=_SECTION)


async def guide(page: PageContext) -> PageAnswer:
    """How one reads an archive by hand."""
    return await _shown(page, "guide", await _project(page))


async def activity(page: PageContext) -> PageAnswer:
    """The newest commits; `after` goes on behind one."""
    if (project := await _project(page)) is None:
        return await _choice(page, "activity")
    after = page.request.asked("after") or None
    history = page.services.pages.history
    found = await history.commits(page.caller, project, after=after, limit=COMMITS_A_PAGE + 1)
    shown = found[:COMMITS_A_PAGE]
    more = archive_url("activity", project.slug, after=shown[-1].hexsha) if len(found) > COMMITS_A_PAGE else None
    rows = [(one, archive_url("commit", project.slug, key=one.hexsha)) for one in shown]
    return await _shown(page, "activity", project, rows=rows, more=more, is_first=after is None)


async def commit(page: PageContext) -> PageAnswer:
    """What a commit says; for the operator what it changed, too."""
    if (project := await _project(page)) is None:
        return await _choice(page, "activity")
    found = await page.services.pages.history.change(page.caller, project, page.keys["commit"])
    parents = [(one, archive_url("commit", project.slug, key=one)) for one in found.parents]
    shows_files = page.caller.is_operator
    diff = diff_view(found) if shows_files else None
    happened, unsaid = commit_lines(found.told)
    model = {"change": found, "parents": parents, "diff": diff, "shows_files": shows_files}
    return await _shown(page, "commit", project, happened=happened, unsaid=unsaid, **model)


async def browser(page: PageContext) -> PageAnswer:
    """A folder or a file of the archive as it is now."""
    if (project := await _project(page)) is None:
        return await _choice(page, "browser")
    skip = page_number(page.request.asked("skip")) or 0
    found = await page.services.pages.history.look(page.caller, project, page.request.asked("path"), skip=skip)
    links = trail(project.slug, found.path)
    if isinstance(found, ShownFolder):
        listed, more = folder_links(project.slug, found), folder_rest(project.slug, found)
        return await _shown(page, "browser", project, trail=links, listed=listed, more=more, skipped=skip, file=None)
    text = file_text(found)
    return await _shown(page, "browser", project, trail=links, listed=None, file=found, text=text)


async def timeline(page: PageContext) -> PageAnswer:
    """Messages and commits a day."""
    if (project := await _project(page)) is None:
        return await _choice(page, "timeline")
    days = await page.services.pages.history.days(page.caller, project)
    return await _shown(page, "timeline", project, charts=charts(days), rows=day_rows(days))


async def network(page: PageContext) -> PageAnswer:
    """Who wrote to whom: all of it as a table, the most of it as a picture."""
    if (project := await _project(page)) is None:
        return await _choice(page, "network")
    pairs = await page.services.pages.history.pairs(page.caller, project)
    here = project.slug
    rows = [
        (shown_agent(one.sender, one.sender_slug, here), shown_agent(one.recipient, one.recipient_slug, here), one)
        for one in pairs
    ]
    return await _shown(page, "network", project, rows=rows, graph=network_graph(pairs, here))


async def time_travel(page: PageContext) -> PageAnswer:
    """`?agent=…&at=…`: an inbox as it was then; the form alone without them."""
    if (project := await _project(page)) is None:
        return await _choice(page, "time-travel")
    agent, written = page.request.asked("agent"), page.request.asked("at")
    names = await page.services.pages.history.names(project)
    past, at, refused = None, None, None
    try:
        if agent and written:
            at = _time(written)
            past = await page.services.pages.history.past_inbox(page.caller, project, agent, at=at, limit=PAST_MAIL)
    except (UnfitTime, UnknownAgent) as error:
        refused = for_people(error)
    model: dict[str, object] = {
        "names": names,
        "agent": agent,
        "at": written if refused is not None else iso(page.now if at is None else at)[:19],
        "times": [
            (label, archive_url("time-travel", project.slug, agent=agent, at=iso(Micros(page.now - ago))[:19]))
            for label, ago in _AGO
        ],
        "past": past,
        "texts": {} if past is None else _texts(past),
    }
    model |= {"refused": refused, "faulty": "at" if isinstance(refused, UnfitTime) else "agent"}
    answer = await _shown(page, "time-travel", project, **model)
    return answer if refused is None else replace(answer, status=status_of(refused))


def _time(text: str) -> Micros:
    try:
        return parse_time(text)
    except ValueError:
        raise UnfitTime(f"{text!r:.60} is no time.", hint="Write it as 2026-05-01T10:00:00Z.") from None


def _texts(past: PastInbox) -> dict[int, str]:
    """The beginnings of those texts that the live mail has no more."""
    return {one: past.bodies[one][:SHOWN_TEXT] for one in past.purged if one in past.bodies}


async def raw(page: PageContext) -> PageAnswer:
    """The archive's file of a message, as text."""
    project = await page.services.pages.oversight.project(page.keys["project"])
    number = message_number(page.keys["message"])
    content = await page.services.pages.history.raw_message(page.caller, project, number)
    headers = (("content-security-policy", "sandbox"), ("x-content-type-options", "nosniff"))
    return PageAnswer(body=content, media_type="text/plain; charset=utf-8", headers=headers)
