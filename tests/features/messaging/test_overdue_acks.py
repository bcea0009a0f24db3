"""Acknowledgements that do not come, over a real store with a clock that moves when told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.domain.messages import Message, NewRecipient, RecipientKind
from mcp_agent_mail.features.messaging.overdue_acks import (
    COPIES_AT_ONCE,
    MESSAGES_AT_ONCE,
    Escalation,
    EscalationLease,
    OverdueRules,
    OverdueWorker,
    tell_overdue,
)
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.inboxes import InboxPage
from mcp_agent_mail.store.transaction import View
from tests.seeded_store import SeededStore, add_agent, open_seeded_store

TTL_S = 1800


def rules(escalation: Escalation | None = None, *, holder: str = "Human", exclusive: bool = False) -> OverdueRules:
    claim = EscalationLease(holder=holder, ttl_s=3600, exclusive=exclusive)
    return OverdueRules(ttl_s=TTL_S, interval_s=60, escalation=escalation, claim=claim)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def ask(seeded: SeededStore, *to: NewRecipient, thread_id: str | None = None) -> MessageId:
    """A message of BlueLake's that asks for acknowledgements."""
    message, _ = await seeded.post(seeded.letter(seeded.blue, ack_required=True, thread_id=thread_id), *to)
    return message.id


async def ask_agents(seeded: SeededStore, *to: Agent, kind: RecipientKind = RecipientKind.TO) -> MessageId:
    return await ask(seeded, *seeded.addressed(to, kind))


async def mail_of(seeded: SeededStore, name: str) -> list[Message]:
    """What System wrote to this agent of `app`, oldest first."""

    def look(view: View) -> list[Message]:
        agent = view.agents.find_by_name(seeded.app.id, name)
        assert agent is not None
        entries = view.inboxes.page(agent.id, InboxPage(limit=1_000, oldest_first=True))
        found = [view.messages.find(entry.head.id) for entry in entries]
        return [message for message in found if message is not None and message.is_system]

    return await seeded.store.read(look)


async def look(seeded: SeededStore, escalation: Escalation | None = None, **more: object) -> OverdueWorker:
    worker = OverdueWorker(seeded.store, rules(escalation, **more), clock=seeded.clock)  # type: ignore[arg-type]
    await worker.look()
    return worker


async def test_the_sender_is_told_who_has_not_acknowledged_and_who_has_read(seeded: SeededStore) -> None:
    message_id = await ask_agents(seeded, seeded.red, seeded.green, seeded.fox)
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, message_id, tx.now))
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.green.id, message_id, tx.now))
    seeded.clock.step(TTL_S)

    worker = await look(seeded)

    (notice,) = await mail_of(seeded, "BlueLake")
    assert notice.subject == "Not acknowledged: Plan"
    assert notice.body_md.splitlines()[2:4] == [
        "- GreenField: read 2027-01-15T08:00:00.000000+00:00",
        "- QuietFox@code-lib: not read",
    ]
    assert (worker.figures().told, worker.figures().escalated) == (1, 0)


async def test_nobody_is_told_before_the_time_is_over(seeded: SeededStore) -> None:
    await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S - 1)

    await look(seeded)

    assert (await mail_of(seeded, "BlueLake")) == []


async def test_mail_that_is_acknowledged_or_asks_for_nothing_is_nobodys_business(seeded: SeededStore) -> None:
    acknowledged = await ask_agents(seeded, seeded.red)
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, acknowledged, tx.now))
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    seeded.clock.step(TTL_S)

    await look(seeded)

    assert (await mail_of(seeded, "BlueLake")) == []


async def test_each_message_is_told_of_once_also_after_a_restart(seeded: SeededStore, tmp_path: Path) -> None:
    await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S)
    await look(seeded, Escalation.MAIL)
    await look(seeded, Escalation.MAIL)
    async with Store(tmp_path / "mail.sqlite3", clock=seeded.clock) as again:
        seeded.clock.step(TTL_S)
        await OverdueWorker(again, rules(Escalation.MAIL), clock=seeded.clock).look()

    assert len(await mail_of(seeded, "BlueLake")) == 1
    assert len(await mail_of(seeded, "Human")) == 1


async def test_a_copy_that_was_approved_later_does_not_tell_a_second_time(seeded: SeededStore) -> None:
    held = NewRecipient(agent=seeded.green, project=seeded.app, kind=RecipientKind.TO, held_code="CONTACT_REQUIRED")
    await ask(seeded, *seeded.addressed([seeded.red]), held)
    seeded.clock.step(TTL_S)
    await look(seeded)
    await seeded.store.write(lambda tx: tx.held.deliver(seeded.blue.id, seeded.green.id, tx.now))
    seeded.clock.step(TTL_S)

    await look(seeded)

    (notice,) = await mail_of(seeded, "BlueLake")
    assert "GreenField" not in notice.body_md


async def test_held_mail_is_not_overdue(seeded: SeededStore) -> None:
    held = NewRecipient(agent=seeded.green, project=seeded.app, kind=RecipientKind.TO, held_code="CONTACT_REQUIRED")
    await ask(seeded, held)
    seeded.clock.step(TTL_S)

    await look(seeded)

    assert (await mail_of(seeded, "BlueLake")) == []


async def test_what_was_delivered_before_the_migration_is_passed_over(seeded: SeededStore) -> None:
    await ask_agents(seeded, seeded.red)
    await seeded.store.write(
        lambda tx: tx.meta._connection.execute(
            "UPDATE counters SET value = (SELECT value FROM counters WHERE name = 'delivery') WHERE name = 'overdue'"
        )
    )
    await ask_agents(seeded, seeded.green)
    seeded.clock.step(TTL_S)

    await look(seeded)

    (notice,) = await mail_of(seeded, "BlueLake")
    assert "GreenField" in notice.body_md


