from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.domain.leases import EndedBy, LeaseKind
from mcp_agent_mail.domain.staleness import NO_WORKSPACE
from mcp_agent_mail.features.reservations import sweeper
from mcp_agent_mail.features.reservations.sweeper import release_stale
from tests.features.reservations.harness import LONG, ReservationsHarness, open_reservations
from tests.workspace.code_repository import commit, write


async def test_what_an_idle_holder_left_is_released_with_the_evidence(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        called = harness.clock.now
        harness.clock.step(LONG)

        await harness.sweeper.sweep()

        ended = await harness.lease(lease)
        assert (ended.ended_by, ended.released_ts) == (EndedBy.IDLE, harness.clock.now)
        assert ended.evidence is not None
        assert ended.evidence["stale_reasons"] == [
            "agent_inactive>1800s",
            "no_recent_mail_activity>900s",
            "no_recent_filesystem_activity>900s",
            "no_recent_git_activity>900s",
        ]
        assert called == harness.clock.now - int(LONG * SECOND)
        assert ended.evidence["last_agent_activity_ts"] == "2027-01-15T08:00:00.000000+00:00"


async def test_the_former_holder_is_told_once_by_system_mail(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        for pattern in ("src/app.py", "docs/`odd`*"):
            await harness.hold(pattern)
        harness.clock.step(LONG)

        await harness.sweeper.sweep()
        await harness.sweeper.sweep()

        ((subject, body, is_system),) = await harness.inbox(harness.blue)
        assert (subject, is_system) == ("2 reservations released: you seemed idle", 1)
        assert "- `src/app.py` (id 1, exclusive, was to last until " in body
        assert "- ``docs/`odd`*`` (id 2" in body
        assert "path_pattern_unmatched" in body


async def test_the_archive_is_told_the_evidence(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        await harness.hold()
        harness.clock.step(LONG)

        await harness.sweeper.sweep()

        events = await harness.store.read(lambda view: view.outbox.pending(harness.project.id))
        (told,) = [event.snapshot for event in events if event.kind.value == "reservation"]
        assert (told["ended_by"], told["evidence"]["stale"]) == ("idle", True)


async def does_call(harness: ReservationsHarness) -> None:
    harness.activity.note(harness.blue)


async def does_mail(harness: ReservationsHarness) -> None:
    await harness.mail(harness.blue, harness.red)


async def does_read(harness: ReservationsHarness) -> None:
    await harness.mail(harness.red, harness.blue)
    await harness.store.write(lambda tx: tx.inboxes.mark_read(harness.blue.id, 1, tx.now))  # type: ignore[arg-type]


async def does_write(harness: ReservationsHarness) -> None:
    write(harness.code, "src/app.py", at_s=harness.seconds(), content="new\n")


async def does_commit(harness: ReservationsHarness) -> None:
    write(harness.code, "src/app.py", at_s=harness.seconds() - 90_000, content="newer\n")
    commit(harness.code, at_s=harness.seconds())


@pytest.mark.parametrize("work", [does_call, does_mail, does_read, does_write, does_commit])
async def test_any_sign_of_work_saves_the_reservation(tmp_path: Path, work: object) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)
        await work(harness)  # type: ignore[operator]  # one of the above

        await harness.sweeper.sweep()

        assert (await harness.lease(lease)).released_ts is None
        assert [subject for subject, _, is_system in (await harness.inbox(harness.blue)) if is_system] == []


async def test_a_call_between_the_look_and_the_unit_of_work_saves_the_reservation(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)
        harness.activity.note(harness.blue)

        released = await harness.store.write(
            lambda tx: release_stale(tx, harness.staleness, harness.blue.id, {lease.id: NO_WORKSPACE})
        )

        assert released == []
        assert (await harness.lease(lease)).released_ts is None


async def test_nobody_is_idle_for_the_time_that_no_server_ran(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(90_000 - LONG)
        harness.staleness.watch_from(harness.clock.now)
        harness.clock.step(LONG - 1)

        await harness.sweeper.sweep()

        assert (await harness.lease(lease)).ended_by is not EndedBy.IDLE


async def test_a_machine_that_slept_releases_nothing_when_it_wakes(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        await harness.sweeper.sweep()
        lease = await harness.hold(ttl_s=10 * 86_400)
        harness.clock.step(2 * 86_400)

        await harness.sweeper.sweep()
        awake = (await harness.lease(lease)).released_ts
        harness.clock.step(LONG)
        await harness.sweeper.sweep()

        assert awake is None
        assert (await harness.lease(lease)).ended_by is EndedBy.IDLE


async def test_what_expired_ended_at_its_expiry_and_nobody_gets_mail(tmp_path: Path) -> None:
    async with open_reservations(tmp_path, releases_idle=False) as harness:
        lease = await harness.hold(ttl_s=60)
        harness.clock.step(LONG)

        await harness.sweeper.sweep()

        ended = await harness.lease(lease)
        assert (ended.ended_by, ended.released_ts) == (EndedBy.EXPIRY, lease.expires_ts)
        assert (await harness.inbox(harness.blue)) == []
        assert harness.sweeper.figures().expired == 1


async def test_switched_off_it_leaves_idle_holders_alone(tmp_path: Path) -> None:
    async with open_reservations(tmp_path, releases_idle=False) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)

        await harness.sweeper.sweep()

        assert (await harness.lease(lease)).released_ts is None


async def test_more_than_a_pass_looks_at_is_released_pass_by_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "LOOKS_PER_PASS", 3)
    monkeypatch.setattr(sweeper, "AT_ONCE", 2)
    async with open_reservations(tmp_path) as harness:
        for number in range(4):
            await harness.hold(f"gone/{number}")
        for number in range(4):
            await harness.hold(f"lost/{number}", agent=harness.red)
        harness.clock.step(LONG)

        passes = 0
        while harness.sweeper.figures().released_idle < 8:
            await harness.sweeper.sweep()
            passes += 1

        assert passes == 3


async def test_a_lease_that_is_not_stale_does_not_keep_the_others_from_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "LOOKS_PER_PASS", 1)
    async with open_reservations(tmp_path) as harness:
        kept, left = await harness.hold(), await harness.hold("gone/x")
        harness.clock.step(LONG)
        write(harness.code, "src/app.py", at_s=harness.seconds())

        for _ in range(2):
            await harness.sweeper.sweep()

        assert (await harness.lease(kept)).released_ts is None
        assert (await harness.lease(left)).ended_by is EndedBy.IDLE


async def test_a_running_sweeper_sweeps_and_stops(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)
        ended = await harness.store.read(lambda view: view.leases.ends())

        harness.sweeper.start()
        while await harness.store.read(lambda view: view.leases.ends()) == ended:
            await harness.store.write(lambda _: None)
        await harness.sweeper.stop()

        assert (await harness.lease(lease)).ended_by is EndedBy.IDLE
        assert harness.sweeper.figures().last_error is None


async def test_the_overseer_makes_no_calls_and_is_never_idle(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        human = await harness.store.read(lambda view: view.agents.find_by_name(harness.project.id, "Human"))
        assert human is not None
        lease = await harness.hold("gone/x", agent=human)
        harness.clock.step(LONG)

        await harness.sweeper.sweep()

        assert (await harness.lease(lease)).released_ts is None


async def test_slots_are_left_to_their_expiry(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold("build", kind=LeaseKind.SLOT)
        harness.clock.step(LONG)

        await harness.sweeper.sweep()

        assert (await harness.lease(lease)).released_ts is None


async def test_what_a_pass_fails_at_is_shown_and_tried_again(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)
        look = harness.staleness.look

        async def fail_once(*_given: Any, **_more: Any) -> Any:
            harness.staleness.look = look  # type: ignore[method-assign]  # the disk is well again
            raise Unavailable("the disk is away")

        harness.staleness.look = fail_once  # type: ignore[method-assign]
        harness.sweeper.start()
        while harness.sweeper.figures().last_error is None:
            await harness.store.write(lambda _: None)
        failed = harness.sweeper.figures()
        await harness.sweeper.sweep()
        await harness.sweeper.stop()

        assert failed.last_error == "the disk is away"
        assert (await harness.lease(lease)).ended_by is EndedBy.IDLE
