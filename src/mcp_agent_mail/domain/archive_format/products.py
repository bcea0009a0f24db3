"""Products in the archive's file format: `products/<uid>.json` in the archive of each project that is part of one."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.products import ProductLink

PRODUCTS_FOLDER = "products"

Snapshot = dict[str, Any]  # JSON: the keys stand in the functions below


def product_snapshot(link: ProductLink, acting: str | None) -> Snapshot:
    """For the archive of the linked project. `acting` is who linked it, for the commit alone."""
    return {
        "id": link.product.id,
        "uid": link.product.uid,
        "name": link.product.name,
        "created_ts": link.product.created_ts,
        "project_id": link.project_id,
        "linked_ts": link.linked_ts,
        "acting": acting,
    }


def product_file(snapshot: Snapshot) -> tuple[str, bytes]:
    """Path and content of the file that says of which product a project is part."""
    shown = {
        "id": snapshot["id"],
        "product_uid": snapshot["uid"],
        "name": snapshot["name"],
        "created_at": iso(snapshot["created_ts"]),
        "project_id": snapshot["project_id"],
        "linked_at": iso(snapshot["linked_ts"]),
    }
    return f"{PRODUCTS_FOLDER}/{snapshot['uid']}.json", document(shown)