async def test_a_notice_that_names_a_blind_recipient_is_for_the_sender_alone(seeded: SeededStore) -> None:
    await ask_agents(seeded, seeded.red, kind=RecipientKind.BCC)
    seeded.clock.step(TTL_S)

    await look(seeded, Escalation.MAIL)

    (to_sender,) = await mail_of(seeded, "BlueLake")
    (to_human,) = await mail_of(seeded, "Human")
    assert "- RedStone (blind copy): not read" in to_sender.body_md
    assert (to_sender.is_private, to_human.is_private) == (True, True)
    assert not await seeded.store.read(lambda view: view.messages.is_open_to(to_sender.id, seeded.app.id))


async def test_a_notice_joins_the_thread_it_is_about(seeded: SeededStore) -> None:
    await ask(seeded, *seeded.addressed([seeded.red]), thread_id="plans")
    seeded.clock.step(TTL_S)

    await look(seeded)

    assert [notice.thread_id for notice in (await mail_of(seeded, "BlueLake"))] == ["plans"]


async def test_a_retired_sender_is_not_written_to(seeded: SeededStore) -> None:
    await ask_agents(seeded, seeded.red)
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.blue.id, tx.now, tx.now))
    seeded.clock.step(TTL_S)

    worker = await look(seeded, Escalation.LOG)

    assert (await mail_of(seeded, "BlueLake")) == []
    assert worker.figures().escalated == 1


@pytest.mark.parametrize("exclusive", [False, True])
async def test_a_lease_stands_for_an_overdue_message(seeded: SeededStore, *, exclusive: bool) -> None:
    message_id = await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S)

    await look(seeded, Escalation.FILE_RESERVATION, exclusive=exclusive)

    (lease,) = await seeded.store.read(lambda view: list(view.leases.each(seeded.app.id, LeaseKind.FILE)))
    assert (lease.path_pattern, lease.agent) == (f"resource://ack-overdue/{message_id}", "Human")
    assert lease.exclusive is exclusive
    assert lease.expires_ts - seeded.clock.now == 3600 * 1_000_000
    assert "Plan" not in lease.reason


async def test_no_lease_tells_of_a_blind_copy_that_nobody_else_knows_of(seeded: SeededStore) -> None:
    await ask_agents(seeded, seeded.red, kind=RecipientKind.BCC)
    seeded.clock.step(TTL_S)

    worker = await look(seeded, Escalation.FILE_RESERVATION)

    assert await seeded.store.read(lambda view: list(view.leases.each(seeded.app.id, LeaseKind.FILE))) == []
    assert worker.figures().told == 1


async def test_a_holder_that_is_not_there_leaves_the_log(seeded: SeededStore, caplog: pytest.LogCaptureFixture) -> None:
    message_id = await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S)

    worker = await look(seeded, Escalation.FILE_RESERVATION, holder="Nobody")

    (record,) = caplog.records
    facts = record.facts  # type: ignore[attr-defined]
    assert (facts["message"], facts["problem"]) == (message_id, "code-app has no agent Nobody")
    assert worker.figures().escalated == 1
    assert len(await mail_of(seeded, "BlueLake")) == 1


async def test_one_unit_of_work_is_bounded_and_a_pass_does_them_all(seeded: SeededStore) -> None:
    for _ in range(MESSAGES_AT_ONCE + 2):
        await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S)

    first = await seeded.store.write(lambda tx: tell_overdue(tx, rules()))
    await look(seeded)

    assert (len(first.told), first.more) == (MESSAGES_AT_ONCE, True)
    assert len(await mail_of(seeded, "BlueLake")) == MESSAGES_AT_ONCE + 2


async def test_a_message_to_very_many_is_one_notice_that_names_some(seeded: SeededStore) -> None:
    count = COPIES_AT_ONCE + 10
    many = await seeded.store.write(lambda tx: [add_agent(tx, seeded.app, f"Agent{number}") for number in range(count)])
    await ask_agents(seeded, *many)
    await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S)

    await look(seeded)

    first, second = await mail_of(seeded, "BlueLake")
    assert f"- and {count - 20} more" in first.body_md
    assert "RedStone" in second.body_md


async def test_a_unit_that_is_not_committed_tells_nobody(seeded: SeededStore) -> None:
    await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S)

    def tell_and_fail(tx: object) -> None:
        tell_overdue(tx, rules())  # type: ignore[arg-type]
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        await seeded.store.write(tell_and_fail)
    await look(seeded)

    assert len(await mail_of(seeded, "BlueLake")) == 1


async def test_the_task_looks_at_once_and_stops_when_told(seeded: SeededStore) -> None:
    await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S)
    worker = OverdueWorker(seeded.store, rules(), clock=seeded.clock)

    worker.start()
    await seeded.store.write(lambda _: None)
    await worker.stop()

    assert worker.figures().told == 1


async def test_what_the_archive_is_told_says_nothing_of_who_is_late(seeded: SeededStore) -> None:
    asked = await ask_agents(seeded, seeded.red, kind=RecipientKind.BCC)
    seeded.clock.step(TTL_S)

    await look(seeded, Escalation.LOG)

    (event,) = await seeded.store.read(
        lambda view: [one for one in view.outbox.pending(seeded.app.id) if one.kind is EventKind.OVERDUE]
    )
    assert event.agent_id is None
    assert event.snapshot == {
        "id": asked,
        "created_ts": event.snapshot["created_ts"],
        "sender": "BlueLake",
        "noted_ts": seeded.clock(),
        "escalation": "log",
    }
