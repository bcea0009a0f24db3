from __future__ import annotations

from mcp_agent_mail.domain.importing.records import SourceProduct
from tests.features.importing.scripted import at, whole_store
from tests.features.importing.test_service import bring, found
from tests.rebuild.world import World

PARTS = "SELECT p.name, l.project_id FROM product_projects l JOIN products p ON p.id = l.product_id ORDER BY 1, 2"


async def test_a_product_has_its_projects_and_its_time(world: World) -> None:
    await bring(world, whole_store())

    assert world.rows(PARTS) == [("Shop", 1), ("Shop", 2)]
    assert world.rows("SELECT created_ts FROM products") == [(at(2),)]


async def test_a_product_of_the_name_is_the_same_one(world: World) -> None:
    await world.call("ensure_product", name="shop")

    await bring(world, whole_store())

    assert world.rows(PARTS) == [("shop", 1), ("shop", 2)]


async def test_its_own_uid_is_kept_and_one_without_a_name_is_listed(world: World) -> None:
    reader = whole_store()
    reader.all_products = [
        SourceProduct(key="d1", name="Shop", project_keys=("p1",), created_ts=at(2), uid="ABCDEF0123"),
        SourceProduct(key="d2", name=" ", project_keys=("p1",), created_ts=at(2)),
        SourceProduct(key="d3", name="Nowhere", project_keys=("p9",), created_ts=at(2)),
    ]

    report = await bring(world, reader)

    assert world.rows("SELECT product_uid FROM products") == [("abcdef0123",)]
    assert found(report)["products"] == (1, 0, 2)
