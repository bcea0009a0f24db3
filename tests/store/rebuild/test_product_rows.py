from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProductId, ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedProductLink
from mcp_agent_mail.domain.products import Product
from mcp_agent_mail.store.rebuild.product_rows import link_product
from tests.seeded_store import open_seeded_store


def link(name: str, project_id: ProjectId) -> ArchivedProductLink:
    product = Product(id=ProductId(7), uid="a" * 8, name=name, created_ts=Micros(1))
    return ArchivedProductLink(product=product, project_id=project_id, linked_ts=Micros(2))


async def test_each_project_that_tells_of_a_product_is_part_of_it_and_none_renames_it(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        added = await seeded.store.write(
            lambda tx: [
                link_product(tx.products._connection, one)
                for one in (link("Shop", seeded.app.id), link("Shop", seeded.lib.id), link("Other", seeded.lib.id))
            ]
        )
        projects = await seeded.store.read(lambda view: view.products.projects(link("Shop", seeded.app.id).product))

    assert added == [True, True, False]
    assert projects == [seeded.app.id, seeded.lib.id]
