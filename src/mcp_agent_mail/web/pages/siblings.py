"""The person decides of two projects that were suggested: siblings, of one product, or none."""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.features.oversight.siblings import NoPair
from mcp_agent_mail.web.addresses import HOME, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.page_numbers import page_number
from mcp_agent_mail.web.request import PageAnswer, redirect
from mcp_agent_mail.web.views.siblings import join_view

PROJECTS = f"{HOME}/projects"
_ASK, _JOIN = "join", "join-for-good"


class UnknownChoice(InvalidInput):
    """No button of the page sends this."""


async def decide(page: PageContext) -> PageAnswer:
    """Put both into one product, by the tools for it, once the person has seen what that does; or never suggest them
    again.
    """
    service, request = page.services.pages.siblings, page.request
    first, second = _project_id(request.field("first")), _project_id(request.field("second"))
    act = request.field("act")
    if act == "dismiss":
        await service.dismiss(page.caller, first, second)
        return redirect(with_query(PROJECTS, {"did": "dismissed"}))
    if act not in (_ASK, _JOIN):
        raise UnknownChoice("Nothing is decided.", hint="Press one of the two buttons beside a suggestion.")
    joining = await service.joining(
        page.caller, (first, second), product_uid=request.field("product"), name=request.field("name")
    )
    if act == _ASK:
        return await page.shown("join.html", {"join": join_view(joining)}, title="Join projects", section="projects")
    product_uid = "" if joining.product is None else joining.product.uid
    if not product_uid:
        made = await page.host.run_tool("ensure_product", {"name": joining.name})
        assert isinstance(made, dict)
        product_uid = str(made["product_uid"])
    for project in (joining.first, joining.second):
        await page.host.run_tool("products_link", {"product_key": product_uid, "project_key": project.human_key})
    return redirect(with_query(PROJECTS, {"did": "joined"}))


def _project_id(text: str) -> ProjectId:
    number = page_number(text)
    if number is None:
        raise NoPair("The form names no two projects.", hint="Open the page of projects again.")
    return ProjectId(number)
