"""The operator has the agents of a project reminded of acknowledgements that they owe."""

from __future__ import annotations

from mcp_agent_mail.web.addresses import own_path, with_more
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.request import PageAnswer, redirect


async def remind(page: PageContext) -> PageAnswer:
    """As `remind_acknowledgements`, those that are overdue: of one message each agent once an hour."""
    project = await page.services.pages.oversight.project(page.request.field("project"))
    answered = await page.host.run_tool("remind_acknowledgements", {"project_key": project.human_key})
    assert isinstance(answered, dict)
    reminded = answered["reminded"]
    assert isinstance(reminded, list)
    return redirect(with_more(own_path(page.request.field("back")), {"reminded": str(len(reminded))}))
