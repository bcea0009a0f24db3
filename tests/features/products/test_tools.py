"""The product tools, called as a server calls them: what they take, what they answer, and their own defaults."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import AuthenticationRequired, InvalidInput, PermissionDenied
from mcp_agent_mail.core.tools import Credentials
from tests.features.products.harness import APP, FAR, LIB, OPERATOR, ProductsHarness
from tests.seeded_store import add_agent

UNKNOWN_TOKEN = Credentials(via="mcp", agent_token="amt_of_nobody")

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("ensure_product", {"name": "Web Shop"}),
    ("products_link", {"product_key": "storefront", "project_key": APP}),
    ("search_messages_product", {"product_key": "storefront", "query": "plan"}),
    ("fetch_inbox_product", {"product_key": "storefront", "agent_name": "BlueLake"}),
    ("summarize_thread_product", {"product_key": "storefront", "thread_id": "plan-1"}),
]


@pytest.mark.parametrize(("tool", "given"), CALLS)
async def test_a_token_that_proves_nobody_is_refused_by_each(
    tool: str, given: dict[str, Any], harness: ProductsHarness
) -> None:
    with pytest.raises((AuthenticationRequired, PermissionDenied)):
        await harness.call(tool, UNKNOWN_TOKEN, **given)


async def test_an_inbox_is_read_from_a_time_on(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    await harness.send(APP, "RedStone", ["BlueLake"], "early")
    since = iso(harness.seeded.clock.now)
    late = await harness.send(LIB, "QuietFox", ["BlueLake"], "late")

    items = await harness.inbox(since_ts=since)
    everything = await harness.inbox()

    assert [item["id"] for item in items] == [late]
    assert len(everything) == 2


async def test_a_summary_reads_so_many_messages_as_it_is_told_and_fifty_unasked(harness: ProductsHarness) -> None:
    await harness.link(APP)
    for number in range(51):
        await harness.send(
            APP, "RedStone", ["BlueLake"], "plan", thread_id="plan-1", body_md=f"Decision: take {number}"
        )
    asked = {"product_key": "storefront", "thread_id": "plan-1", "include_examples": True}

    fifty = await harness.call("summarize_thread_product", OPERATOR, **asked)
    two = await harness.call("summarize_thread_product", OPERATOR, per_thread_limit=2, **asked)

    first_ids = [answer["examples"][0]["id"] for answer in (fifty, two)]
    assert first_ids == [2, 50]
    assert two["summary"]["decisions"] == ["take 49", "take 50"]


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("summarize_thread_product", {"product_key": "storefront", "thread_id": "no thread"}),
        ("fetch_inbox_product", {"product_key": "storefront", "agent_name": "BlueLake", "since_ts": "soon"}),
        ("search_messages_product", {"product_key": " ", "query": "plan"}),
    ],
)
async def test_an_unfit_argument_is_refused(tool: str, given: dict[str, Any], harness: ProductsHarness) -> None:
    with pytest.raises(InvalidInput):
        await harness.call(tool, **given)


async def elsewhere(harness: ProductsHarness, project: str = APP, **more: Any) -> Any:
    return (await harness.call("list_agents", project_key=project, **more)).get("elsewhere")


async def test_a_list_of_agents_names_those_of_the_other_projects_last_active_first(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    harness.seeded.clock.step()
    await harness.call("whois", harness.proof(harness.seeded.fox), project_key=LIB, agent_name="QuietFox")

    others = await elsewhere(harness)

    assert [(one["project"], one["name"]) for one in others] == [(LIB, "QuietFox"), (LIB, "BlueLake")]
    assert others[0] == {
        "project": LIB,
        "name": "QuietFox",
        "program": "test",
        "last_active_ts": iso(harness.seeded.clock.now),
    }
    assert [one["name"] for one in await elsewhere(harness, active_within_s=1)] == ["QuietFox", "BlueLake"]
    harness.seeded.clock.step(10)
    assert await elsewhere(harness, active_within_s=5) is None


async def test_without_a_product_and_of_archived_projects_nobody_is_named(harness: ProductsHarness) -> None:
    assert await elsewhere(harness) is None
    await harness.link(APP, LIB)
    assert await elsewhere(harness) is not None

    lib = harness.seeded.lib
    await harness.seeded.store.write(lambda tx: tx.projects.set_archived(lib.id, tx.now))

    assert await elsewhere(harness) is None


async def test_at_most_twenty_agents_elsewhere_are_named_and_no_retired_one(harness: ProductsHarness) -> None:
    seeded = harness.seeded
    await harness.link(APP, LIB, FAR)
    homes = (seeded.lib, harness.far)
    await seeded.store.write(lambda tx: [add_agent(tx, home, f"Agent{n}") for home in homes for n in range(15)])
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.fox.id, tx.now, tx.now))

    others = await elsewhere(harness)

    assert len(others) == 20
    assert "QuietFox" not in [one["name"] for one in others]
