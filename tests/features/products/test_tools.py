"""The product tools, called as a server calls them: what they take, what they answer, and their own defaults."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import AuthenticationRequired, InvalidInput, PermissionDenied
from mcp_agent_mail.core.tools import Credentials
from tests.features.products.harness import APP, LIB, OPERATOR, ProductsHarness

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
