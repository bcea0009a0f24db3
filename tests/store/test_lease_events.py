from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.events import EventKind, OutboxEvent
from mcp_agent_mail.domain.leases import EndedBy, LeaseKind
from mcp_agent_mail.store.lease_events import end_leases, record_event, sweep_expired
from tests.seeded_store import SeededStore, open_seeded_store
from tests.store.grants import TTL_S, grant, texts_of


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def events_of(seeded: SeededStore, project_id: ProjectId) -> list[OutboxEvent]:
    return await seeded.store.read(lambda view: view.outbox.pending(project_id))


async def test_a_lease_ends_once_and_its_end_is_counted(seeded: SeededStore) -> None:
    leases = await grant(seeded, seeded.blue, "a", "b")
    ended = await seeded.store.write(lambda tx: end_leases(tx, leases[:1], EndedBy.RELEASE))
    seeded.clock.step(1)

    again = await seeded.store.write(lambda tx: end_leases(tx, leases, EndedBy.FORCE))

    assert [(one.id, one.ended_by) for one in (*ended, *again)] == [(1, EndedBy.RELEASE), (2, EndedBy.FORCE)]
    assert await seeded.store.read(lambda view: view.leases.ends()) == 2


async def test_whatever_ends_an_expired_lease_it_ended_by_its_expiry(seeded: SeededStore) -> None:
    leases = await grant(seeded, seeded.blue, "a")
    seeded.clock.step(TTL_S + 5)

    (ended,) = await seeded.store.write(lambda tx: end_leases(tx, leases, EndedBy.FORCE, acting=seeded.red))

    assert (ended.ended_by, ended.released_ts) == (EndedBy.EXPIRY, leases[0].expires_ts)


async def test_a_sweep_takes_the_longest_expired_first_and_only_so_many(seeded: SeededStore) -> None:
    await grant(seeded, seeded.blue, "late", ttl_s=50)
    await grant(seeded, seeded.blue, "early", ttl_s=10)
    await grant(seeded, seeded.blue, "live")
    seeded.clock.step(100)

    first = await seeded.store.write(lambda tx: sweep_expired(tx, 1))
    rest = await seeded.store.write(lambda tx: sweep_expired(tx, 10))

    assert (texts_of(first), texts_of(rest)) == (["early"], ["late"])


async def test_each_end_is_told_to_the_archive_of_its_project(seeded: SeededStore) -> None:
    files = await grant(seeded, seeded.blue, "a", "b")
    slots = await grant(seeded, seeded.fox, "build", kind=LeaseKind.SLOT)

    await seeded.store.write(lambda tx: end_leases(tx, [*files, *slots], EndedBy.RELEASE))

    of_app, of_lib = [await events_of(seeded, project.id) for project in (seeded.app, seeded.lib)]
    assert [(event.kind, event.snapshot["path_pattern"]) for event in of_app] == [
        (EventKind.RESERVATION, "a"),
        (EventKind.RESERVATION, "b"),
    ]
    assert [(event.kind, event.snapshot["project"]) for event in of_lib] == [(EventKind.SLOT, "/code/lib")]


async def test_an_end_is_the_act_of_an_agent_of_the_server_or_of_time(seeded: SeededStore) -> None:
    forced, swept = await grant(seeded, seeded.blue, "forced", "swept")
    (expired,) = await grant(seeded, seeded.blue, "expired", ttl_s=10)
    seeded.clock.step(10)
    await seeded.store.write(lambda tx: end_leases(tx, [expired, forced], EndedBy.FORCE, acting=seeded.red))

    await seeded.store.write(lambda tx: end_leases(tx, [swept], EndedBy.IDLE))

    told = [
        (one.snapshot["path_pattern"], one.agent_id, one.snapshot["acting"])
        for one in await events_of(seeded, seeded.app.id)
    ]
    assert told == [("expired", None, None), ("forced", seeded.red.id, "RedStone"), ("swept", None, None)]


async def test_the_evidence_of_an_end_is_stored_with_the_lease_it_is_about(seeded: SeededStore) -> None:
    leases = await grant(seeded, seeded.blue, "a", "b")
    evidence = {leases[1].id: {"idle_s": 5}}

    ended = await seeded.store.write(lambda tx: end_leases(tx, leases, EndedBy.IDLE, evidence=evidence))

    assert [lease.evidence for lease in ended] == [None, {"idle_s": 5}]
    assert [event.snapshot["evidence"] for event in await events_of(seeded, seeded.app.id)] == [None, {"idle_s": 5}]


async def test_a_lease_that_is_granted_anew_says_when_it_had_ended(seeded: SeededStore) -> None:
    (lease,) = await grant(seeded, seeded.blue, "a")
    lapsed_ts = seeded.clock.now

    await seeded.store.write(lambda tx: record_event(tx, lease, seeded.app, acting=seeded.blue, lapsed_ts=lapsed_ts))

    (event,) = await events_of(seeded, seeded.app.id)
    assert (event.agent_id, event.snapshot["lapsed_ts"], event.snapshot["id"]) == (seeded.blue.id, lapsed_ts, lease.id)
