from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import NewRecipient, RecipientKind
from mcp_agent_mail.features.identity.system_mail import SystemNotice, post_system_mail
from mcp_agent_mail.store.mail.owed_acks import OwedCopy
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, add_agent, open_seeded_store

NEVER = 0


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def ask(seeded: SeededStore, *to: NewRecipient, ack_required: bool = True) -> MessageId:
    """From BlueLake, a second after the one before."""
    seeded.clock.step()
    message, _ = await seeded.post(seeded.letter(seeded.blue, ack_required=ack_required), *to)
    return message.id


async def owed(
    seeded: SeededStore, agent: Agent | None = None, until: int | None = None, limit: int = 9
) -> list[OwedCopy]:
    at = Micros(seeded.clock.now if until is None else until)
    agent_id = None if agent is None else agent.id
    return await seeded.store.read(lambda view: view.owed_acks.list_(seeded.app.id, agent_id, at, limit))


async def to_remind(
    seeded: SeededStore, agent: Agent | None = None, quiet_since: int = NEVER, limit: int = 9
) -> list[tuple[AgentId, MessageId]]:
    now, since = seeded.clock.now, Micros(quiet_since)
    agent_id = None if agent is None else agent.id
    found = await seeded.store.read(lambda view: view.owed_acks.to_remind(seeded.app.id, agent_id, now, since, limit))
    return [(one.agent_id, one.message_id) for one in found]


async def remind(seeded: SeededStore, agent: Agent, message_id: MessageId) -> None:
    def unit(tx: Tx) -> None:
        post_system_mail(tx, seeded.app, [agent], SystemNotice(subject="s", body_md="b", reply_to=message_id))

    seeded.clock.step()
    await seeded.store.write(unit)


def pairs(copies: list[OwedCopy]) -> list[tuple[AgentId, MessageId]]:
    return [(one.agent_id, one.message_id) for one in copies]


async def test_what_asks_for_an_acknowledgement_and_has_none_is_owed_by_whom_it_came_to(seeded: SeededStore) -> None:
    first = await ask(seeded, *seeded.addressed([seeded.red, seeded.green, seeded.fox]))
    await ask(seeded, *seeded.addressed([seeded.red]), ack_required=False)
    second = await ask(seeded, *seeded.addressed([seeded.red], RecipientKind.BCC))
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.green.id, first, tx.now))
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, second, tx.now))

    copies = await owed(seeded)

    assert pairs(copies) == [(seeded.red.id, first), (seeded.red.id, second)]
    assert [(one.kind, one.read_ts is None) for one in copies] == [(RecipientKind.TO, True), (RecipientKind.BCC, False)]
    assert await owed(seeded, seeded.green) == []


async def test_what_is_owed_is_bounded_by_age_and_by_number(seeded: SeededStore) -> None:
    first = await ask(seeded, *seeded.addressed([seeded.red]))
    at = seeded.clock.now
    second = await ask(seeded, *seeded.addressed([seeded.red]))

    assert await owed(seeded, until=at - 1) == []
    assert pairs(await owed(seeded, until=at)) == [(seeded.red.id, first)]
    assert pairs(await owed(seeded, limit=1)) == [(seeded.red.id, first)]
    assert pairs(await owed(seeded)) == [(seeded.red.id, first), (seeded.red.id, second)]


async def test_the_retired_owe_only_where_they_are_named_and_are_never_reminded(seeded: SeededStore) -> None:
    message_id = await ask(seeded, *seeded.addressed([seeded.red]))
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.red.id, tx.now, by_operator=True, now=tx.now))

    assert await owed(seeded) == []
    assert pairs(await owed(seeded, seeded.red)) == [(seeded.red.id, message_id)]
    assert await to_remind(seeded, seeded.red) == []


async def test_a_person_is_reminded_only_by_name(seeded: SeededStore) -> None:
    human = await seeded.store.read(lambda view: view.agents.find_by_name(seeded.app.id, "Human"))
    assert human is not None
    message_id = await ask(seeded, *seeded.addressed([human]))

    assert pairs(await owed(seeded)) == [(human.id, message_id)]
    assert await to_remind(seeded) == []
    assert await to_remind(seeded, human) == [(human.id, message_id)]


async def test_a_reminder_of_the_message_to_this_agent_quiets_it_for_a_while(seeded: SeededStore) -> None:
    first = await ask(seeded, *seeded.addressed([seeded.red, seeded.green]))
    second = await ask(seeded, *seeded.addressed([seeded.red]))
    await remind(seeded, seeded.red, first)
    reminded = seeded.clock.now

    still_due = [(seeded.green.id, first), (seeded.red.id, second)]
    assert await to_remind(seeded, quiet_since=reminded - 1) == still_due
    assert await to_remind(seeded, quiet_since=reminded) == [(seeded.red.id, first), *still_due]
    assert [one.reminded_ts for one in await owed(seeded)] == [reminded, None, None]


async def test_the_newest_reminder_counts(seeded: SeededStore) -> None:
    message_id = await ask(seeded, *seeded.addressed([seeded.red]))
    await remind(seeded, seeded.red, message_id)
    await remind(seeded, seeded.red, message_id)

    assert [one.reminded_ts for one in await owed(seeded)] == [seeded.clock.now]


async def test_an_answer_of_anybody_else_is_no_reminder(seeded: SeededStore) -> None:
    message_id = await ask(seeded, *seeded.addressed([seeded.red]))
    seeded.clock.step()
    await seeded.post(replace(seeded.letter(seeded.green), reply_to=message_id), *seeded.addressed([seeded.red]))

    assert [one.reminded_ts for one in await owed(seeded)] == [None]


async def test_one_that_was_acknowledged_meanwhile_is_not_to_be_reminded(seeded: SeededStore) -> None:
    message_id = await ask(seeded, *seeded.addressed([seeded.red]))
    (copy,) = await owed(seeded)

    async def is_due() -> bool:
        now = seeded.clock.now
        return await seeded.store.read(
            lambda view: view.owed_acks.is_to_remind(seeded.app.id, copy, now, Micros(NEVER))
        )

    before = await is_due()
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, message_id, tx.now))

    assert (before, await is_due()) == (True, False)


async def test_another_projects_agents_owe_nothing_here(seeded: SeededStore) -> None:
    await ask(seeded, *seeded.addressed([seeded.fox]))
    await seeded.store.write(lambda tx: add_agent(tx, seeded.app, "QuietFox"))

    assert await owed(seeded) == []
