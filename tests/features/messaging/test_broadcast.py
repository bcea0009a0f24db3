from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import InvalidInput, RecipientNotFound
from tests.features.messaging.harness import LIB, MessagingHarness
from tests.seeded_store import add_agent

DAY = 24 * 3_600


async def test_a_broadcast_reaches_the_active_agents_of_the_project_less_the_sender(harness: MessagingHarness) -> None:
    answer = await harness.send(to=None, broadcast=True)

    payload = answer["deliveries"][0]["payload"]
    assert sorted(payload["to"]) == ["GreenField", "RedStone"]
    assert (answer["eligible"], answer["skipped"], answer["count"]) == (2, [], 1)
    assert await harness.call("fetch_inbox", agent_name="QuietFox", project_key=LIB) == []


async def test_a_broadcast_lists_whom_it_leaves_out_and_why(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    seeded.clock.step(31 * DAY)
    await seeded.store.write(lambda tx: tx.agents.touch_many([(seeded.red.id, tx.now), (seeded.green.id, tx.now)]))
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.green.id, tx.now, tx.now))
    await seeded.store.write(lambda tx: add_agent(tx, seeded.app, "NewPine"))
    seeded.clock.step(DAY)
    await seeded.store.write(lambda tx: add_agent(tx, seeded.app, "OldOak"))
    seeded.clock.step(-40 * DAY)
    await seeded.store.write(lambda tx: add_agent(tx, seeded.app, "GoneAsh"))
    seeded.clock.step(40 * DAY)

    answer = await harness.send(to=None, broadcast=True)

    assert sorted(answer["deliveries"][0]["payload"]["to"]) == ["NewPine", "OldOak", "RedStone"]
    assert answer["eligible"] == 3
    assert {one["agent"]: one["code"] for one in answer["skipped"]} == {
        "GreenField": "RECIPIENT_RETIRED",
        "GoneAsh": "INACTIVE",
    }


async def test_with_nobody_eligible_nothing_is_stored(harness: MessagingHarness) -> None:
    answer = await harness.call(
        "send_message",
        project_key=LIB,
        sender_name="QuietFox",
        subject="Hello",
        body_md="",
        broadcast=True,
    )
    assert answer["eligible"] == 1
    seeded = harness.seeded
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.lib_blue.id, tx.now, tx.now))

    answer = await harness.call(
        "send_message",
        project_key=LIB,
        sender_name="QuietFox",
        subject="Hello",
        body_md="",
        broadcast=True,
        cc=["Human"],
    )

    assert (answer["deliveries"], answer["count"], answer["eligible"]) == ([], 0, 0)
    assert [one["agent"] for one in answer["skipped"]] == ["BlueLake"]
    assert harness.rows("SELECT count(*) FROM messages") == [(1,)]


async def test_copies_may_be_added_to_a_broadcast(harness: MessagingHarness) -> None:
    answer = await harness.send(to=[], broadcast=True, cc=["Human", "RedStone"], bcc=[f"QuietFox@{LIB}"])

    app, lib = (delivery["payload"] for delivery in answer["deliveries"])
    assert (sorted(app["to"]), app["cc"], lib["bcc"]) == (["GreenField", "RedStone"], ["Human"], ["QuietFox"])
    assert answer["eligible"] == 2


async def test_a_broadcast_names_nobody_in_to(harness: MessagingHarness) -> None:
    with pytest.raises(InvalidInput):
        await harness.send(to=["RedStone"], broadcast=True)


async def test_a_misspelt_copy_refuses_the_broadcast(harness: MessagingHarness) -> None:
    with pytest.raises(RecipientNotFound):
        await harness.send(to=None, broadcast=True, cc=["RedStome"])

    assert harness.rows("SELECT count(*) FROM messages") == [(0,)]


async def test_a_broadcast_beyond_five_thousand_is_refused_not_cut(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    await seeded.store.write(lambda tx: [add_agent(tx, seeded.app, f"Agent{n}") for n in range(4_999)])

    with pytest.raises(InvalidInput):
        await harness.send(to=None, broadcast=True)

    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.red.id, tx.now, tx.now))
    assert (await harness.send(to=None, broadcast=True))["eligible"] == 5_000
