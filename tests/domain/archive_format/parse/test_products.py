from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProductId, ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedProductLink
from mcp_agent_mail.domain.archive_format.parse.products import link_file, parse_product
from mcp_agent_mail.domain.products import Product


def link(uid: str) -> ArchivedProductLink:
    product = Product(id=ProductId(1), uid=uid, name="Shop", created_ts=Micros(0))
    return ArchivedProductLink(product=product, project_id=ProjectId(1), linked_ts=Micros(0))


@pytest.mark.parametrize("uid", ["", "../../x", "0BADCAFE", "short", "f" * 65])
def test_only_a_uid_names_a_file(uid: str) -> None:
    path, content = link_file(link(uid))

    with pytest.raises(ValueError, match="no product's uid"):
        parse_product(path, content)


def test_the_file_of_another_product_is_not_read() -> None:
    with pytest.raises(ValueError, match="does not lie"):
        parse_product("products/0badcafe.json", link_file(link("f" * 8))[1])
