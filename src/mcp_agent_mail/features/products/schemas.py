"""What callers get to see of products. Keys are a wire contract."""

from __future__ import annotations

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.products import Product
from mcp_agent_mail.features.messaging.shapes import show_inbox_item
from mcp_agent_mail.features.products.results import Linked, ProductHits, ProductInbox, SeenProduct
from mcp_agent_mail.features.projects.shapes import show_project
from mcp_agent_mail.features.search.shapes import show_hit, show_unfound


def show_product(product: Product) -> JsonObject:
    """A product without its projects; `product_uid` and `name` both name it in other calls."""
    return {
        "id": product.id,
        "product_uid": product.uid,
        "name": product.name,
        "created_at": iso(product.created_ts),
    }


def show_linked(linked: Linked) -> JsonObject:
    """The answer of `products_link`. `linked` is always true: a failure is an error, and a repeat changes nothing."""
    product, project = linked.product, linked.project
    return {
        "product": {"id": product.id, "product_uid": product.uid, "name": product.name},
        "project": {"id": project.id, "slug": project.slug, "human_key": project.human_key},
        "linked": True,
    }


def show_seen_product(seen: SeenProduct) -> JsonObject:
    return {**show_product(seen.product), "projects": [show_project(project) for project in seen.projects]}


def show_product_hits(found: ProductHits) -> JsonObject:
    """The answer of `search_messages_product`, as text and as structured content: each hit names its project. A `hint`
    as in `search_messages`.
    """
    hits = [
        {**show_hit(hit, project.id), "project_id": project.id, "project": project.human_key}
        for hit, project in found.hits
    ]
    hint = "" if hits else show_unfound(is_asked=found.is_asked, is_literal=found.is_literal)
    return {"result": hits, **({"hint": hint} if hint else {})}


def show_product_inbox(inbox: ProductInbox) -> list[JsonObject]:
    """The answer of `fetch_inbox_product`, newest first; each item names the project of the agent that got it."""
    return [
        {**show_inbox_item(entry, project.id, inbox.read_ts, inbox.bodies, inbox.inline), "project": project.human_key}
        for entry, project in inbox.entries
    ]
