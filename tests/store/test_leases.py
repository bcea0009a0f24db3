"""Leases at rest, over the real store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.leases import EndedBy, LeaseKeys, LeaseKind
from mcp_agent_mail.store.lease_events import end_leases
from mcp_agent_mail.store.leases import ConflictFilter
from tests.seeded_store import SeededStore, open_seeded_store
from tests.store.grants import TTL_S, grant, texts_of


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def test_what_was_granted_is_read_back_as_it_was(seeded: SeededStore) -> None:
    granted = await grant(seeded, seeded.blue, "src/**", "docs")

    read = await seeded.store.read(
        lambda view: view.leases.live(seeded.app.id, LeaseKind.FILE, seeded.clock.now, limit=10)
    )

    assert read == granted
    assert [lease.fencing for lease in read] == [1, 2]
    assert await seeded.store.read(lambda view: view.leases.fencing()) == 2


async def test_the_number_never_falls_when_leases_end(seeded: SeededStore) -> None:
    first = await grant(seeded, seeded.blue, "a")
    await seeded.store.write(lambda tx: end_leases(tx, first, EndedBy.RELEASE))

    (second,) = await grant(seeded, seeded.red, "a")

    assert second.fencing == 2


async def test_live_ends_at_the_instant_of_the_expiry(seeded: SeededStore) -> None:
    await grant(seeded, seeded.blue, "a")
    end = Micros(seeded.clock.now + TTL_S * SECOND)

    async def live(at: int) -> list[str]:
        return texts_of(
            await seeded.store.read(lambda view: view.leases.live(seeded.app.id, LeaseKind.FILE, Micros(at), limit=10))
        )

    assert (await live(end - 1), await live(end)) == (["a"], [])


async def test_pages_go_on_after_the_last_id(seeded: SeededStore) -> None:
    await grant(seeded, seeded.blue, "a", "b", "c")

    async def read(after: int) -> list[str]:
        return texts_of(
            await seeded.store.read(
                lambda view: view.leases.list_(seeded.app.id, LeaseKind.FILE, after_id=after, limit=2)
            )
        )

    assert ((await read(0)), (await read(2))) == (["a", "b"], ["c"])
    newest = await seeded.store.read(
        lambda view: view.leases.newest_live(seeded.app.id, LeaseKind.FILE, seeded.clock.now, 2)
    )
    assert texts_of(newest) == ["c", "b"]


async def test_ones_own_leases_are_found_by_pattern_and_counted(seeded: SeededStore) -> None:
    await grant(seeded, seeded.blue, "a", "b")
    await grant(seeded, seeded.red, "c")
    now = seeded.clock.now

    own = await seeded.store.read(lambda view: view.leases.own(seeded.blue.id, LeaseKind.FILE, ["b", "c"], now))

    assert list(own) == ["b"]
    assert await seeded.store.read(lambda view: view.leases.count_of_agent(seeded.blue.id, LeaseKind.FILE, now)) == 2
    assert await seeded.store.read(lambda view: view.leases.count_of_agent(seeded.blue.id, LeaseKind.SLOT, now)) == 0


async def test_the_keys_find_others_at_above_and_below(seeded: SeededStore) -> None:
    await grant(seeded, seeded.blue, "src/**", "src/api/x.py", "*.py", "docs/**")
    await grant(seeded, seeded.red, "src/mine.py")
    standing = ConflictFilter(project_id=seeded.app.id, kind=LeaseKind.FILE, agent_id=seeded.red.id, with_shared=True)

    async def found(view_of: str) -> list[str]:
        lists = {
            "at": lambda leases: leases.at_anchors(standing, ["", "src"], 10),
            "tails": lambda leases: leases.at_keys(standing, ["", "src"], ["", ".py"], 10),
            "no tails": lambda leases: leases.at_keys(standing, ["", "src"], [""], 10),
            "below": lambda leases: leases.below(standing, "src", 10),
            "below all": lambda leases: leases.below(standing, "", 10),
        }
        return texts_of(await seeded.store.read(lambda view: lists[view_of](view.leases)))

    assert await found("at") == ["src/**", "*.py"]
    assert await found("tails") == ["src/**", "*.py"]
    assert await found("no tails") == ["src/**"]
    assert await found("below") == ["src/api/x.py"]
    assert await found("below all") == ["src/**", "src/api/x.py", "docs/**"]


async def test_shared_leases_stand_only_against_exclusive_claims(seeded: SeededStore) -> None:
    await grant(seeded, seeded.blue, "src/**", exclusive=False)

    async def against(*, with_shared: bool) -> list[str]:
        standing = ConflictFilter(
            project_id=seeded.app.id, kind=LeaseKind.FILE, agent_id=seeded.red.id, with_shared=with_shared
        )
        return texts_of(await seeded.store.read(lambda view: view.leases.at_anchors(standing, ["src"], 10)))

    assert (await against(with_shared=True), await against(with_shared=False)) == (["src/**"], [])


async def test_a_regrant_keeps_the_id_and_has_a_new_number(seeded: SeededStore) -> None:
    (lease,) = await grant(seeded, seeded.blue, "a", exclusive=False)
    await seeded.store.write(lambda tx: end_leases(tx, [lease], EndedBy.RELEASE))
    until = Micros(seeded.clock.now + SECOND)

    back = await seeded.store.write(
        lambda tx: tx.leases.regrant(
            lease, until, exclusive=True, is_folder=True, keys=LeaseKeys(anchor="a"), reason="again"
        )
    )

    assert (back.id, back.fencing, back.exclusive, back.is_folder, back.reason) == (lease.id, 2, True, True, "again")
    assert (back.released_ts, back.ended_by, back.expires_ts) == (None, None, until)


async def test_it_is_seen_which_watched_leases_gave_way(seeded: SeededStore) -> None:
    ended, expired, changed, shortened, standing = await grant(seeded, seeded.blue, "a", "b", "c", "d", "e")
    watched = [(lease.id, lease.fencing, lease.expires_ts) for lease in (ended, expired, changed, shortened, standing)]
    sooner = replace(shortened, expires_ts=Micros(shortened.expires_ts - 1))
    await seeded.store.write(lambda tx: tx.leases.shorten(shortened, sooner))
    await seeded.store.write(lambda tx: end_leases(tx, [ended], EndedBy.RELEASE))
    await seeded.store.write(lambda tx: tx.leases.prolong(expired, tx.now))
    await seeded.store.write(
        lambda tx: tx.leases.regrant(
            changed, changed.expires_ts, exclusive=False, is_folder=False, keys=LeaseKeys(anchor="c"), reason=""
        )
    )

    gone = await seeded.store.read(lambda view: view.leases.ended_among(watched, seeded.clock.now))

    assert gone == {ended.id, expired.id, changed.id, shortened.id}


async def test_promises_are_counted(seeded: SeededStore) -> None:
    (lease,) = await grant(seeded, seeded.blue, "a")

    longer = await seeded.store.write(lambda tx: tx.leases.prolong(lease, lease.expires_ts))
    await seeded.store.write(lambda tx: tx.leases.promise([lease.id]))
    counted = await seeded.store.write(lambda tx: tx.leases.count_off(lease.id))
    as_before = await seeded.store.write(lambda tx: tx.leases.shorten(counted, lease))

    assert [one.promises for one in (lease, longer, counted, as_before)] == [1, 2, 2, 2]


async def test_what_was_granted_after_a_number_is_of_one_project(seeded: SeededStore) -> None:
    await grant(seeded, seeded.blue, "a")
    await grant(seeded, seeded.fox, "b")
    await grant(seeded, seeded.red, "c")

    newer = await seeded.store.read(lambda view: view.leases.granted_after(seeded.app.id, LeaseKind.FILE, 1, 10))

    assert texts_of(newer) == ["c"]


async def test_an_unknown_lease_is_none(seeded: SeededStore) -> None:
    assert await seeded.store.read(lambda view: view.leases.find(LeaseId(1))) is None
