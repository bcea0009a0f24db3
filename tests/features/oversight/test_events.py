"""What happens in the store is told to whoever watches: kinds and numbers, from where they have come, within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from mcp_agent_mail.core.errors import AuthenticationRequired, Unavailable
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.features.oversight import events
from mcp_agent_mail.features.oversight.events import (
    KEPT,
    MAX_STREAMS,
    MOST_OF_A_COMMIT,
    MOST_OF_A_PAYER,
    PLACES_FOR_SIGNED_IN,
    SILENCE_S,
    EventStream,
    OversightEvents,
    SentEvent,
    TooManyStreams,
)
from mcp_agent_mail.notify.bus import CopyBus, OversightBus
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
UNPROVEN = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)


def agent_of(project_id: ProjectId) -> Caller:
    return Caller(
        kind=CallerKind.AGENT, auth=AgentAuth.OPEN, agent_id=AgentId(99), project_id=project_id, agent_name="RedStone"
    )


async def identify() -> Caller:
    return OPERATOR


def events_of(seeded: SeededStore) -> OversightEvents:
    async def settle() -> None:
        await seeded.store.write(lambda _: None)

    return events_with(seeded, settle)


def events_with(seeded: SeededStore, settle: Callable[[], Awaitable[Any]]) -> OversightEvents:
    store = seeded.store
    return OversightEvents(CopyBus(store.on_copy_change), OversightBus(store.on_oversight_change), settle, run="run")


async def next_of(stream: EventStream) -> list[SentEvent]:
    async with asyncio.timeout(20):
        return await anext(stream.pages(identify))


async def told_of(stream: EventStream, count: int) -> list[tuple[str, int]]:
    """Kinds and numbers of so many, and of no other that came with them."""
    told: list[tuple[str, int]] = []
    while len(told) < count:
        told += [(one.kind.value, one.data["id"]) for one in await next_of(stream)]
    return told


async def test_where_nothing_can_be_written_pages_still_say_where_they_begin(seeded: SeededStore) -> None:
    async def settle() -> None:
        raise Unavailable("The disk is full.", hint="Free some space.")

    assert await events_with(seeded, settle).newest_id() == "run-0"


async def test_new_mail_is_told_by_its_number_and_project_alone(seeded: SeededStore) -> None:
    stream = await events_of(seeded).open(OPERATOR)

    sent, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

    assert [(one.id, one.data) for one in await next_of(stream)] == [
        ("run-1", {"kind": "mail", "id": sent.id, "project_id": seeded.app.id}),
        ("run-2", {"kind": "receipt", "id": sent.id}),
    ]


async def test_an_agent_that_comes_is_told_and_its_activity_is_not(seeded: SeededStore) -> None:
    stream = await events_of(seeded).open(OPERATOR)

    await seeded.store.write(lambda tx: tx.agents.touch_many([(seeded.red.id, tx.now)]))
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.red.id, tx.now, tx.now))

    (told,) = await next_of(stream)
    assert told.data == {"kind": "agent", "id": seeded.red.id, "project_id": seeded.app.id}


async def test_whoever_comes_back_goes_on_behind_the_last_event(seeded: SeededStore) -> None:
    hub = events_of(seeded)
    first = await hub.open(OPERATOR)
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.red.id, tx.now, tx.now))
    (heard,) = await next_of(first)
    first.close()
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.green.id, tx.now, tx.now))

    (missed,) = await next_of(await hub.open(OPERATOR, heard.id))

    assert missed.data["id"] == seeded.green.id


@pytest.mark.parametrize("after", ["another-1", "run-77", "run-x", "run-\u00b2", "-", "x" * 5000])
async def test_an_event_of_another_run_or_none_means_look_at_everything(seeded: SeededStore, after: str) -> None:
    (told,) = await next_of(await events_of(seeded).open(OPERATOR, after))

    assert told.data == {"kind": "all"}


def _retire(agent: Agent, tx: Tx) -> None:
    tx.agents.set_retired(agent.id, tx.now, tx.now)


def _retire_all(agents: Sequence[Agent], tx: Tx) -> None:
    for agent in agents:
        _retire(agent, tx)


async def test_who_is_further_behind_than_is_kept_looks_at_everything(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "KEPT", 2)
    hub = events_of(seeded)
    await hub.open(OPERATOR)
    for agent in (seeded.red, seeded.green, seeded.blue):
        await seeded.store.write(partial(_retire, agent))
    await asyncio.sleep(0)

    told = await next_of(await hub.open(OPERATOR, "run-0"))
    kept = await next_of(await hub.open(OPERATOR, "run-1"))

    assert [one.data for one in told] == [{"kind": "all"}]
    assert [one.id for one in kept] == ["run-2", "run-3"]


async def test_an_agent_hears_of_its_own_project_and_nobody_else_of_blind_copies(seeded: SeededStore) -> None:
    hub = events_of(seeded)
    stranger = await hub.open(agent_of(seeded.lib.id))
    member = await hub.open(agent_of(seeded.app.id))

    blind = seeded.addressed([seeded.green], RecipientKind.BCC)
    sent, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]), *blind)
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.fox.id, tx.now, tx.now))

    assert [one.data for one in await next_of(member)] == [{"kind": "mail", "id": sent.id, "project_id": seeded.app.id}]
    assert [one.data["kind"] for one in await next_of(stranger)] == ["agent"]


async def test_places_are_bounded_and_free_again_once_closed(seeded: SeededStore) -> None:
    hub = events_of(seeded)
    streams = [await hub.open(OPERATOR) for _ in range(MAX_STREAMS)]

    with pytest.raises(TooManyStreams):
        await hub.open(OPERATOR)
    streams[0].close()

    await hub.open(OPERATOR)
    assert hub.count == MAX_STREAMS


async def test_one_payer_takes_no_more_than_its_share(seeded: SeededStore) -> None:
    hub = events_of(seeded)
    anybody = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
    streams = [await hub.open(anybody, payer="one") for _ in range(MOST_OF_A_PAYER)]

    with pytest.raises(TooManyStreams):
        await hub.open(anybody, payer="one")
    await hub.open(anybody, payer="another")
    streams[0].close()
    await hub.open(anybody, payer="one")


async def test_places_are_kept_for_those_who_signed_in(seeded: SeededStore) -> None:
    hub = events_of(seeded)
    anybody = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
    for number in range(MAX_STREAMS - PLACES_FOR_SIGNED_IN):
        await hub.open(anybody, payer=str(number))

    with pytest.raises(TooManyStreams):
        await hub.open(anybody, payer="late")
    for number in range(PLACES_FOR_SIGNED_IN // 2):
        await hub.open(anybody, payer=f"member {number}", is_signed_in=True)
        await hub.open(OPERATOR)
    with pytest.raises(TooManyStreams):
        await hub.open(OPERATOR)


async def test_a_stop_ends_every_stream_and_opens_no_other(seeded: SeededStore) -> None:
    hub = events_of(seeded)
    stream = await hub.open(OPERATOR)
    waiting = asyncio.ensure_future(_all(stream))
    await asyncio.sleep(0)

    hub.close()

    assert await asyncio.wait_for(waiting, 20) == []
    with pytest.raises(TooManyStreams):
        await hub.open(OPERATOR)


async def _all(stream: EventStream) -> list[list[SentEvent]]:
    return [told async for told in stream.pages(identify)]


async def test_silence_is_broken_and_who_may_read_no_more_hears_no_more(seeded: SeededStore) -> None:
    stream = await events_of(seeded).open(OPERATOR)
    asked: list[Caller] = []

    async def nobody() -> Caller:
        asked.append(OPERATOR)
        if len(asked) < 2:
            return OPERATOR
        return Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)

    told = [one async for one in stream.pages(nobody, silence_s=0.001)]

    assert told == [[]]


def test_the_bounds_are_these() -> None:
    assert (MAX_STREAMS, SILENCE_S, MOST_OF_A_COMMIT, KEPT) == (200, 15, 64, 1_024)


async def test_of_blind_copies_and_held_mail_the_operator_alone_is_told(seeded: SeededStore) -> None:
    hub = events_of(seeded)
    anybody, member = await hub.open(ANYBODY), await hub.open(agent_of(seeded.app.id))
    operator = await hub.open(OPERATOR)
    (held,) = (replace(one, held_code="consent") for one in seeded.addressed([seeded.green]))
    blind = seeded.addressed([seeded.red], RecipientKind.BCC)

    hidden, _ = await seeded.post(replace(seeded.letter(seeded.blue), is_private=True), held, *blind)
    open_mail, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

    assert await told_of(operator, 4) == [
        ("receipt", hidden.id),
        ("held", hidden.id),
        ("mail", open_mail.id),
        ("receipt", open_mail.id),
    ]
    assert await told_of(anybody, 2) == [("mail", open_mail.id), ("receipt", open_mail.id)]
    assert await told_of(member, 1) == [("mail", open_mail.id)]


async def test_a_number_of_another_run_leads_nowhere_here(seeded: SeededStore) -> None:
    hub = events_of(seeded)
    await hub.open(OPERATOR)
    await seeded.store.write(partial(_retire, seeded.red))

    (told,) = await next_of(await hub.open(OPERATOR, "another-0"))

    assert (told.id, told.data) == ("run-1", {"kind": "all"})


async def test_what_changes_too_much_at_once_is_told_as_one(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_OF_A_COMMIT", 2)
    stream = await events_of(seeded).open(OPERATOR)
    kinds = []

    for agents in ([seeded.red, seeded.green], [seeded.blue, seeded.fox, seeded.lib_blue]):
        await seeded.store.write(partial(_retire_all, agents))
        kinds.append([one.data["kind"] for one in await next_of(stream)])

    assert kinds == [["agent", "agent"], ["all"]]


async def test_who_may_read_nothing_gets_no_stream_and_takes_no_place(seeded: SeededStore) -> None:
    hub = events_of(seeded)

    with pytest.raises(AuthenticationRequired):
        await hub.open(UNPROVEN)

    assert hub.count == 0


async def test_a_stream_begins_when_what_is_committed_later_is_sure_to_be_heard_of(seeded: SeededStore) -> None:
    is_settled = asyncio.Event()
    hub = events_with(seeded, is_settled.wait)

    opening = asyncio.ensure_future(hub.open(OPERATOR))
    await asyncio.sleep(0)
    was_open = opening.done()
    is_settled.set()

    assert (was_open, await opening is not None) == (False, True)


async def test_who_could_not_be_sure_to_hear_of_all_has_no_place(seeded: SeededStore) -> None:
    async def fail() -> None:
        raise TooManyStreams("The store has gone.", retry_after_s=1)

    hub = events_with(seeded, fail)

    with pytest.raises(TooManyStreams):
        await hub.open(OPERATOR)

    assert hub.count == 0


async def test_an_agent_hears_of_projects_that_are_linked_to_its_own(seeded: SeededStore) -> None:
    hub = events_of(seeded)
    linked = await hub.open(replace(agent_of(seeded.app.id), linked_projects=frozenset({seeded.lib.id})))
    stranger = await hub.open(agent_of(seeded.app.id))

    for agent in (seeded.fox, seeded.green):
        await seeded.store.write(partial(_retire, agent))

    first_told = [(await told_of(one, 1))[0] for one in (linked, stranger)]
    assert first_told == [("agent", seeded.fox.id), ("agent", seeded.green.id)]
