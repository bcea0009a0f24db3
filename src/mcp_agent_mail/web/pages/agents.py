"""The agents of a project, and one of them: its task, whether it listens, what it holds, what it sent."""

from __future__ import annotations

from mcp_agent_mail.domain.agents import AgentKind
from mcp_agent_mail.domain.identity.readership import Readership, may_read
from mcp_agent_mail.features.oversight.service import MailPageRequest
from mcp_agent_mail.web.addresses import HOME, project_url, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.page_numbers import page_number
from mcp_agent_mail.web.request import PageAnswer, redirect
from mcp_agent_mail.web.views.mail import MailList, mail_rows
from mcp_agent_mail.web.views.people import agent_view, agent_views
from mcp_agent_mail.web.views.reservations import lease_state

PAGE_SIZE = 50
MOST_PAGES = 40
SENT_SHOWN = 10
COMMITS_SHOWN = 10


async def project(page: PageContext) -> PageAnswer:
    """The mail of one project is the inbox with its filter."""
    found = await page.services.pages.oversight.project(page.keys["project"])
    return redirect(with_query(HOME, {"q": f"project:{found.slug}"}))


async def agents(page: PageContext) -> PageAnswer:
    """`?retired=1` with those that left; `shown` more of them at a time."""
    found = await page.services.pages.oversight.project(page.keys["project"])
    with_retired = page.request.asked("retired") == "1"
    shown = min(max(PAGE_SIZE, page_number(page.request.asked("shown")) or PAGE_SIZE), MOST_PAGES * PAGE_SIZE)
    listed = await page.services.identity.list_(page.caller, found.human_key, include_retired=with_retired, limit=shown)
    leases = await page.services.pages.people.lease_counts(page.caller, found, [one.id for one in listed.agents])
    own = project_url(found.slug, "agents")
    retired = "1" if with_retired else None
    has_more = listed.total > len(listed.agents) and shown < MOST_PAGES * PAGE_SIZE
    model = {
        "here": found.slug,
        "human_key": found.human_key,
        "agents": agent_views(listed, leases),
        "total": listed.total,
        "with_retired": with_retired,
        "more": with_query(own, {"retired": retired, "shown": shown + PAGE_SIZE}) if has_more else None,
    }
    return await page.shown("agents.html", model, title="Agents", section="agents", project=found.slug)


async def agent(page: PageContext) -> PageAnswer:
    """One agent, retired or not; `Human` and `System` too."""
    found = await page.services.pages.oversight.project(page.keys["project"])
    known = await page.services.identity.whois(
        page.caller, found.human_key, page.keys["name"], commit_limit=COMMITS_SHOWN
    )
    one = known.agent
    leases = await page.services.pages.people.leases_of(page.caller, found, one.id)
    may_read_work = may_read(page.caller, found, Readership.WORK)
    unread = None
    # What the person has read is the operator's alone.
    if may_read_work and (page.caller.is_operator or one.kind is not AgentKind.HUMAN):
        unread = one.unread_count if page.caller.is_operator else one.open_unread_count
    sent = MailList(rows=())
    if may_read_work:
        request = MailPageRequest(
            limit=SENT_SHOWN,
            project_key=found.slug,
            sender=f"{one.name}@{found.slug}",
            is_system=one.kind is AgentKind.SYSTEM,
        )
        sent = MailList(rows=mail_rows(await page.services.pages.oversight.mail(page.caller, request)))
    model = {
        "here": found.slug,
        "agent": agent_view(one, known.presence, unread=unread, leases=len(leases) if may_read_work else None),
        "aliases": [alias.name for alias in known.aliases],
        "leases": [(lease, lease_state(lease, page.now)) for lease in leases],
        "sent": sent,
        "commits": known.recent_commits,
        "is_agent": one.kind is AgentKind.AGENT,
        "may_read": may_read_work,
    }
    return await page.shown("agent.html", model, title=one.name, section="agents", project=found.slug)
