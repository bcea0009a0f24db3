from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import LinkStatus, intro_subject
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.features.oversight import needs
from mcp_agent_mail.features.oversight.needs import NeedCounts, Needs, NeedsPlace
from mcp_agent_mail.features.oversight.service import OversightService
from tests.features.oversight.conftest import LATE_AFTER_S
from tests.seeded_store import SeededStore

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.STRICT)
REQUEST_S = 60


async def human_of(seeded: SeededStore) -> Agent:
    human = await seeded.store.read(lambda view: view.agents.find_by_name(seeded.app.id, "Human"))
    assert human is not None
    return human


async def request(seeded: SeededStore, source: Agent, target: Agent) -> None:
    await seeded.store.write(
        lambda tx: tx.contacts.put(
            source.id,
            target.id,
            status=LinkStatus.PENDING,
            reason="",
            expires_ts=Micros(tx.now + REQUEST_S * SECOND),
            now=tx.now,
        )
    )


async def hold(seeded: SeededStore, source: Agent, target: Agent, subject: str = "held") -> None:
    copy = replace(seeded.addressed([target])[0], held_code="CONTACT_REQUIRED")
    await seeded.post(replace(seeded.letter(source), subject=subject), copy)


async def write(
    seeded: SeededStore,
    source: Agent,
    *targets: Agent,
    subject: str = "Ready?",
    importance: Importance = Importance.NORMAL,
) -> MessageId:
    letter = replace(seeded.letter(source, ack_required=True, importance=importance), subject=subject)
    message, _ = await seeded.post(letter, *seeded.addressed(targets))
    return message.id


def asked(found: Needs) -> list[tuple[str, str, list[str], int]]:
    return [
        (one.contact.source.name, one.contact.target.name, [held.mail.subject for held in one.held], one.held_total)
        for one in found.questions
    ]


async def test_held_mail_counts_once_with_its_request_which_goes_on_after_its_end(
    seeded: SeededStore, service: OversightService
) -> None:
    await request(seeded, seeded.blue, seeded.fox)
    await request(seeded, seeded.red, seeded.fox)
    for number in range(needs.HELD_SHOWN + 1):
        await hold(seeded, seeded.blue, seeded.fox, f"held {number}")
    first = [f"held {number}" for number in range(needs.HELD_SHOWN)]

    assert asked(await service.needs(OPERATOR)) == [("BlueLake", "QuietFox", first, 4), ("RedStone", "QuietFox", [], 0)]
    assert await service.count(OPERATOR) == NeedCounts(unread=0, needs=2)
    seeded.clock.step(REQUEST_S)
    assert asked(await service.needs(OPERATOR)) == [("BlueLake", "QuietFox", first, 4)]
    assert await service.count(OPERATOR) == NeedCounts(unread=0, needs=1)


async def test_an_introduction_is_its_requests_and_nothing_else(seeded: SeededStore) -> None:
    human = await human_of(seeded)
    subject = intro_subject("BlueLake")
    for target in (human, seeded.fox):
        await request(seeded, seeded.blue, target)
        await write(seeded, seeded.blue, target, subject=subject)
    forged = await write(seeded, seeded.red, human, subject=subject)
    seeded.clock.step(REQUEST_S - 1)
    early = OversightService(seeded.store, late_after_s=1)

    found = await early.needs(OPERATOR)

    assert [one.head.id for one in found.owed] == [forged]
    assert [two[1] for two in asked(found)] == ["Human", "QuietFox"]
    assert found.late == []
    assert (await early.count(OPERATOR)).needs == 3
    seeded.clock.step(1)
    assert [one.names for one in (await early.needs(OPERATOR)).late] == [["QuietFox"]]


async def test_where_a_person_owes_nothing_no_mail_is_looked_at_to_count_it(
    seeded: SeededStore, service: OversightService
) -> None:
    statements: list[str] = []
    seeded.store._reading.set_trace_callback(statements.append)
    nothing = await service.count(OPERATOR)
    seeded.store._reading.set_trace_callback(None)

    assert nothing == NeedCounts(unread=0, needs=0)
    assert statements
    assert not [one for one in statements if "recipients_unacked" in one]


async def test_what_a_person_has_read_is_needed_until_it_is_acknowledged(
    seeded: SeededStore, service: OversightService
) -> None:
    human = await human_of(seeded)
    message = await write(seeded, seeded.blue, human)

    await seeded.store.write(lambda tx: tx.inboxes.mark_read(human.id, message, tx.now))
    read = await service.count(OPERATOR)
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(human.id, message, tx.now))

    assert read == NeedCounts(unread=0, needs=1)
    assert await service.count(OPERATOR) == NeedCounts(unread=0, needs=0)


