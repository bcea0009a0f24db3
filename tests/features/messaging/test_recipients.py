from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import InvalidInput, RecipientNotFound
from tests.features.contacts.harness import ContactsHarness, open_contacts, refused
from tests.features.messaging.harness import APP, LIB, MessagingHarness, refused_send
from tests.seeded_store import add_agent

DAY = 24 * 3_600


@pytest.fixture
async def contacts(tmp_path: Path) -> AsyncIterator[ContactsHarness]:
    async with open_contacts(tmp_path) as opened:
        yield opened


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


async def test_a_recipient_named_twice_counts_once_to_before_cc_before_bcc(harness: MessagingHarness) -> None:
    answer = await harness.send(
        to=["RedStone", " REDSTONE "], cc=["redstone", "GreenField"], bcc=["GreenField", "RedStone"]
    )

    payload = answer["deliveries"][0]["payload"]
    assert (payload["to"], payload["cc"], payload["bcc"]) == (["RedStone"], ["GreenField"], [])
    assert len(payload["recipients"]) == 2


async def test_one_may_write_to_oneself_and_to_the_overseer(harness: MessagingHarness) -> None:
    answer = await harness.send(to=["BlueLake", "HumanOverseer"])

    assert answer["deliveries"][0]["payload"]["to"] == ["BlueLake", "Human"]


async def test_an_unknown_recipient_is_an_error_with_the_nearest_names(harness: MessagingHarness) -> None:
    error = await refused_send(harness, to=["RedStone", "RedStome"])

    assert error.code == "RECIPIENT_NOT_FOUND"
    assert error.data["nearest"] == ["RedStone"]
    assert error.data["unknown"] == ["RedStome"]
    assert "RedStone" in error.hint


@pytest.mark.parametrize(
    "to", ["System", "system", "Blue Lake", "BlueLak", "QuietFox", "BlueLake@nowhere", "BlueLake@/no/where"]
)
async def test_nothing_is_delivered_to_a_name_that_does_not_match(harness: MessagingHarness, to: str) -> None:
    assert (await refused_send(harness, to=[to])).code == "RECIPIENT_NOT_FOUND"


async def test_the_refusal_names_all_that_are_unknown_and_says_that_system_is_nobody_to_write_to(
    harness: MessagingHarness,
) -> None:
    one = await refused_send(harness, to=["RedStome"])
    two = await refused_send(harness, to=["RedStome", "Nobody"])
    system = await refused_send(harness, to=["system"])

    assert one.message == f"{APP} has no agent 'RedStome'."
    assert two.message == f"{APP} has no agents 'RedStome' or 'Nobody'."
    assert system.message == "System receives no mail."


@pytest.mark.parametrize("to", [["@app"], ["BlueLake@"], ["project:app"], [" "], [{"name": "x"}], {"a": 1}])
async def test_what_is_no_address_is_invalid_input(harness: MessagingHarness, to: Any) -> None:
    error = await refused_send(harness, to=to)

    assert error.code == "INVALID_INPUT"


async def test_at_most_five_hundred_recipients_are_named(harness: MessagingHarness) -> None:
    await harness.seeded.store.write(lambda tx: [add_agent(tx, harness.seeded.app, f"Agent{n}") for n in range(501)])
    names = [f"Agent{n}" for n in range(501)]

    assert (await refused_send(harness, to=names[:250], cc=names[250:])).code == "INVALID_INPUT"
    assert len((await harness.send(to=names[:250], cc=names[250:500]))["deliveries"][0]["payload"]["recipients"]) == 500


@pytest.mark.parametrize(
    "address", [f"QuietFox@{LIB}", "quietfox@code-lib", "project:code-lib#QuietFox", f" project:{LIB}#QUIETFOX "]
)
async def test_an_agent_of_another_project_is_addressed_by_path_or_slug(
    harness: MessagingHarness, address: str
) -> None:
    answer = await harness.send(to=[address])

    assert [delivery["project"] for delivery in answer["deliveries"]] == [LIB]
    payload = answer["deliveries"][0]["payload"]
    assert (payload["from"], payload["to"]) == ("BlueLake@code-app", ["QuietFox"])


async def test_a_bare_name_that_nobody_has_here_is_the_contact_of_that_name_elsewhere(
    contacts: ContactsHarness,
) -> None:
    unknown = await refused(contacts.send(to=["QuietFox"]))
    await contacts.answer(accept=True, project_key=LIB, target="QuietFox", from_project=APP, ttl_seconds=60)

    answer = await contacts.send(to=["quietfox"])

    assert unknown.code == "RECIPIENT_NOT_FOUND"
    assert answer["deliveries"][0]["project"] == LIB
    assert answer["held"] == []
    contacts.seeded.clock.step(60)
    assert (await refused(contacts.send(to=["QuietFox"]))).code == "RECIPIENT_NOT_FOUND"


async def test_several_contacts_of_the_name_are_an_error_that_lists_them(contacts: ContactsHarness) -> None:
    await contacts.ask(source="QuietFox", target="Twin", project_key=LIB, to_project=APP)
    await contacts.ask(source="QuietFox", target=f"Twin@{LIB}", project_key=LIB, register_if_missing=True)
    await contacts.ask(target=f"QuietFox@{LIB}")
    seeded = contacts.seeded
    other = await seeded.store.write(
        lambda tx: tx.projects.add(slug="x", human_key="/code/x", plain_slug="x", now=tx.now)
    )
    await contacts.ask(target="QuietFox", to_project=other.human_key, register_if_missing=True)
    for key in (LIB, other.human_key):
        await contacts.answer(accept=True, project_key=key, target="QuietFox", from_project=APP)
    before = contacts.everything()

    error = await refused(contacts.send(to=["QuietFox"]))

    assert error.code == "INVALID_INPUT"
    assert error.data["accepted"] == ["QuietFox@code-lib", "QuietFox@x"]
    assert contacts.everything() == before
