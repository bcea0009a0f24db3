"""What callers get to see of products. Keys are a wire contract."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.products import Product
from mcp_agent_mail.features.messaging.schemas import inbox_item
from mcp_agent_mail.features.products.results import Linked, ProductHits, ProductInbox, SeenProduct
from mcp_agent_mail.features.projects.schemas import show_project
from mcp_agent_mail.features.search.schemas import show_hit
from mcp_agent_mail.features.summaries.results import SummarizedThread
from mcp_agent_mail.features.summaries.schemas import thread_object

Wire = dict[str, Any]
"""A JSON object."""


def show_product(product: Product) -> Wire:
    """A product without its projects; `product_uid` and `name` both name it in other calls."""
    return {
        "id": product.id,
        "product_uid": product.uid,
        "name": product.name,
        "created_at": iso(product.created_ts),
    }


def show_linked(linked: Linked) -> Wire:
    """The answer of `products_link`. `linked` is always true: a failure is an error, and a repeat changes nothing."""
    product, project = linked.product, linked.project
    return {
        "product": {"id": product.id, "product_uid": product.uid, "name": product.name},
        "project": {"id": project.id, "slug": project.slug, "human_key": project.human_key},
        "linked": True,
    }


def show_seen_product(seen: SeenProduct) -> Wire:
    return {**show_product(seen.product), "projects": [show_project(project) for project in seen.projects]}


def show_product_hits(found: ProductHits) -> Wire:
    """The answer of `search_messages_product`, as text and as structured content: each hit names its project."""
    return {
        "result": [
            {**show_hit(hit, project.id), "project_id": project.id, "project": project.human_key}
            for hit, project in found.hits
        ]
    }


def show_product_inbox(inbox: ProductInbox) -> list[Wire]:
    """The answer of `fetch_inbox_product`, newest first; each item names the project of the agent that got it."""
    return [
        {**inbox_item(entry, project.id, inbox.bodies), "project": project.human_key}
        for entry, project in inbox.entries
    ]


def show_thread(thread: SummarizedThread) -> Json:
    """The answer of `summarize_thread_product`: as `summarize_thread` shows a thread of one project."""
    return thread_object(thread)
