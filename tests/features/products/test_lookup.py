"""From what a caller calls a product to the product, and who may open the mail of its projects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.errors import AuthenticationRequired
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.products import Product, UnknownProduct
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.products.lookup import (
    ForeignProduct,
    find_product,
    open_product,
    projects_of,
    require_product,
)
from tests.features.products.harness import APP, FAR, LIB, ProductsHarness

UID = "0123456789abcdef"
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.STRICT)


def proven(agent: Agent, auth: AgentAuth = AgentAuth.OPEN) -> Caller:
    return Caller(
        kind=CallerKind.AGENT, auth=auth, agent_id=agent.id, agent_name=agent.name, project_id=agent.project_id
    )


async def opened(harness: ProductsHarness, caller: Caller) -> tuple[Product, list[Project]]:
    return await harness.seeded.store.read(lambda view: open_product(view, caller, "storefront"))


async def test_a_product_is_found_by_its_uid_before_its_name(harness: ProductsHarness) -> None:
    await harness.call("ensure_product", product_key=UID, name="Web Shop")
    store = harness.seeded.store

    by_uid = await store.read(lambda view: find_product(view, UID.upper()))
    by_name = await store.read(lambda view: find_product(view, "web shop"))
    by_a_name_like_a_uid = await store.read(lambda view: find_product(view, "f" * 16))

    assert by_uid is not None
    assert by_uid.name == "Web Shop"
    assert (by_name, by_a_name_like_a_uid) == (by_uid, None)


async def test_an_unknown_product_is_told_with_the_nearest_and_how_to_make_it(harness: ProductsHarness) -> None:
    with pytest.raises(UnknownProduct) as refused:
        await harness.seeded.store.read(lambda view: require_product(view, " storefrnt "))

    assert refused.value.message == "Unknown product: storefrnt."
    assert refused.value.data["nearest"] == ["storefront"]
    assert refused.value.data["suggested_tool_calls"] == [
        {"tool": "ensure_product", "arguments": {"name": "storefrnt"}}
    ]


async def test_the_projects_are_told_oldest_first_with_archived_ones_and_opened_without_them(
    harness: ProductsHarness,
) -> None:
    await harness.link(LIB, APP)
    await harness.seeded.store.write(lambda tx: tx.projects.set_archived(harness.seeded.lib.id, tx.now))

    product, readable = await opened(harness, ANYBODY)
    all_of_it = await harness.seeded.store.read(lambda view: projects_of(view, product))

    assert [project.human_key for project in all_of_it] == [APP, LIB]
    assert [project.human_key for project in readable] == [APP]


async def test_an_agent_of_a_linked_project_opens_all_of_them_and_one_of_another_none(
    harness: ProductsHarness,
) -> None:
    await harness.link(APP, LIB)

    linked = replace(proven(harness.seeded.blue, AgentAuth.STRICT), linked_projects=frozenset({harness.seeded.lib.id}))

    _, projects = await opened(harness, linked)
    with pytest.raises(ForeignProduct) as refused:
        await opened(harness, proven(harness.far_blue))

    assert [project.human_key for project in projects] == [APP, LIB]
    assert refused.value.data == {"product": "storefront", "projects": [APP, LIB]}
    assert FAR not in str(refused.value.data)


async def test_under_strict_nobody_unproven_opens_it_and_the_operator_does(harness: ProductsHarness) -> None:
    await harness.link(APP)

    with pytest.raises(AuthenticationRequired):
        await opened(harness, replace(ANYBODY, auth=AgentAuth.STRICT))

    assert (await opened(harness, OPERATOR))[1] == [harness.seeded.app]
