from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import InvalidInput, RecipientNotFound
from tests.features.messaging.office import LIB, Office
from tests.mailroom import add_agent

DAY = 24 * 3_600


async def test_a_broadcast_reaches_the_active_agents_of_the_project_less_the_sender(office: Office) -> None:
    answer = await office.send(to=None, broadcast=True)

    payload = answer["deliveries"][0]["payload"]
    assert sorted(payload["to"]) == ["GreenField", "RedStone"]
    assert (answer["eligible"], answer["skipped"], answer["count"]) == (2, [], 1)
    assert await office.call("fetch_inbox", agent_name="QuietFox", project_key=LIB) == []


async def test_a_broadcast_lists_whom_it_leaves_out_and_why(office: Office) -> None:
    room = office.room
    room.clock.step(31 * DAY)
    await room.store.write(lambda tx: tx.agents.touch_many([(room.red.id, tx.now), (room.green.id, tx.now)]))
    await room.store.write(lambda tx: tx.agents.set_retired(room.green.id, tx.now, tx.now))
    await room.store.write(lambda tx: add_agent(tx, room.app, "NewPine"))
    room.clock.step(DAY)
    await room.store.write(lambda tx: add_agent(tx, room.app, "OldOak"))
    room.clock.step(-40 * DAY)
    await room.store.write(lambda tx: add_agent(tx, room.app, "GoneAsh"))
    room.clock.step(40 * DAY)

    answer = await office.send(to=None, broadcast=True)

    assert sorted(answer["deliveries"][0]["payload"]["to"]) == ["NewPine", "OldOak", "RedStone"]
    assert answer["eligible"] == 3
    assert {one["agent"]: one["code"] for one in answer["skipped"]} == {
        "GreenField": "RECIPIENT_RETIRED",
        "GoneAsh": "INACTIVE",
    }


async def test_with_nobody_eligible_nothing_is_stored(office: Office) -> None:
    answer = await office.call(
        "send_message",
        project_key=LIB,
        sender_name="QuietFox",
        subject="Hello",
        body_md="",
        broadcast=True,
    )
    assert answer["eligible"] == 1
    room = office.room
    await room.store.write(lambda tx: tx.agents.set_retired(room.lib_blue.id, tx.now, tx.now))

    answer = await office.call(
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
    assert office.rows("SELECT count(*) FROM messages") == [(1,)]


async def test_copies_may_be_added_to_a_broadcast(office: Office) -> None:
    answer = await office.send(to=[], broadcast=True, cc=["Human", "RedStone"], bcc=[f"QuietFox@{LIB}"])

    app, lib = (delivery["payload"] for delivery in answer["deliveries"])
    assert (sorted(app["to"]), app["cc"], lib["bcc"]) == (["GreenField", "RedStone"], ["Human"], ["QuietFox"])
    assert answer["eligible"] == 2


async def test_a_broadcast_names_nobody_in_to(office: Office) -> None:
    with pytest.raises(InvalidInput):
        await office.send(to=["RedStone"], broadcast=True)


async def test_a_misspelt_copy_refuses_the_broadcast(office: Office) -> None:
    with pytest.raises(RecipientNotFound):
        await office.send(to=None, broadcast=True, cc=["RedStome"])

    assert office.rows("SELECT count(*) FROM messages") == [(0,)]


async def test_a_broadcast_beyond_five_thousand_is_refused_not_cut(office: Office) -> None:
    room = office.room
    await room.store.write(lambda tx: [add_agent(tx, room.app, f"Agent{n}") for n in range(4_999)])

    with pytest.raises(InvalidInput):
        await office.send(to=None, broadcast=True)

    await room.store.write(lambda tx: tx.agents.set_retired(room.red.id, tx.now, tx.now))
    assert (await office.send(to=None, broadcast=True))["eligible"] == 5_000
