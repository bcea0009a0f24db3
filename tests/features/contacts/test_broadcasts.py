from __future__ import annotations

from mcp_agent_mail.store.transaction import Tx
from tests.features.contacts.harness import ContactsHarness
from tests.seeded_store import add_agent


async def test_a_broadcast_reaches_the_rest_and_lists_all_retired_and_blocking_with_reasons(
    harness: ContactsHarness,
) -> None:
    seeded = harness.seeded

    def add(tx: Tx) -> None:
        for number in range(30):
            agent = add_agent(tx, seeded.app, f"Gone{number}")
            tx.agents.set_retired(agent.id, tx.now, tx.now)
        for number in range(3):
            add_agent(tx, seeded.app, f"Blocking{number}")

    await seeded.store.write(add)
    for number in range(3):
        await harness.policy(f"Blocking{number}", "block_all")

    answer = await harness.send(to=None, broadcast=True)

    (delivery,) = answer["deliveries"]
    assert sorted(one["name"] for one in delivery["payload"]["recipients"]) == ["GreenField", "RedStone"]
    assert len(answer["skipped"]) == 33
    assert {(one["code"], one["reason"]) for one in answer["skipped"]} == {
        *(("RECIPIENT_RETIRED", f"Gone{number} is retired") for number in range(30)),
        *(("CONTACT_BLOCKED", f"Blocking{number} takes no mail") for number in range(3)),
    }
    assert (answer["eligible"], answer["held"]) == (5, [])


async def test_a_broadcast_asks_nobody_for_a_contact(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")

    answer = await harness.send(to=None, broadcast=True, auto_contact_if_blocked=True)

    assert [(one["agent"], one["code"]) for one in answer["skipped"]] == [("RedStone", "CONTACT_REQUIRED")]
    assert await harness.links("RedStone") == []


async def test_a_broadcast_that_nobody_takes_stores_nothing(harness: ContactsHarness) -> None:
    for name in ("RedStone", "GreenField"):
        await harness.policy(name, "contacts_only")
    before = harness.everything()

    answer = await harness.send(to=None, broadcast=True)

    assert (answer["count"], len(answer["skipped"])) == (0, 2)
    assert harness.everything() == before
