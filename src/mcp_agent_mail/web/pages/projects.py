"""All projects with what each has, and the products that join them."""

from __future__ import annotations

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.web.addresses import HOME, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.page_numbers import page_number
from mcp_agent_mail.web.request import PageAnswer
from mcp_agent_mail.web.views.people import product_view, project_view
from mcp_agent_mail.web.views.siblings import sibling_view

PAGE_SIZE = 50
PRODUCTS_SHOWN = 25
PROJECTS = f"{HOME}/projects"
_DONE = {
    "joined": "Both are part of one product now.",
    "dismissed": "They are suggested no more.",
}


async def projects(page: PageContext) -> PageAnswer:
    """The newest first; `before` and `products_before` go on in each list. What may belong together comes once."""
    people = page.services.pages.people
    before = page_number(page.request.asked("before"))
    products_before = page_number(page.request.asked("products_before"))
    found = await people.projects(page.caller, before=before, limit=PAGE_SIZE)
    products, more_products = [], None
    refused: AgentMailError | None = None
    try:
        listed = await people.products(page.caller, before=products_before, limit=PRODUCTS_SHOWN)
    except AgentMailError as error:
        refused = error
    else:
        products = [product_view(one) for one in listed.products]
        if listed.next_before is not None:
            more_products = with_query(PROJECTS, {"products_before": listed.next_before})
    is_first = before is None and products_before is None
    suggested = await page.services.pages.siblings.suggested(page.caller) if is_first else None
    model = {
        "projects": [project_view(one) for one in found.projects],
        "more": None if found.next_before is None else with_query(PROJECTS, {"before": found.next_before}),
        "products": products,
        "more_products": more_products,
        "refused": refused,
        "siblings": [] if suggested is None else [sibling_view(one) for one in suggested.choices],
        "is_whole": suggested is None or suggested.is_whole,
        "may_decide": page.caller.is_operator and page.request.session is not None,
        "did": _DONE.get(page.request.asked("did"), ""),
    }
    return await page.shown("projects.html", model, title="Projects", section="projects")
