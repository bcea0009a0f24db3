"""The inbox over all projects, in three boxes: what needs a person, all mail, and what `System` told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import read_number
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.projects import Project, UnknownProject
from mcp_agent_mail.features.oversight.mail_search import FoundHits
from mcp_agent_mail.features.oversight.needs import NeedsPlace
from mcp_agent_mail.features.oversight.service import MailPageRequest
from mcp_agent_mail.features.projects.lookup import AmbiguousProject
from mcp_agent_mail.web.addresses import HOME, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.filters import OperatorsFilter, UnfitFilter, WrittenFilter, read_filter
from mcp_agent_mail.web.pages.contacts import did
from mcp_agent_mail.web.pages.message import open_message
from mcp_agent_mail.web.pages.page_numbers import page_number
from mcp_agent_mail.web.pages.search import MOST_PAGES, hits_request, require_own, search_page
from mcp_agent_mail.web.refusals import for_people, status_of
from mcp_agent_mail.web.request import PageAnswer
from mcp_agent_mail.web.views.found_mail import found_rows
from mcp_agent_mail.web.views.mail import MailList, MailRow, mail_rows, person_row
from mcp_agent_mail.web.views.needs import needs_view, told_reminders

BOXES = ("mail", "needs", "log")
PAGE_SIZE = 50
_TITLES = {"mail": "Mail", "needs": "Needs you", "log": "Log"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """What the list holds, and the rest of what its page says. `more` is where the next page begins."""

    rows: Sequence[MailRow] = ()
    more: Mapping[str, int] | None = None
    project: Project | None = None
    found: FoundHits | None = None
    notes: Sequence[str] = ()
    refused: AgentMailError | None = None


async def inbox(page: PageContext) -> PageAnswer:
    """`/mail?box=…&q=…&before=…&open=…`: as text filters, like everything here, so that an address says it all: the
    message that is read beside the list too, as `open=project.number`. Words are searched for, `page` by page.
    """
    box, written = page.request.asked("box", "mail"), page.request.asked("q")
    if box not in BOXES:
        raise UnfitFilter(f"There is no box {box!r:.50}.", hint=f"Choose one of {', '.join(BOXES)}.")
    if box == "needs":
        return await _needs(page)
    typed = WrittenFilter()
    try:
        typed = read_filter(written, page.now)
        listed = await _listed(page, box, typed)
    except (UnfitFilter, OperatorsFilter, UnknownProject, AmbiguousProject) as refused:
        listed = _Listed(refused=for_people(refused))
    found, project = listed.found, listed.project
    read = page.request.asked("open")
    opened = await open_message(page, *read.rpartition(".")[::2]) if read else None
    more = None if listed.more is None else _address(box, written, listed.more)
    here = {name: page.request.asked(name) for name in ("before", "page")}
    model = {
        "box": box,
        "written": written,
        "mail": MailList(rows=listed.rows, next_href=more),
        "found": found,
        "is_at_end": found is not None and found.has_more and more is None,
        "notes": listed.notes,
        "refused": listed.refused,
        "of_project": project if typed == WrittenFilter(project=typed.project) else None,
        **({"message": None} if opened is None else opened.model),
        "shut_href": _address(box, written, here),
    }
    return await page.shown(
        "inbox.html",
        model,
        title=_TITLES[box],
        section=box,
        project=None if project is None else project.slug,
        status=200 if listed.refused is None else status_of(listed.refused),
    )


async def _listed(page: PageContext, box: str, typed: WrittenFilter) -> _Listed:
    oversight = page.services.pages.oversight
    require_own(page, typed)
    project = None if typed.project is None else await oversight.meant(typed.project)
    names = [one for one in (typed.sender, typed.recipient) if one is not None]
    unknown = await oversight.unknown_agents(names)
    notes = [one for one in (*typed.notes, unknown) if one]
    if typed.words:
        number = search_page(page.request.asked("page"))
        asked = hits_request(typed, number, project, is_system=box == "log")
        found = await page.services.pages.search.find(page.caller, asked)
        more = {"page": number + 1} if found.has_more and number < MOST_PAGES else None
        return _Listed(rows=found_rows(found), more=more, project=project, found=found, notes=notes)
    request = MailPageRequest(
        limit=PAGE_SIZE,
        before=_before(page.request.asked("before")),
        project_key=None if project is None else project.slug,
        sender=typed.sender,
        recipient=typed.recipient,
        thread_id=typed.thread_id,
        importance=typed.importance,
        topic=typed.topic,
        begin_ts=typed.begin_ts,
        end_ts=typed.end_ts,
        is_system=box == "log",
    )
    if typed.is_of_person:
        mine = await oversight.to_person(page.caller, request, owes_ack=typed.needs_ack)
        kept = [one for one in mine.mail if not (typed.is_unread and one.read_ts is not None)]
        reasons = await oversight.reasons(page.caller, [one.head.id for one in kept])
        rows = [person_row(one, reasons.get(one.head.id)) for one in kept]
        return _Listed(rows=rows, more=_below(mine.next_before), project=project, notes=notes)
    mail = await oversight.mail(page.caller, request)
    return _Listed(rows=mail_rows(mail), more=_below(mail.next_before), project=project, notes=notes)


def _below(before: int | None) -> Mapping[str, int] | None:
    return None if before is None else {"before": before}


def _before(text: str) -> int | None:
    if not text:
        return None
    if (number := read_number(text)) is None:
        raise UnfitFilter(f"{text!r:.50} is no number of a message.", hint="Go on from a page of the list.")
    return number


def _address(box: str, written: str, more: Mapping[str, str | int]) -> str:
    return with_query(HOME, {"box": box if box != "mail" else None, "q": written, **more})


async def _needs(page: PageContext) -> PageAnswer:
    """`requests=…` and `overdue=…` are pages of one kind alone, behind what they name."""
    requests, overdue = page_number(page.request.asked("requests")), page_number(page.request.asked("overdue"))
    reminded = told_reminders(page.request.asked("reminded"))
    model: dict[str, object] = {"needs": None, "did": await did(page), "reminded": reminded}
    if page.caller.is_operator:
        place = NeedsPlace(after_request=requests or 0, after_delivery=overdue or 0)
        found = await page.services.pages.oversight.needs(page.caller, place)
        model |= {
            "needs": needs_view(found),
            "own": with_query(HOME, {"box": "needs", "requests": requests, "overdue": overdue}),
            "is_first": requests is None and overdue is None,
            "has_requests": overdue is None,
            "has_overdue": requests is None,
        }
    return await page.shown("needs.html", model, title=_TITLES["needs"], section="needs")
