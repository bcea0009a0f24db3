from __future__ import annotations

from tests.features.delivery.harness import DeliveryHarness
from tests.features.messaging.harness import OPERATOR


async def test_whoever_asks_in_its_own_name_is_active_and_the_operator_is_not_the_agent(
    harness: DeliveryHarness,
) -> None:
    sent = await harness.sent_id()
    harness.noted.clear()

    await harness.status(sent)
    await harness.status(sent, agent_name="RedStone")
    await harness.call("fetch_inbox_events", OPERATOR, agent_name="RedStone")
    await harness.feed("GreenField")
    await harness.withdraw(sent)

    assert harness.noted == ["RedStone", "GreenField", "BlueLake"]


async def test_a_token_says_who_asks_without_a_name(harness: DeliveryHarness) -> None:
    sent = await harness.sent_id(bcc=["GreenField"])

    found = await harness.status(sent, harness.proof(harness.seeded.blue))

    assert found["total"] == 2
