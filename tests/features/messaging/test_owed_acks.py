"""What agents owe, and reminders of it, over a real store with a clock that moves when told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import AgentMailError, PermissionDenied
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.names import UnknownAgent
from mcp_agent_mail.domain.messages import Importance, Message, NewRecipient, RecipientKind
from mcp_agent_mail.features.identity.actor import AgentRetired
from mcp_agent_mail.features.messaging.owed_acks import (
    QUIET_S,
    REMINDERS_AT_ONCE,
    OwedRequest,
    ReminderService,
    SentReminders,
)
from mcp_agent_mail.store.mail.inboxes import InboxPage
from mcp_agent_mail.store.transaction import View
from tests.seeded_store import SeededStore, open_seeded_store

TTL_S = 1_800
OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def _at_once() -> None:
    return None


def service(seeded: SeededStore) -> ReminderService:
    return ReminderService(seeded.store, ttl_s=TTL_S, throttle=_at_once)


def asked(
    agent: str | None = None, min_age_s: int | None = None, limit: int = 200, project: str = "/code/app"
) -> OwedRequest:
    return OwedRequest(project_key=project, agent_name=agent, min_age_s=min_age_s, limit=limit)


async def ask(seeded: SeededStore, *to: NewRecipient, thread_id: str | None = None) -> MessageId:
    message, _ = await seeded.post(seeded.letter(seeded.blue, ack_required=True, thread_id=thread_id), *to)
    return message.id


async def ask_agents(seeded: SeededStore, *to: Agent, kind: RecipientKind = RecipientKind.TO) -> MessageId:
    return await ask(seeded, *seeded.addressed(to, kind))


async def remind(seeded: SeededStore, request: OwedRequest | None = None) -> SentReminders:
    return await service(seeded).remind(OPERATOR, request or asked())


def sent(reminded: SentReminders) -> list[tuple[str, MessageId]]:
    return [(one.owed.agent.name, one.owed.message.id) for one in reminded.reminders]


async def reminders_of(seeded: SeededStore, agent: Agent) -> list[Message]:
    """What System wrote to it, oldest first."""

    def look(view: View) -> list[Message]:
        entries = view.inboxes.page(agent.id, InboxPage(limit=1_000, oldest_first=True))
        found = [view.messages.find(entry.head.id) for entry in entries]
        return [message for message in found if message is not None and message.is_system]

    return await seeded.store.read(look)


async def test_who_is_late_gets_mail_in_the_thread_with_the_call_that_acknowledges(seeded: SeededStore) -> None:
    message_id = await ask(seeded, *seeded.addressed([seeded.red]), thread_id="parser")
    seeded.clock.step(TTL_S)

    reminded = await remind(seeded)

    (mail,) = await reminders_of(seeded, seeded.red)
    assert sent(reminded) == [("RedStone", message_id)]
    assert (mail.subject, mail.importance, mail.thread_id) == ("Please acknowledge: Plan", Importance.HIGH, "parser")
    assert mail.body_md == (
        f"The operator reminds you: BlueLake asked you to acknowledge message {message_id}, `Plan`. "
        "You got it 30 minutes ago and have not.\n\n"
        'Read it, then: `acknowledge_message(project_key="/code/app", agent_name="RedStone", '
        f"message_id={message_id})`"
    )
    assert (mail.ack_required, mail.is_private) == (False, False)


async def test_nobody_is_reminded_before_it_is_late_unless_the_operator_says_so(seeded: SeededStore) -> None:
    message_id = await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S - 1)

    assert sent(await remind(seeded)) == []
    assert sent(await remind(seeded, asked(min_age_s=0))) == [("RedStone", message_id)]


async def test_of_a_message_each_is_reminded_once_an_hour(seeded: SeededStore) -> None:
    first = await ask_agents(seeded, seeded.red, seeded.green)
    seeded.clock.step(TTL_S)
    await remind(seeded, asked("RedStone"))
    seeded.clock.step(QUIET_S - 1)
    second = await ask_agents(seeded, seeded.red)

    again = await remind(seeded, asked(min_age_s=0))
    seeded.clock.step(1)
    after_the_hour = await remind(seeded)

    assert sent(again) == [("GreenField", first), ("RedStone", second)]
    assert sent(after_the_hour) == [("RedStone", first)]


async def test_who_has_acknowledged_is_left_in_peace(seeded: SeededStore) -> None:
    message_id = await ask_agents(seeded, seeded.red, seeded.green)
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, message_id, tx.now))
    seeded.clock.step(TTL_S)

    assert sent(await remind(seeded)) == [("GreenField", message_id)]


async def test_of_a_blind_copy_only_its_recipient_learns(seeded: SeededStore) -> None:
    await ask_agents(seeded, seeded.red, kind=RecipientKind.BCC)
    seeded.clock.step(TTL_S)

    await remind(seeded)

    (mail,) = await reminders_of(seeded, seeded.red)
    assert mail.is_private
    assert await reminders_of(seeded, seeded.green) == []


async def test_mail_of_another_project_is_reminded_of_where_its_recipient_is(seeded: SeededStore) -> None:
    message_id = await ask_agents(seeded, seeded.fox)
    seeded.clock.step(TTL_S)

    assert sent(await remind(seeded)) == []
    assert sent(await remind(seeded, asked(project="/code/lib"))) == [("QuietFox", message_id)]
    (mail,) = await reminders_of(seeded, seeded.fox)
    assert "BlueLake@code-app asked you" in mail.body_md
    assert (mail.project_key, mail.thread_id) == ("/code/lib", str(message_id))


async def test_a_call_sends_so_many_and_a_repeat_goes_on(seeded: SeededStore) -> None:
    ids = [await ask_agents(seeded, seeded.red) for _ in range(REMINDERS_AT_ONCE + 2)]
    seeded.clock.step(TTL_S)

    first = await remind(seeded, asked(limit=REMINDERS_AT_ONCE + 1))
    rest = await remind(seeded, asked(limit=REMINDERS_AT_ONCE + 1))

    assert [message_id for _, message_id in sent(first)] == ids[:-1]
    assert [message_id for _, message_id in sent(rest)] == ids[-1:]
    assert (first.has_more, rest.has_more) == (True, False)


async def test_the_list_says_what_is_owed_by_whom_and_when_it_was_reminded_of(seeded: SeededStore) -> None:
    message_id = await ask_agents(seeded, seeded.red, seeded.green)
    seeded.clock.step(TTL_S)
    await remind(seeded, asked("GreenField"))
    reminded_at = seeded.clock.now
    seeded.clock.step()

    listing = await service(seeded).list_(OPERATOR, asked())

    assert [(one.agent.name, one.message.id, one.copy.reminded_ts) for one in listing.owed] == [
        ("RedStone", message_id, None),
        ("GreenField", message_id, reminded_at),
    ]
    assert (listing.min_age_s, listing.has_more) == (TTL_S, False)
    cut = await service(seeded).list_(OPERATOR, asked(limit=1))
    assert ([one.agent.name for one in cut.owed], cut.has_more) == (["RedStone"], True)


async def test_only_the_operator_looks_and_reminds(seeded: SeededStore) -> None:
    await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S)

    with pytest.raises(PermissionDenied):
        await service(seeded).list_(ANYBODY, asked())
    with pytest.raises(PermissionDenied):
        await service(seeded).remind(ANYBODY, asked())
    assert await reminders_of(seeded, seeded.red) == []


async def test_the_retired_and_the_unknown_are_refused_by_name(seeded: SeededStore) -> None:
    await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S)
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.red.id, tx.now, by_operator=True, now=tx.now))

    with pytest.raises(AgentRetired):
        await remind(seeded, asked("RedStone"))
    with pytest.raises(UnknownAgent):
        await remind(seeded, asked("Nobody"))
    assert sent(await remind(seeded)) == []


async def test_an_archived_project_sends_nothing(seeded: SeededStore) -> None:
    await ask_agents(seeded, seeded.red)
    seeded.clock.step(TTL_S)
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.app.id, tx.now))

    with pytest.raises(AgentMailError, match="archived"):
        await remind(seeded)
    assert await reminders_of(seeded, seeded.red) == []
