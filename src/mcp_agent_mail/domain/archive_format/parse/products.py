"""`products/<uid>.json`: that the archive's project is part of a product."""

from __future__ import annotations

from mcp_agent_mail.core.ids import ProductId, ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedProductLink
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.parse.fields import Unfit, read_object, require_same
from mcp_agent_mail.domain.archive_format.products import product_file, product_snapshot
from mcp_agent_mail.domain.products import Product, ProductLink, uid_of


def parse_product(path: str, content: bytes) -> ArchivedProductLink:
    """Raises ValueError."""
    fields = read_object(content)
    link = ArchivedProductLink(
        product=Product(
            id=ProductId(fields.number("id")),
            uid=fields.text("product_uid"),
            name=fields.text("name"),
            created_ts=fields.time("created_at"),
        ),
        project_id=ProjectId(fields.number("project_id")),
        linked_ts=fields.time("linked_at"),
    )
    if uid_of(link.product.uid) != link.product.uid:
        raise Unfit(f"{link.product.uid!r:.100} is no product's uid")
    place, rendered = link_file(link)
    require_same(content, fields, rendered, document)
    if path != place:
        raise Unfit("it does not lie where its uid says")
    return link


def link_file(link: ArchivedProductLink) -> tuple[str, bytes]:
    """Path and content, as rendering makes them of the same values."""
    shown = ProductLink(product=link.product, project_id=link.project_id, linked_ts=link.linked_ts)
    return product_file(product_snapshot(shown, None))
