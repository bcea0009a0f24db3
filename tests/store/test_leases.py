"""Leases at rest, over the real store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import parse_pattern
from mcp_agent_mail.store.lease_events import end_leases, sweep_expired
from mcp_agent_mail.store.leases import ConflictFilter
from tests.mailroom import Mailroom, open_mailroom

TTL_S = 600
FILE = LeaseKind.FILE


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Mailroom]:
    async with open_mailroom(tmp_path) as opened:
        yield opened


def new(room: Mailroom, agent: Agent, text: str = "src/**", *, exclusive: bool = True, ttl_s: int = TTL_S) -> NewLease:
    return NewLease(
        project_id=agent.project_id,
        agent_id=agent.id,
        agent=agent.name,
        kind=FILE,
        path_pattern=text,
        keys=keys_of(parse_pattern(text)),
        exclusive=exclusive,
        reason="why",
        expires_ts=Micros(room.clock.now + ttl_s * SECOND),
    )


async def grant(room: Mailroom, agent: Agent, *texts: str, exclusive: bool = True, ttl_s: int = TTL_S) -> list[Lease]:
    return await room.store.write(
        lambda tx: tx.leases.add_many(
            [new(room, agent, text, exclusive=exclusive, ttl_s=ttl_s) for text in texts], tx.now
        )
    )


def texts_of(leases: list[Lease]) -> list[str]:
    return [lease.path_pattern for lease in leases]


async def test_what_was_granted_is_read_back_as_it_was(room: Mailroom) -> None:
    granted = await grant(room, room.blue, "src/**", "docs")

    read = await room.store.read(lambda view: view.leases.live(room.app.id, FILE, room.clock.now, limit=10))

    assert read == granted
    assert [lease.fencing for lease in read] == [1, 2]
    assert await room.store.read(lambda view: view.leases.fencing()) == 2


async def test_the_number_never_falls_when_leases_end(room: Mailroom) -> None:
    first = await grant(room, room.blue, "a")
    await room.store.write(lambda tx: end_leases(tx, first, EndedBy.RELEASE))

    (second,) = await grant(room, room.red, "a")

    assert second.fencing == 2


async def test_live_ends_at_the_instant_of_the_expiry(room: Mailroom) -> None:
    await grant(room, room.blue, "a")
    end = Micros(room.clock.now + TTL_S * SECOND)

    async def live(at: int) -> list[str]:
        return texts_of(await room.store.read(lambda view: view.leases.live(room.app.id, FILE, Micros(at), limit=10)))

    assert (await live(end - 1), await live(end)) == (["a"], [])


async def test_pages_go_on_after_the_last_id(room: Mailroom) -> None:
    await grant(room, room.blue, "a", "b", "c")

    async def read(after: int) -> list[str]:
        return texts_of(
            await room.store.read(lambda view: view.leases.list_(room.app.id, FILE, after_id=after, limit=2))
        )

    assert (await read(0), await read(2)) == (["a", "b"], ["c"])
    newest = await room.store.read(lambda view: view.leases.newest_live(room.app.id, FILE, room.clock.now, 2))
    assert texts_of(newest) == ["c", "b"]


async def test_ones_own_leases_are_found_by_pattern_and_counted(room: Mailroom) -> None:
    await grant(room, room.blue, "a", "b")
    await grant(room, room.red, "c")
    now = room.clock.now

    own = await room.store.read(lambda view: view.leases.own(room.blue.id, FILE, ["b", "c"], now))

    assert list(own) == ["b"]
    assert await room.store.read(lambda view: view.leases.count_of_agent(room.blue.id, FILE, now)) == 2
    assert await room.store.read(lambda view: view.leases.count_of_agent(room.blue.id, LeaseKind.SLOT, now)) == 0


async def test_the_keys_find_others_at_above_and_below(room: Mailroom) -> None:
    await grant(room, room.blue, "src/**", "src/api/x.py", "*.py", "docs/**")
    await grant(room, room.red, "src/mine.py")
    standing = ConflictFilter(project_id=room.app.id, kind=FILE, agent_id=room.red.id, with_shared=True)

    async def found(view_of: str) -> list[str]:
        lists = {
            "at": lambda leases: leases.at_anchors(standing, ["", "src"], 10),
            "tails": lambda leases: leases.at_keys(standing, ["", "src"], ["", ".py"], 10),
            "no tails": lambda leases: leases.at_keys(standing, ["", "src"], [""], 10),
            "below": lambda leases: leases.below(standing, "src", 10),
            "below all": lambda leases: leases.below(standing, "", 10),
        }
        return texts_of(await room.store.read(lambda view: lists[view_of](view.leases)))

    assert await found("at") == ["src/**", "*.py"]
    assert await found("tails") == ["src/**", "*.py"]
    assert await found("no tails") == ["src/**"]
    assert await found("below") == ["src/api/x.py"]
    assert await found("below all") == ["src/**", "src/api/x.py", "docs/**"]


async def test_shared_leases_stand_only_against_exclusive_claims(room: Mailroom) -> None:
    await grant(room, room.blue, "src/**", exclusive=False)

    async def against(*, with_shared: bool) -> list[str]:
        standing = ConflictFilter(project_id=room.app.id, kind=FILE, agent_id=room.red.id, with_shared=with_shared)
        return texts_of(await room.store.read(lambda view: view.leases.at_anchors(standing, ["src"], 10)))

    assert (await against(with_shared=True), await against(with_shared=False)) == (["src/**"], [])


async def test_a_lease_ends_once_and_its_end_is_counted(room: Mailroom) -> None:
    leases = await grant(room, room.blue, "a", "b")
    ended = await room.store.write(lambda tx: end_leases(tx, leases[:1], EndedBy.RELEASE))
    room.clock.step(1)

    again = await room.store.write(lambda tx: end_leases(tx, leases, EndedBy.FORCE))

    assert [(one.id, one.ended_by) for one in (*ended, *again)] == [(1, EndedBy.RELEASE), (2, EndedBy.FORCE)]
    assert await room.store.read(lambda view: view.leases.ends()) == 2


async def test_whatever_ends_an_expired_lease_it_ended_by_its_expiry(room: Mailroom) -> None:
    leases = await grant(room, room.blue, "a")
    room.clock.step(TTL_S + 5)

    (ended,) = await room.store.write(lambda tx: end_leases(tx, leases, EndedBy.FORCE, acting=room.red))

    assert (ended.ended_by, ended.released_ts) == (EndedBy.EXPIRY, leases[0].expires_ts)


async def test_a_sweep_takes_the_longest_expired_first_and_only_so_many(room: Mailroom) -> None:
    await grant(room, room.blue, "late", ttl_s=50)
    await grant(room, room.blue, "early", ttl_s=10)
    await grant(room, room.blue, "live")
    room.clock.step(100)

    first = await room.store.write(lambda tx: sweep_expired(tx, 1))
    rest = await room.store.write(lambda tx: sweep_expired(tx, 10))

    assert (texts_of(first), texts_of(rest)) == (["early"], ["late"])


async def test_a_regrant_keeps_the_id_and_has_a_new_number(room: Mailroom) -> None:
    (lease,) = await grant(room, room.blue, "a", exclusive=False)
    await room.store.write(lambda tx: end_leases(tx, [lease], EndedBy.RELEASE))
    until = Micros(room.clock.now + SECOND)

    back = await room.store.write(
        lambda tx: tx.leases.regrant(
            lease, until, exclusive=True, is_folder=True, keys=LeaseKeys(anchor="a"), reason="again"
        )
    )

    assert (back.id, back.fencing, back.exclusive, back.is_folder, back.reason) == (lease.id, 2, True, True, "again")
    assert (back.released_ts, back.ended_by, back.expires_ts) == (None, None, until)


async def test_it_is_seen_which_watched_leases_gave_way(room: Mailroom) -> None:
    ended, expired, changed, shortened, standing = await grant(room, room.blue, "a", "b", "c", "d", "e")
    watched = [(lease.id, lease.fencing, lease.expires_ts) for lease in (ended, expired, changed, shortened, standing)]
    sooner = replace(shortened, expires_ts=Micros(shortened.expires_ts - 1))
    await room.store.write(lambda tx: tx.leases.shorten(shortened, sooner))
    await room.store.write(lambda tx: end_leases(tx, [ended], EndedBy.RELEASE))
    await room.store.write(lambda tx: tx.leases.prolong(expired, tx.now))
    await room.store.write(
        lambda tx: tx.leases.regrant(
            changed, changed.expires_ts, exclusive=False, is_folder=False, keys=LeaseKeys(anchor="c"), reason=""
        )
    )

    gone = await room.store.read(lambda view: view.leases.ended_among(watched, room.clock.now))

    assert gone == {ended.id, expired.id, changed.id, shortened.id}


async def test_promises_are_counted(room: Mailroom) -> None:
    (lease,) = await grant(room, room.blue, "a")

    longer = await room.store.write(lambda tx: tx.leases.prolong(lease, lease.expires_ts))
    await room.store.write(lambda tx: tx.leases.promise([lease.id]))
    counted = await room.store.write(lambda tx: tx.leases.count_off(lease.id))
    as_before = await room.store.write(lambda tx: tx.leases.shorten(counted, lease))

    assert [one.promises for one in (lease, longer, counted, as_before)] == [1, 2, 2, 2]


async def test_what_was_granted_after_a_number_is_of_one_project(room: Mailroom) -> None:
    await grant(room, room.blue, "a")
    await grant(room, room.fox, "b")
    await grant(room, room.red, "c")

    newer = await room.store.read(lambda view: view.leases.granted_after(room.app.id, FILE, 1, 10))

    assert texts_of(newer) == ["c"]


async def test_an_unknown_lease_is_none(room: Mailroom) -> None:
    assert await room.store.read(lambda view: view.leases.find(LeaseId(1))) is None
