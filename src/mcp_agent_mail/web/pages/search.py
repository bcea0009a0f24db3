"""Search by words and filters, over all projects or in one."""

from __future__ import annotations

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.oversight.mail_search import FoundHits, SearchWish
from mcp_agent_mail.web.addresses import HOME, project_url, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.inbox import UnfitFilter, read_terms
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
    number = _page_number(page.request.asked("page"))
    found, refused = None, None
    try:
        terms = read_terms(written)
        if project is None and not terms.words and written:
            return redirect(with_query(HOME, {"q": written}))
        if terms.words:
            wish = SearchWish(
                words=terms.words,
                limit=PAGE_SIZE * number,
                project_key=terms.project if project is None else project.slug,
                sender=terms.sender,
                importance=terms.importance,
                topic=terms.topic,
                is_unread=terms.is_unread,
                needs_ack=terms.needs_ack,
            )
            found = await page.services.pages.search.find(page.caller, wish)
    except UnfitFilter as error:
        refused = error
    return await _shown(page, project, written, here, number, found, refused)


async def _shown(
    page: PageContext,
    project: Project | None,
    written: str,
    here: str,
    number: int,
    found: FoundHits | None,
    refused: AgentMailError | None,
) -> PageAnswer:
    rows = [] if found is None else hit_rows(found)[PAGE_SIZE * (number - 1) :]
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
        status=400 if refused is not None else 200,
    )


def _page_number(text: str) -> int:
    if not text:
        return 1
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= MOST_PAGES):
        raise UnfitFilter(f"{text!r:.50} is no page of a search.", hint=f"There are at most {MOST_PAGES}.")
    return int(text)
