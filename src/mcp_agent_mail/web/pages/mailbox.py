"""What one agent has and sent, and what mail of a project carries."""

from __future__ import annotations

from mcp_agent_mail.domain.attachments import UnfitDigest, parse_digest
from mcp_agent_mail.domain.messages import attachments_of
from mcp_agent_mail.features.messaging.attachments import unknown_attachment
from mcp_agent_mail.features.messaging.requests import InboxRequest, OutboxRequest
from mcp_agent_mail.web.addresses import HOME, project_url, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.message import message_number
from mcp_agent_mail.web.request import PageAnswer
from mcp_agent_mail.web.views.mail import MailList
from mcp_agent_mail.web.views.mailbox import carried_rows, inbox_rows, outbox_rows

PAGE_SIZE = 50


async def inbox(page: PageContext) -> PageAnswer:
    """Newest first; with `after` oldest first, behind that message, from the beginning at 0. Nothing becomes read."""
    project = await page.services.pages.oversight.project(page.keys["project"])
    written = page.request.asked("after")
    after = message_number(written) if written else None
    request = InboxRequest(
        project_key=project.human_key, agent_name=page.keys["agent"], limit=PAGE_SIZE + 1, after_id=after
    )
    found = await page.services.pages.history.inbox(page.caller, request)
    shown, has_more = found.entries[:PAGE_SIZE], len(found.entries) > PAGE_SIZE
    here = project_url(project.slug, "inbox", found.mailbox.agent.name)
    onward = None
    if has_more:
        onward = with_query(here, {"after": shown[-1].head.id if after is not None else "0"})
    model = {
        "agent": found.mailbox.agent.name,
        "here": project.slug,
        "is_outbox": False,
        "is_forward": after is not None,
        "counts": found.counts,
        "mail": MailList(rows=inbox_rows(shown)),
        "onward": onward,
    }
    title = f"Inbox of {found.mailbox.agent.name}"
    return await page.shown("mailbox.html", model, title=title, section="mail", project=project.slug)


async def outbox(page: PageContext) -> PageAnswer:
    """What an agent sent, newest first; older mail is the inbox of all projects', filtered."""
    project = await page.services.pages.oversight.project(page.keys["project"])
    request = OutboxRequest(project_key=project.human_key, agent_name=page.keys["agent"], limit=PAGE_SIZE + 1)
    found = await page.services.messaging.outbox(page.caller, request)
    name, heads = found.mailbox.agent.name, found.mail.heads
    onward = None
    if len(heads) > PAGE_SIZE:
        onward = with_query(HOME, {"q": f"from:{name}@{project.slug}", "before": heads[PAGE_SIZE - 1].id})
    rows = outbox_rows(heads[:PAGE_SIZE], found.mail.addressees or {}, with_blind=found.mailbox.verified)
    model = {
        "agent": name,
        "here": project.slug,
        "is_outbox": True,
        "is_forward": False,
        "counts": None,
        "mail": MailList(rows=rows),
        "onward": onward,
    }
    return await page.shown("mailbox.html", model, title=f"Outbox of {name}", section="mail", project=project.slug)


async def attachments(page: PageContext) -> PageAnswer:
    """What the project's mail carries, newest first."""
    project = await page.services.pages.oversight.project(page.keys["project"])
    written = page.request.asked("before")
    before = message_number(written) if written else None
    found = await page.services.pages.history.carriers(page.caller, project, before=before, limit=PAGE_SIZE + 1)
    shown = found[:PAGE_SIZE]
    more = None
    if len(found) > PAGE_SIZE:
        more = with_query(project_url(project.slug, "attachments"), {"before": shown[-1].id})
    rows = [(head, one) for head in shown for one in carried_rows(project.slug, attachments_of(head))]
    model = {"here": project.slug, "rows": rows, "more": more}
    return await page.shown("attachments.html", model, title="Attachments", section="mail", project=project.slug)


async def attachment(page: PageContext) -> PageAnswer:
    """The bytes of one, for who sees a message that carries it."""
    project = await page.services.pages.oversight.project(page.keys["project"])
    try:
        sha256 = parse_digest(page.keys["sha256"])
    except UnfitDigest:
        raise unknown_attachment(page.keys["sha256"][:100]) from None
    seen = await page.services.messaging.attachment(page.caller, sha256, project.human_key)
    return PageAnswer(attachment=seen)
