"""One message with what became of each copy, and its thread."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import MessageId, read_number
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.names import SYSTEM
from mcp_agent_mail.domain.messages import GOOD, Message
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.delivery.requests import StatusRequest
from mcp_agent_mail.features.delivery.status import MessageStatus
from mcp_agent_mail.features.messaging.requests import MailRequest, MessageRequest
from mcp_agent_mail.web.addresses import HOME, thread_url, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.contacts import did, introduced
from mcp_agent_mail.web.request import PageAnswer
from mcp_agent_mail.web.views.contacts import contact_view
from mcp_agent_mail.web.views.message import listed_message, whole_message
from mcp_agent_mail.web.views.thread import thread_rows

THREAD_PAGE = 25


class UnfitNumber(InvalidInput):
    """What stands where a message's number should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMessage:
    """A message that is read: what its page is titled, and the names that `article.html` has."""

    subject: str
    project: Project
    model: Mapping[str, object]


def message_number(text: str) -> MessageId:
    if (number := read_number(text)) is None:
        raise UnfitNumber(f"{text!r:.50} is no number of a message.", hint="Open it from a list or a search.")
    return MessageId(number)


async def message(page: PageContext) -> PageAnswer:
    """A message by itself, as it is seen from the project of its address."""
    opened = await open_message(page, page.keys["project"], page.keys["message"])
    return await page.shown(
        "message.html", opened.model, title=opened.subject, section="mail", project=opened.project.slug
    )


async def open_message(page: PageContext, project_key: str, written: str) -> OpenMessage:
    """The message of this number as it is seen from this project."""
    number = message_number(written)
    project = await page.services.pages.oversight.project(project_key)
    seen = await page.services.messaging.message(
        page.caller, MessageRequest(message_id=number, project_key=project.human_key)
    )
    status = await _status(page, seen.message, project)
    beside = await page.services.pages.oversight.beside(number, project, seen.message.thread_id)
    person, asked = None, []
    if page.caller.is_operator:
        person = (await page.services.pages.human_mail.find(page.caller, [number])).get(number)
        questions = await page.services.pages.people.questions_about(page.caller, number)
        asked = [(one, contact_view(one.contact, project.id, page.now)) for one in questions]
    model = {
        "message": whole_message(seen.message, seen.standing, status, beside.commit, beside.newer),
        "here": project.slug,
        "person": person,
        "asked": asked,
        "intro": await introduced(page, seen.message, status),
        "did": await did(page),
        "sent": page.request.asked("sent"),
        "before": beside.before,
        "after": beside.after,
        "shut_href": HOME,
    }
    return OpenMessage(subject=seen.message.subject, project=project, model=model)


async def _status(page: PageContext, message: Message, project: Project) -> MessageStatus:
    """The operator sees what the sender does: all copies, blind and held ones too."""
    as_sender = page.caller.is_operator and not message.is_system and message.sender_name != SYSTEM
    return await page.services.delivery.status(
        page.caller,
        StatusRequest(
            project_key=message.project_key if as_sender else project.human_key,
            message_id=message.id,
            agent_name=message.sender_name if as_sender else None,
        ),
    )


async def thread(page: PageContext) -> PageAnswer:
    """From its beginning, oldest first; `after` goes on behind a message."""
    project = await page.services.pages.oversight.project(page.keys["project"])
    thread_id = page.keys["thread"]
    asked = page.request.asked("after")
    after = message_number(asked) if asked else MessageId(0)
    found = await page.services.messaging.mail(
        page.caller,
        MailRequest(
            project_key=project.human_key,
            agent_name=None,
            message_id=None,
            thread_id=thread_id,
            limit=THREAD_PAGE,
            after_id=after,
        ),
    )
    mail = found.mail
    addressees = mail.addressees or {}
    shown = [
        listed_message(
            head,
            mail.bodies or {},
            mail.standings.get(head.id, GOOD),
            [one.name for one in addressees.get(head.id, ()) if one.kind != "bcc"],
        )
        for head in mail.heads
    ]
    place = await page.services.pages.oversight.thread_place(project, thread_id, after, page_size=THREAD_PAGE)
    statuses = {one.id: await _seen_status(page, one.id, project) for one in mail.heads}
    subject = place.subject or thread_id
    here = thread_url(project.slug, thread_id)
    is_last = found.next_after_id is None
    model = {
        "here": project.slug,
        "thread_id": thread_id,
        "subject": subject,
        "rows": thread_rows(shown, subject, statuses),
        "first": place.before + 1,
        "last": place.before + len(shown),
        "total": found.total,
        "oldest": here if after else None,
        "earlier": with_query(here, {"after": place.earlier}),
        "later": None if is_last else with_query(here, {"after": found.next_after_id}),
        "newest": None if is_last else with_query(here, {"after": place.newest}),
    }
    return await page.shown("thread.html", model, title=subject, section="mail", project=project.slug)


async def _seen_status(page: PageContext, number: MessageId, project: Project) -> MessageStatus:
    """As any reader of the project knows it."""
    request = StatusRequest(project_key=project.human_key, message_id=number)
    return await page.services.delivery.status(page.caller, request)
