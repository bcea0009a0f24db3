"""What goes on just now: agents at work, what they hold, the newest mail."""

from __future__ import annotations

from mcp_agent_mail.features.oversight.service import MailPageRequest
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.request import PageAnswer
from mcp_agent_mail.web.views.activity import reserved_rows, worker_rows
from mcp_agent_mail.web.views.mail import MailList, mail_rows

NEWEST = 12


async def now(page: PageContext) -> PageAnswer:
    """It is asked for again when something happens."""
    seen = await page.services.pages.activity.look(page.caller)
    newest = await page.services.pages.oversight.mail(page.caller, MailPageRequest(limit=NEWEST))
    model = {
        "seen": seen,
        "workers": worker_rows(seen),
        "held": reserved_rows(seen),
        "mail": MailList(rows=mail_rows(newest)),
    }
    return await page.shown("now.html", model, title="Now", section="now")
