"""What archives tell of products, in a database that is made of them."""

from __future__ import annotations

from mcp_agent_mail.domain.archive_format.artifacts import ArchivedProductLink
from mcp_agent_mail.domain.products import product_name_key
from mcp_agent_mail.store.engine.port import Connection

_ADD_PRODUCT = """
INSERT INTO products (id, product_uid, name, name_key, created_ts) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET name = name WHERE product_uid = excluded.product_uid AND name = excluded.name
"""
_LINK = "INSERT INTO product_projects (product_id, project_id, linked_ts) VALUES (?, ?, ?)"


def link_product(connection: Connection, link: ArchivedProductLink) -> bool:
    """That one project is part of a product. False where the product's id is another product's."""
    product = link.product
    values = (product.id, product.uid, product.name, product_name_key(product.name), product.created_ts)
    if connection.execute(_ADD_PRODUCT, values).rowcount != 1:
        return False
    connection.execute(_LINK, (product.id, link.project_id, link.linked_ts))
    return True
