"""What the archive is told of doors: whatever becomes of a name, with the event that tells it of an agent's profile."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.doors.ids import NO_BODY, made_id
from mcp_agent_mail.domain.doors.names import Door, TooManyNames
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.features.identity.register import record_claim
from mcp_agent_mail.store.doors import wire_names
from mcp_agent_mail.store.mail.message_events import record_purges
from mcp_agent_mail.store.retention import RetentionCutoff
from mcp_agent_mail.store.transaction import Tx
from tests.features.doors.harness import OPERATOR, DoorsHarness, at
from tests.features.doors.test_names import register


@dataclass(frozen=True)
class ToldProfile:
    aliases: list[dict[str, Any]]
    is_unclaimed: bool

    @property
    def said(self) -> list[tuple[str, str | None, list[str]]]:
        return [(one["name"], one["owner"], one["doors"]) for one in self.aliases]


async def told(harness: DoorsHarness, agent: str) -> list[ToldProfile]:
    """Of an agent's profile, event by event."""
    rows = await harness.rows(
        "SELECT snapshot FROM outbox WHERE kind = 'profile' "
        f"AND json_extract(snapshot, '$.name') = '{agent}' ORDER BY seq"
    )
    found = [json.loads(row[0]) for row in rows]
    return [ToldProfile(one.get("aliases", []), one.get("unclaimed", False)) for one in found]


async def test_a_mailbox_that_was_written_to_is_told_with_its_name_and_is_nobodys(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")

    (bob,) = await told(harness, "bob")
    *_, alice = await told(harness, "alice")

    assert (bob.said, bob.is_unclaimed) == ([("bob", None, [])], True)
    assert (alice.said, alice.is_unclaimed) == ([("alice", "postal", [])], False)


async def test_who_owns_a_name_is_told_once(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")
    before = len(await told(harness, "bob"))

    await harness.pop("bob")
    owned = await told(harness, "bob")
    await harness.pop("bob")

    assert len(owned) == before + 1
    assert (owned[-1].said, owned[-1].is_unclaimed) == ([("bob", "postal", [])], False)
    assert await told(harness, "bob") == owned


async def test_links_of_the_operator_are_told_where_they_change_something(harness: DoorsHarness) -> None:
    await harness.speak("bob")
    before = len(await told(harness, "bob"))

    for _ in range(2):
        await harness.doors.link(OPERATOR, "bob", Door.AGENTMAIL)
    for _ in range(2):
        await harness.doors.unlink(OPERATOR, "bob", Door.AGENTMAIL)

    linked, unlinked = (await told(harness, "bob"))[before:]
    assert linked.said == [("bob", "postal", ["agentmail"])]
    assert unlinked.said == [("bob", "postal", [])]


async def test_a_native_agent_that_a_door_comes_to_know_is_told_with_that_name(harness: DoorsHarness) -> None:
    await harness.speak("alice")  # So that the project is there.
    await register(harness, "BlueLake", AgentAuth.OPEN)

    await harness.send("bluelake", "alice", "hi")

    *_, blue = await told(harness, "BlueLake")
    assert (blue.said, blue.is_unclaimed) == ([("BlueLake", None, [])], False)


async def test_a_mailbox_that_somebody_registers_as_is_nobodys_no_more(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")

    await register(harness, "bob", AgentAuth.OPEN)

    *_, bob = await told(harness, "bob")
    assert (bob.said, bob.is_unclaimed) == ([("bob", None, [])], False)


async def test_of_an_agent_that_no_door_knows_its_first_token_is_not_told(harness: DoorsHarness) -> None:
    count = "SELECT count(*) FROM outbox"
    before = await harness.rows(count)

    await harness.seeded.store.write(lambda tx: record_claim(tx, harness.seeded.blue, None))

    assert await harness.rows(count) == before


async def test_mail_is_told_with_the_id_that_it_came_by(harness: DoorsHarness) -> None:
    chosen = await harness.send("alice", "bob", "hi", "m-1")
    await harness.pop("bob")
    answer = await harness.send("bob", "alice", "ho", "m-1")
    made = await harness.doors.send(at("carol", Door.AGENTMAIL), "bob", "hey")

    rows = await harness.rows(
        "SELECT json_extract(snapshot, '$.external_id'), message_id FROM outbox WHERE kind = 'mail' ORDER BY seq"
    )
    (bob,), (alice,) = await harness.rows(
        "SELECT agent_id FROM wire_names WHERE name IN ('bob', 'alice') ORDER BY id DESC"
    )
    assert [(message_id, json.loads(said)) for said, message_id in rows] == [
        (chosen.message_id, {"answers": 0, "door": "postal", "id": "m-1", "recipient_id": bob}),
        (answer.message_id, {"answers": chosen.message_id, "door": "postal", "id": "m-1", "recipient_id": alice}),
        (
            made.message_id,
            {"answers": 0, "door": "agentmail", "id": made_id(Door.AGENTMAIL, made.message_id), "recipient_id": bob},
        ),
    ]


async def purge(harness: DoorsHarness, message_id: MessageId) -> None:
    harness.seeded.clock.step(3_600.0)
    cutoff = RetentionCutoff(at=harness.seeded.clock.now)

    def unit(tx: Tx) -> None:
        tx.outbox._connection.execute("UPDATE outbox SET commit_id = 1")  # As if Git had it.
        assert tx.retention.purge(message_id, cutoff, tx.now)
        record_purges(tx, [message_id])

    await harness.seeded.store.write(unit)


async def test_a_repeat_of_what_was_purged_is_a_repeat_whatever_it_says(harness: DoorsHarness) -> None:
    first = await harness.send("alice", "bob", "hi", "m-1")
    await harness.pop("bob")
    await harness.seeded.store.write(
        lambda tx: tx.outbox._connection.execute(
            "INSERT INTO commits (id, project_id, hexsha, summary, authored_ts, last_seq) SELECT 1, id, ?, 's', 0, 0 "
            "FROM projects LIMIT 1",
            ("a" * 40,),
        )
    )
    await purge(harness, first.message_id)

    again = await harness.send("alice", "bob", "hi", "m-1")
    other = await harness.send("alice", "bob", "something else", "m-1")

    assert await harness.rows("SELECT body_hash FROM wire_ids") == [(NO_BODY,)]
    assert (again.message_id, again.is_repeat) == (first.message_id, True)
    assert (other.message_id, other.is_repeat) == (first.message_id, True)


async def test_an_agent_has_so_many_names_at_doors_and_no_more(harness: DoorsHarness) -> None:
    blue = harness.seeded.blue

    def unit(tx: Tx) -> None:
        for number in range(wire_names.MAX_NAMES_EACH):
            tx.wire_names.add(blue.project_id, blue.id, f"n-{number}", tx.now)
        with pytest.raises(TooManyNames) as refused:
            tx.wire_names.add(blue.project_id, blue.id, "one more", tx.now)
        assert refused.value.data == {"limit": wire_names.MAX_NAMES_EACH}

    await harness.seeded.store.write(unit)
