"""Search by words and filters, over all projects or in one."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import read_number
from mcp_agent_mail.domain.projects import Project, UnknownProject
from mcp_agent_mail.features.oversight.mail_search import FoundHits, HitsRequest
from mcp_agent_mail.features.projects.lookup import AmbiguousProject
from mcp_agent_mail.web.addresses import HOME, project_url, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.filters import OperatorsFilter, UnfitFilter, WrittenFilter, read_filter
from mcp_agent_mail.web.refusals import for_people, status_of
from mcp_agent_mail.web.request import PageAnswer, redirect
from mcp_agent_mail.web.views.found_mail import hit_rows

PAGE_SIZE = 25
MOST_PAGES = 8
"""Who has not found it in so many pages asks otherwise."""


async def search(page: PageContext) -> PageAnswer:
    """`/mail/search?q=…&page=…`, over all projects."""
    return await _search(page, None)


async def search_project(page: PageContext) -> PageAnswer:
    """The same in one project."""
    return await _search(page, await page.services.pages.oversight.project(page.keys["project"]))


async def _search(page: PageContext, project: Project | None) -> PageAnswer:
    written = page.request.asked("q")
    here = f"{HOME}/search" if project is None else project_url(project.slug, "search")
    number = 1
    found, refused, notes = None, None, list[str]()
    try:
        number = search_page(page.request.asked("page"))
        typed = read_filter(written, page.now)
        require_own(page, typed)
        if not typed.words and written:
            alone = written if project is None else f"{written} project:{project.slug}"
            return redirect(with_query(HOME, {"q": alone}))
        if typed.words:
            oversight = page.services.pages.oversight
            named = project
            if named is None and typed.project is not None:
                named = await oversight.meant(typed.project)
            unknown = await oversight.unknown_agents([one for one in (typed.sender, typed.recipient) if one])
            notes = [one for one in (*typed.notes, unknown) if one]
            found = await page.services.pages.search.find(page.caller, hits_request(typed, number, named))
    except (UnfitFilter, OperatorsFilter, UnknownProject, AmbiguousProject) as error:
        refused = for_people(error)
    return await _shown(page, project, (written, here, number), found, refused, notes)


def require_own(page: PageContext, typed: WrittenFilter) -> None:
    """Raise OperatorsFilter where somebody else asks what the person has read or owes."""
    if typed.is_of_person and not page.caller.is_operator:
        raise OperatorsFilter


def hits_request(typed: WrittenFilter, number: int, project: Project | None, *, is_system: bool = False) -> HitsRequest:
    """The page of this number. `is_system`: of the mail of `System` alone."""
    return HitsRequest(
        words=typed.words,
        limit=PAGE_SIZE * number,
        skip=PAGE_SIZE * (number - 1),
        project_key=None if project is None else project.slug,
        sender=typed.sender,
        recipient=typed.recipient,
        thread_id=typed.thread_id,
        importance=typed.importance,
        topic=typed.topic,
        begin_ts=typed.begin_ts,
        end_ts=typed.end_ts,
        is_unread=typed.is_unread,
        needs_ack=typed.needs_ack,
        is_system=is_system,
    )


async def _shown(
    page: PageContext,
    project: Project | None,
    asked: tuple[str, str, int],
    found: FoundHits | None,
    refused: AgentMailError | None,
    notes: Sequence[str],
) -> PageAnswer:
    written, here, number = asked
    rows = [] if found is None else hit_rows(found)
    more = None
    if found is not None and found.has_more and number < MOST_PAGES:
        more = with_query(here, {"q": written, "page": number + 1})
    model = {
        "written": written,
        "here": here,
        "found": found,
        "rows": rows,
        "number": number,
        "refused": refused,
        "notes": notes,
        "more": more,
        "is_at_end": found is not None and found.has_more and more is None,
        "of_project": None if project is None else project.slug,
    }
    return await page.shown(
        "search.html",
        model,
        title="Search" if not written else f"Search: {written[:80]}",
        section="search" if project is None else "",
        project=None if project is None else project.slug,
        status=200 if refused is None else status_of(refused),
    )


def search_page(text: str) -> int:
    """The number of a page of a search, 1 where none is asked for. Raises UnfitFilter."""
    if not text:
        return 1
    number = read_number(text)
    if number is None or not 1 <= number <= MOST_PAGES:
        raise UnfitFilter(f"{text!r:.50} is no page of a search.", hint=f"There are at most {MOST_PAGES}.")
    return number