async def test_what_is_to_acknowledge_is_urgent_first_then_the_oldest_and_once_each(
    seeded: SeededStore, service: OversightService, monkeypatch: pytest.MonkeyPatch
) -> None:
    human = await human_of(seeded)
    other = await seeded.store.read(lambda view: view.agents.find_by_name(seeded.lib.id, "Human"))
    assert other is not None
    one = await write(seeded, seeded.blue, human, other)
    two = await write(seeded, seeded.blue, human, importance=Importance.HIGH)
    three = await write(seeded, seeded.blue, human, importance=Importance.URGENT)

    whole = await service.needs(OPERATOR)
    monkeypatch.setattr(needs, "SHOWN_NEEDS", 2)
    cut = await service.needs(OPERATOR)

    assert ([head.head.id for head in whole.owed], whole.has_more_owed) == ([three, one, two], False)
    assert ([head.head.id for head in cut.owed], cut.has_more_owed) == ([three, one], True)
    assert await service.count(OPERATOR) == NeedCounts(unread=4, needs=3)


async def test_what_is_overdue_is_a_message_with_how_many_are_late(
    seeded: SeededStore, service: OversightService
) -> None:
    message = await write(seeded, seeded.blue, seeded.red, seeded.green, seeded.fox, await human_of(seeded))
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, message, tx.now))
    seeded.clock.step(LATE_AFTER_S - 1)
    before = await service.needs(OPERATOR)
    seeded.clock.step(1)

    (late,) = (await service.needs(OPERATOR)).late

    assert before.late == []
    assert (late.head.id, late.late, late.asked) == (message, 2, 3)
    assert list(late.names) == ["GreenField", "QuietFox"]
    assert list(late.projects) == ["code-app", "code-lib"]
    assert (await service.count(OPERATOR)).needs == 1


@pytest.mark.parametrize("copies", [5_000, 1])
async def test_each_page_leads_to_the_next_until_all_was_shown(
    seeded: SeededStore, service: OversightService, monkeypatch: pytest.MonkeyPatch, copies: int
) -> None:
    monkeypatch.setattr(needs, "SHOWN_NEEDS", 1)
    monkeypatch.setattr(needs, "LATE_COPIES_LOOKED_AT", copies)
    for source in (seeded.blue, seeded.red, seeded.green):
        await request(seeded, source, seeded.fox)
    late = [await write(seeded, seeded.blue, seeded.red) for _ in range(3)]
    seeded.clock.step(LATE_AFTER_S)
    for source in (seeded.blue, seeded.red, seeded.green):
        await request(seeded, source, seeded.fox)

    requests, overdue = [], []
    place: NeedsPlace | None = NeedsPlace()
    while place is not None:
        page = await service.needs(OPERATOR, place)
        requests += [one.contact.source.name for one in page.questions]
        overdue += [one.head.id for one in page.late]
        if page.next_request is None and page.next_delivery is None:
            break
        place = NeedsPlace(
            after_request=page.next_request or place.after_request + 10,
            after_delivery=page.next_delivery or place.after_delivery + 10,
        )

    assert requests == ["BlueLake", "RedStone", "GreenField"]
    assert overdue == late


async def test_a_count_says_where_there_may_be_more(
    seeded: SeededStore, service: OversightService, monkeypatch: pytest.MonkeyPatch
) -> None:
    human = await human_of(seeded)
    for _ in range(3):
        await write(seeded, seeded.blue, human)
    await request(seeded, seeded.blue, seeded.fox)

    monkeypatch.setattr(needs, "MOST_NEEDS", 3)
    assert await service.count(OPERATOR) == NeedCounts(unread=3, needs=4)
    monkeypatch.setattr(needs, "MOST_NEEDS", 2)
    assert await service.count(OPERATOR) == NeedCounts(unread=3, needs=3, is_least=True)


async def test_of_those_who_are_late_so_many_are_named_and_all_are_counted(
    seeded: SeededStore, service: OversightService
) -> None:
    await write(seeded, seeded.blue, seeded.red, seeded.green, seeded.fox, seeded.lib_blue)
    seeded.clock.step(LATE_AFTER_S)

    (late,) = (await service.needs(OPERATOR)).late

    assert list(late.names) == ["RedStone", "GreenField", "QuietFox"]
    assert (late.late, list(late.projects)) == (4, ["code-app", "code-lib"])
