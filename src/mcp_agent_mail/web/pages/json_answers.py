"""What some pages show, for programs: the same models as JSON."""

from __future__ import annotations

from mcp_agent_mail.domain.identity.readership import Readership, may_read
from mcp_agent_mail.features.oversight.service import MailPageRequest
from mcp_agent_mail.web.addresses import API, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.filters import UnfitFilter, read_filter
from mcp_agent_mail.web.pages.page_numbers import page_number
from mcp_agent_mail.web.request import PageAnswer
from mcp_agent_mail.web.shapes import json_answer
from mcp_agent_mail.web.views.mail import mail_rows
from mcp_agent_mail.web.views.people import agent_views
from mcp_agent_mail.web.views.reservations import lease_state, lease_view

PAGE_SIZE = 100
MOST_AGENTS = 1_000


async def unified_inbox(page: PageContext) -> PageAnswer:
    """Delivered mail of all projects, newest first: `q` filters as the inbox does, but for words and the person's own
    (`is:unread`, `needs:ack`); `box=log` is System's; `next` leads on.
    """
    written, box = page.request.asked("q"), page.request.asked("box", "mail")
    typed = read_filter(written, page.now)
    if typed.words or typed.is_unread or typed.needs_ack or box not in ("mail", "log"):
        raise UnfitFilter(
            "That is not filtered here.",
            hint="Use from:, to:, project:, thread:, topic:, importance:, before: and after:; box=log.",
        )
    request = MailPageRequest(
        limit=PAGE_SIZE,
        before=page_number(page.request.asked("before")),
        project_key=typed.project,
        sender=typed.sender,
        importance=typed.importance,
        topic=typed.topic,
        recipient=typed.recipient,
        thread_id=typed.thread_id,
        begin_ts=typed.begin_ts,
        end_ts=typed.end_ts,
        is_system=box == "log",
    )
    found = await page.services.pages.oversight.mail(page.caller, request)
    on = {"q": written, "box": page.request.asked("box"), "before": found.next_before}
    following = None if found.next_before is None else with_query(f"{API}/unified-inbox", on)
    return json_answer({"mail": mail_rows(found), "next": following})


async def locks(page: PageContext) -> PageAnswer:
    """Live file reservations: with `project` those of one, each with the evidence of work on it; else of all."""
    key = page.request.asked("project")
    if not key:
        found = await page.services.pages.people.live_leases(page.caller, PAGE_SIZE + 1)
        every = [
            {
                "project": project.slug,
                "id": lease.id,
                "agent": lease.agent,
                "path_pattern": lease.path_pattern,
                "exclusive": lease.exclusive,
                "reason": lease.reason,
                "created_ts": lease.created_ts,
                "expires_ts": lease.expires_ts,
                "state": lease_state(lease, page.now),
            }
            for project, lease in found[:PAGE_SIZE]
        ]
        return json_answer({"locks": every, "has_more": len(found) > PAGE_SIZE, "next": None})
    project = await page.services.pages.oversight.project(key)
    after = page_number(page.request.asked("after")) or 0
    listed = await page.services.leases.reservations.list_(
        page.caller, project.human_key, active_only=True, limit=PAGE_SIZE + 1, after_id=after
    )
    rows = [lease_view(one, page.now) for one in listed[:PAGE_SIZE]]
    has_more = len(listed) > PAGE_SIZE
    following = with_query(f"{API}/locks", {"project": project.slug, "after": rows[-1].id}) if has_more else None
    return json_answer({"project": project.slug, "locks": rows, "has_more": has_more, "next": following})


async def agents(page: PageContext) -> PageAnswer:
    """The agents of a project, last active first, at most MOST_AGENTS; `total` counts all."""
    project = await page.services.pages.oversight.project(page.keys["project"])
    listed = await page.services.identity.list_(page.caller, project.human_key, limit=MOST_AGENTS)
    ids = [one.id for one in listed.agents] if may_read(page.caller, project, Readership.WORK) else []
    leases = await page.services.pages.people.lease_counts(page.caller, project, ids)
    return json_answer({"project": project.slug, "agents": agent_views(listed, leases), "total": listed.total})
