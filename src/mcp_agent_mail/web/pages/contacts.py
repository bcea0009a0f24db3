"""Who may write to whom in a project: first those who ask, with the mail that waits for the answer; then all links."""

from __future__ import annotations

from mcp_agent_mail.core.errors import Conflict, InvalidInput
from mcp_agent_mail.core.ids import ContactId, read_number
from mcp_agent_mail.domain.contacts import Contact, LinkStatus, is_intro
from mcp_agent_mail.domain.messages import Message
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.contacts.shown_link import LinkChanged, answering_as_seen
from mcp_agent_mail.features.delivery.status import MessageStatus
from mcp_agent_mail.web.addresses import own_path, project_url, with_more, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.page_numbers import page_number
from mcp_agent_mail.web.request import PageAnswer, redirect
from mcp_agent_mail.web.views.contacts import (
    AnswerNotice,
    AskedContact,
    answer_notice,
    asked_contact,
    contact_graph,
    contact_view,
    is_answered_so,
    link_kinds,
    told_link,
)

PAGE_SIZE = 100
_DAY_S = 86_400
LASTS = {"approve": 30 * _DAY_S, "approve-for-a-year": 365 * _DAY_S, "deny": None}
"""The answers, by what their button sends: for how many seconds; None denies."""


class UnknownAnswer(InvalidInput):
    """No button of the page sends this."""


class AnsweredAlready(Conflict):
    """Somebody else answered after the page was shown."""


async def contacts(page: PageContext) -> PageAnswer:
    """The operator's: a link is nobody's business but of the two whom it joins."""
    services = page.services.pages
    project = await services.oversight.project(page.keys["project"])
    model: dict[str, object] = {"here": project.slug, "is_shown": page.caller.is_operator, "did": await did(page)}
    if page.caller.is_operator:
        before = page_number(page.request.asked("before"))
        screened = await services.people.screened(page.caller, project)
        found = await services.people.links(page.caller, project, before=before, limit=PAGE_SIZE)
        links = [contact_view(one, project.id, page.now) for one in found.links]
        own = project_url(project.slug, "contacts")
        model |= {
            "screened": [(one, contact_view(one.contact, project.id, page.now)) for one in screened],
            "links": links,
            "graph": contact_graph(links),
            "kinds": link_kinds(links),
            "more": None if found.next_before is None else with_query(own, {"before": found.next_before}),
            "is_first": before is None,
        }
    return await page.shown("contacts.html", model, title="Contacts", section="contacts", project=project.slug)


async def did(page: PageContext) -> AnswerNotice | None:
    """What the answer that led here has done; to the operator with the names of both."""
    number = read_number(page.request.asked("link"))
    link = None
    if number is not None and page.caller.is_operator:
        link = await page.services.pages.people.numbered_link(page.caller, ContactId(number))
    return answer_notice(page.request.asked("did"), page.request.asked("mail"), link)


async def introduced(page: PageContext, message: Message, status: MessageStatus) -> AskedContact | None:
    """The request that a message is, to the operator; None for mail that asks for no contact."""
    if not page.caller.is_operator or not status.copies or not is_intro(message.subject, message.body_md):
        return None
    people, (asked, *_) = page.services.pages.people, status.copies
    project = await page.services.pages.oversight.project(asked.project_slug)
    source_project = await page.services.pages.oversight.project(message.project_slug)
    link = await people.link(
        page.caller, project, asked.name, source_project=source_project, source=message.sender_name
    )
    if link is None:
        return None
    waits = await people.screened(page.caller, project) if link.status is LinkStatus.PENDING else ()
    question = next((one for one in waits if one.contact.id == link.id), None)
    return asked_contact(link, question, project.id, page.now)


async def answer(page: PageContext) -> PageAnswer:
    """In the place of the agent that is asked, as `respond_contact`: its held mail is delivered, or returned. The page
    that the answer was given on says what it did. An answer that was given already changes nothing and leads there too.
    """
    project = await page.services.pages.oversight.project(page.keys["project"])
    request = page.request
    word = request.field("answer")
    if word not in LASTS:
        raise UnknownAnswer(f"{word!r:.50} is no answer.", hint=f"Send one of {', '.join(LASTS)}.")
    lasts_s = LASTS[word]
    source_project = await page.services.pages.oversight.project(request.field("from_project") or project.slug)
    moved = None
    try:
        with answering_as_seen(request.field("seen")):
            moved = await _give(page, project, lasts_s)
    except LinkChanged:
        link = await _asked_link(page, project, source_project)
        if not is_answered_so(link, lasts_s, page.now):
            raise _answered_otherwise(page, link) from None
    else:
        link = await _asked_link(page, project, source_project)
    done = {
        "did": "denied" if lasts_s is None else "approved",
        "mail": moved,
        "link": None if link is None else link.id,
    }
    return redirect(with_more(own_path(request.field("back"), default=project_url(project.slug, "contacts")), done))


async def _give(page: PageContext, project: Project, lasts_s: int | None) -> int:
    """How much mail it moved."""
    request = page.request
    answered = await page.host.run_tool(
        "respond_contact",
        {
            "project_key": project.human_key,
            "to_agent": request.field("to_agent"),
            "from_agent": request.field("from_agent"),
            "from_project": request.field("from_project") or project.slug,
            "accept": lasts_s is not None,
            **({} if lasts_s is None else {"ttl_seconds": lasts_s}),
        },
    )
    assert isinstance(answered, dict)
    moved = answered["returned" if lasts_s is None else "delivered"]
    assert isinstance(moved, list)
    return len(moved)


async def _asked_link(page: PageContext, project: Project, source_project: Project) -> Contact | None:
    """The link that the form is about, as it is now."""
    source, target = page.request.field("from_agent"), page.request.field("to_agent")
    return await page.services.pages.people.link(
        page.caller, project, target, source_project=source_project, source=source
    )


def _answered_otherwise(page: PageContext, link: Contact | None) -> AnsweredAlready:
    source, target = page.request.field("from_agent"), page.request.field("to_agent")
    return AnsweredAlready(
        f"This was answered or changed after your page was shown: mail from {source:.100} to {target:.100} "
        f"{told_link(link, page.now)} by now. Your answer changed nothing.",
        hint="Open the page again: what it shows then can be answered otherwise.",
    )
