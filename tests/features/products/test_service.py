"""Products are made once, and projects become part of them once."""

from __future__ import annotations

import asyncio
import json

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import (
    AuthenticationRequired,
    Conflict,
    InvalidInput,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
)
from mcp_agent_mail.domain import products
from mcp_agent_mail.features.products import service
from tests.features.products.harness import APP, FAR, LIB, OPERATOR, ProductsHarness
from tests.seeded_store import add_project

UID = "0123456789abcdef"


async def test_a_product_of_a_name_gets_a_uid(harness: ProductsHarness) -> None:
    made = await harness.call("ensure_product", name=" Web Shop ")

    assert list(made) == ["id", "product_uid", "name", "created_at"]
    assert made["name"] == "Web Shop"
    assert products.uid_of(made["product_uid"]) == made["product_uid"]
    assert made["created_at"] == iso(harness.seeded.clock())


async def test_a_key_of_hexadecimal_digits_is_the_uid(harness: ProductsHarness) -> None:
    made = await harness.call("ensure_product", product_key=UID.upper(), name="Web Shop")

    assert (made["product_uid"], made["name"]) == (UID, "Web Shop")


@pytest.mark.parametrize("key", ["1234567", "a" * 65, "not-hex-at-all"])
async def test_any_other_key_is_a_name(key: str, harness: ProductsHarness) -> None:
    made = await harness.call("ensure_product", product_key=key)

    assert made["name"] == key
    assert made["product_uid"] != key


@pytest.mark.parametrize(
    "again",
    [
        {"product_key": UID},
        {"product_key": UID.upper()},
        {"product_key": "web shop"},
        {"name": " WEB SHOP "},
        {"product_key": UID, "name": "something else"},
        {"product_key": "nothing", "name": "Web Shop"},
    ],
)
async def test_ensuring_again_gives_the_same_product(again: dict[str, str], harness: ProductsHarness) -> None:
    made = await harness.call("ensure_product", product_key=UID, name="Web Shop")
    harness.seeded.clock.step()

    assert await harness.call("ensure_product", **again) == made


async def test_eight_at_once_make_one_product(harness: ProductsHarness) -> None:
    made = await asyncio.gather(*(harness.call("ensure_product", name="Web Shop") for _ in range(8)))

    assert len({one["product_uid"] for one in made}) == 1


async def test_the_name_of_another_uid_is_taken(harness: ProductsHarness) -> None:
    await harness.call("ensure_product", product_key=UID, name="Web Shop")

    with pytest.raises(Conflict) as refused:
        await harness.call("ensure_product", product_key="ff" * 8, name="web shop")

    assert refused.value.data["product_uid"] == UID


@pytest.mark.parametrize("given", [{}, {"name": "two\nlines"}, {"name": "n" * 256}, {"product_key": " ", "name": ""}])
async def test_a_product_needs_a_fit_key_or_name(given: dict[str, str], harness: ProductsHarness) -> None:
    with pytest.raises(InvalidInput):
        await harness.call("ensure_product", **given)

    assert harness.rows("SELECT name FROM products") == [("storefront",)]


async def test_linking_says_what_belongs_to_what(harness: ProductsHarness) -> None:
    linked = await harness.call("products_link", product_key="Storefront", project_key=APP)

    product, project = linked["product"], linked["project"]
    assert linked["linked"] is True
    assert (product["name"], list(product)) == ("storefront", ["id", "product_uid", "name"])
    assert project == {"id": harness.seeded.app.id, "slug": harness.seeded.app.slug, "human_key": APP}


async def test_linking_again_changes_nothing(harness: ProductsHarness) -> None:
    first = await harness.call("products_link", product_key="storefront", project_key=APP)
    before = harness.rows("SELECT * FROM product_projects")
    events = harness.rows("SELECT count(*) FROM outbox")
    harness.seeded.clock.step()

    again = await harness.call("products_link", product_key="storefront", project_key=APP)

    assert again == first
    assert harness.rows("SELECT * FROM product_projects") == before
    assert harness.rows("SELECT count(*) FROM outbox") == events


async def test_the_projects_archive_is_told_and_no_other(harness: ProductsHarness) -> None:
    made = await harness.call(
        "products_link", harness.proof(harness.seeded.blue), product_key="storefront", project_key=APP
    )

    ((project_id, agent_id, snapshot),) = harness.rows(
        "SELECT project_id, agent_id, snapshot FROM outbox WHERE kind = 'product'"
    )
    assert (project_id, agent_id) == (harness.seeded.app.id, harness.seeded.blue.id)
    assert json.loads(snapshot)["uid"] == made["product"]["product_uid"]
    assert json.loads(snapshot)["acting"] == "BlueLake"


