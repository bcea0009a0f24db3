"""How the server fares, for the operator: is it well, what it did in the last day, how it is set."""

from __future__ import annotations

from mcp_agent_mail.domain.identity.caller import require_operator
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.request import PageAnswer
from mcp_agent_mail.web.views.server_metrics import day_charts, findings_of, tool_rows, worker_facts

MOST_TOOLS = 20


async def operations(page: PageContext) -> PageAnswer:
    """Health is tried just now; a whole check of the store is the doctor's, who is not run by a look at a page."""
    require_operator(page.caller)
    health = await page.services.health.check()
    figures = page.services.pages.figures.look(page.caller)
    model = {
        "health": health,
        "findings": findings_of(health),
        "charts": day_charts(figures, page.now),
        "tools": tool_rows(figures)[:MOST_TOOLS],
        "workers": worker_facts([keeper.figures() for keeper in page.services.keepers()]),
        "settings": figures.settings,
        "streams": page.services.pages.events.count,
    }
    return await page.shown("operations.html", model, title="Operations", section="operations")
