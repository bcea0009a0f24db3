"""`test_leaving.py` has calls that leave; here stands what becomes of each lease they were told of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import stored_pattern
from mcp_agent_mail.features.reservations.withdrawal import AnsweredLease, take_back
from mcp_agent_mail.store.leases import ConflictFilter
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store

Told = Callable[[Tx, Lease], Lease]


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def hold(
    seeded: SeededStore, text: str = "src", *, exclusive: bool = True, kind: LeaseKind = LeaseKind.FILE
) -> Lease:
    """BlueLake's, as granted and told for an hour."""
    keys = keys_of(stored_pattern(text)) if kind is LeaseKind.FILE else LeaseKeys(anchor=text)
    new = NewLease(
        project_id=seeded.app.id,
        agent_id=seeded.blue.id,
        agent="BlueLake",
        kind=kind,
        path_pattern=text,
        keys=keys,
        exclusive=exclusive,
        reason="work",
        expires_ts=Micros(seeded.clock.now + 3_600 * SECOND),
    )
    return await seeded.store.write(lambda tx: tx.leases.add(new, tx.now))


def prolonged(tx: Tx, lease: Lease) -> Lease:
    return tx.leases.prolong(lease, Micros(lease.expires_ts + 3_600 * SECOND), reason="more work")


def granted_anew(*, exclusive: bool, is_folder: bool = False) -> Told:
    def change(tx: Tx, lease: Lease) -> Lease:
        keys = LeaseKeys(anchor=lease.path_pattern)
        return tx.leases.regrant(
            lease, lease.expires_ts, exclusive=exclusive, is_folder=is_folder, keys=keys, reason="other work"
        )

    return change


async def tell(seeded: SeededStore, before: Lease, change: Told) -> AnsweredLease:
    """As a further call told of the lease."""
    return AnsweredLease(lease=await seeded.store.write(lambda tx: change(tx, before)), before=before)


async def give_up(seeded: SeededStore, *told: AnsweredLease) -> bool:
    return await seeded.store.write(lambda tx: take_back(tx, told, seeded.blue))


async def stored(seeded: SeededStore, lease: Lease) -> Lease:
    found = await seeded.store.read(lambda view: view.leases.find(lease.id))
    assert found is not None
    return found


async def test_what_the_call_was_granted_and_nobody_else_was_told_of_ends(seeded: SeededStore) -> None:
    lease = await hold(seeded)

    stands = await give_up(seeded, AnsweredLease(lease=lease))

    after = await stored(seeded, lease)
    assert (stands, after.ended_by, after.released_ts) == (False, EndedBy.RELEASE, seeded.clock.now)


async def test_what_another_call_was_told_of_stays_and_ends_with_the_last_of_them(seeded: SeededStore) -> None:
    lease = await hold(seeded)
    await seeded.store.write(lambda tx: tx.leases.promise([lease.id]))

    first = await give_up(seeded, AnsweredLease(lease=lease))
    kept = await stored(seeded, lease)
    second = await give_up(seeded, AnsweredLease(lease=lease))

    assert (first, kept.released_ts) == (True, None)
    assert (second, (await stored(seeded, lease)).ended_by) == (False, EndedBy.RELEASE)


async def test_what_has_ended_meanwhile_is_left_as_it_ended(seeded: SeededStore) -> None:
    lease = await hold(seeded)
    seeded.clock.step(3_600)

    stands = await give_up(seeded, AnsweredLease(lease=lease))

    assert (stands, (await stored(seeded, lease)).released_ts) == (False, None)


async def test_what_was_only_prolonged_is_as_long_again_as_it_was(seeded: SeededStore) -> None:
    before = await hold(seeded)
    told = await tell(seeded, before, prolonged)

    stands = await give_up(seeded, told)

    assert (stands, await stored(seeded, before)) == (False, before)


async def test_what_was_changed_again_since_stays_as_it_is_now(seeded: SeededStore) -> None:
    before = await hold(seeded)
    told = await tell(seeded, before, prolonged)
    later = await tell(seeded, told.lease, prolonged)

    stands = await give_up(seeded, told)

    assert (stands, (await stored(seeded, before)).expires_ts) == (True, later.lease.expires_ts)


async def test_what_was_shared_and_made_exclusive_is_shared_again_under_a_further_number(seeded: SeededStore) -> None:
    before = await hold(seeded, exclusive=False)
    told = await tell(seeded, before, granted_anew(exclusive=True))

    stands = await give_up(seeded, told)

    after = await stored(seeded, before)
    assert (stands, after.exclusive, after.reason, after.promises) == (False, False, "work", 1)
    assert after.fencing > told.lease.fencing


async def test_narrower_it_became_again_whoever_was_granted_something_since(seeded: SeededStore) -> None:
    before = await hold(seeded, exclusive=False)
    told = await tell(seeded, before, granted_anew(exclusive=True))
    await hold(seeded, "docs")

    await give_up(seeded, told)

    assert (await stored(seeded, before)).exclusive is False


@pytest.mark.parametrize("is_granted_since", [False, True])
async def test_as_wide_as_it_was_it_becomes_only_where_nobody_was_granted_anything_since(
    seeded: SeededStore, *, is_granted_since: bool
) -> None:
    before = await hold(seeded)
    told = await tell(seeded, before, granted_anew(exclusive=False))
    if is_granted_since:
        await hold(seeded, "docs")

    stands = await give_up(seeded, told)

    assert (stands, (await stored(seeded, before)).exclusive) == (is_granted_since, not is_granted_since)


async def test_a_slot_is_found_by_its_own_name_again_in_its_letter_case(seeded: SeededStore) -> None:
    before = await hold(seeded, "Build[1]", exclusive=False, kind=LeaseKind.SLOT)
    told = await tell(seeded, before, granted_anew(exclusive=True))

    await give_up(seeded, told)

    others = ConflictFilter(project_id=seeded.app.id, kind=LeaseKind.SLOT, agent_id=seeded.red.id, with_shared=True)
    found = await seeded.store.read(lambda view: view.leases.at_anchors(others, {"Build[1]"}, 10))
    assert [lease.id for lease in found] == [before.id]


async def test_the_archive_is_told_of_what_was_put_back(seeded: SeededStore) -> None:
    before = await hold(seeded)
    told = await tell(seeded, before, prolonged)

    await give_up(seeded, told)

    events = await seeded.store.read(lambda view: view.outbox.pending(seeded.app.id))
    assert [(event.kind.value, event.agent_id) for event in events][-1] == ("reservation", seeded.blue.id)