async def test_an_unknown_product_is_not_found_with_the_nearest(harness: ProductsHarness) -> None:
    for tool, more in (
        ("products_link", {"project_key": APP}),
        ("search_messages_product", {"query": "x"}),
        ("fetch_inbox_product", {"agent_name": "BlueLake"}),
    ):
        with pytest.raises(NotFound) as refused:
            await harness.call(tool, product_key="storefrnt", **more)
        assert refused.value.data["nearest"] == ["storefront"]


async def test_an_unknown_project_is_not_found_with_the_nearest(harness: ProductsHarness) -> None:
    with pytest.raises(NotFound) as refused:
        await harness.call("products_link", product_key="storefront", project_key="/code/ap")

    assert refused.value.data["nearest"][0] == APP
    assert harness.rows("SELECT * FROM product_projects") == []


async def test_an_archived_project_is_not_linked(harness: ProductsHarness) -> None:
    await harness.seeded.store.write(lambda tx: tx.projects.set_archived(harness.far.id, tx.now))

    with pytest.raises(Conflict):
        await harness.call("products_link", product_key="storefront", project_key=FAR)


async def test_a_product_is_read_with_its_projects_by_name_and_by_uid(harness: ProductsHarness) -> None:
    await harness.link(LIB, APP)

    seen = await harness.read("product/STOREFRONT")

    assert list(seen) == ["id", "product_uid", "name", "created_at", "projects"]
    assert [project["human_key"] for project in seen["projects"]] == [APP, LIB]
    assert await harness.read(f"product/{seen['product_uid']}") == seen


async def test_a_name_with_a_slash_is_read_percent_encoded(harness: ProductsHarness) -> None:
    await harness.call("ensure_product", name="web/shop")

    assert (await harness.read("product/web%2Fshop"))["name"] == "web/shop"


async def test_products_and_projects_have_a_bound(harness: ProductsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_PROJECTS", 2)
    monkeypatch.setattr(service, "MAX_PRODUCTS", 1)
    await harness.call("ensure_product", name="other")
    await harness.link(APP, LIB)

    with pytest.raises(QuotaExceeded):
        await harness.link(FAR)
    with pytest.raises(QuotaExceeded):
        await harness.link(APP, product="other")


async def test_under_strict_an_agent_begins_a_product_with_its_own_project_alone(
    strict_harness: ProductsHarness,
) -> None:
    harness, wanted = strict_harness, {"product_key": "storefront"}

    with pytest.raises(AuthenticationRequired):
        await harness.call("products_link", **wanted, project_key=APP)
    with pytest.raises(PermissionDenied):
        await harness.call("products_link", harness.proof(harness.seeded.blue), **wanted, project_key=LIB)
    await harness.call("products_link", harness.proof(harness.seeded.blue), **wanted, project_key=APP)
    await harness.call("products_link", harness.proof(harness.seeded.blue), **wanted, project_key=APP)


async def test_under_strict_the_operator_alone_opens_mail_of_a_product_to_a_further_project(
    strict_harness: ProductsHarness,
) -> None:
    harness, wanted = strict_harness, {"product_key": "storefront", "project_key": FAR}
    await harness.link(APP)

    with pytest.raises(PermissionDenied):
        await harness.call("products_link", harness.proof(harness.far_blue), **wanted)
    assert (await harness.call("products_link", OPERATOR, **wanted))["linked"] is True


async def test_a_project_made_later_can_join(harness: ProductsHarness) -> None:
    await harness.seeded.store.write(lambda tx: add_project(tx, "/code/new"))

    await harness.link(APP, "/code/new")

    assert len((await harness.read("product/storefront"))["projects"]) == 2


async def test_a_query_that_may_be_why_nothing_was_found_is_told_as_in_one_project(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)

    answers = [
        await harness.call("search_messages_product", product_key="storefront", query=query)
        for query in ('"unclosed AND (', "*", "nowhere")
    ]

    assert [answer["result"] for answer in answers] == [[]] * 3
    assert [str(answer.get("hint"))[:22] for answer in answers] == [
        "The query is no search",
        "The query has no word ",
        "None",
    ]
