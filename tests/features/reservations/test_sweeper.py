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
from tests.features.reservations.idle_room import LONG, IdleRoom, open_idle_room
from tests.workspace.code_repository import commit, write


async def test_what_an_idle_holder_left_is_released_with_the_evidence(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        called = room.clock.now
        room.clock.step(LONG)

        await room.sweeper.sweep()

        ended = await room.lease(lease)
        assert (ended.ended_by, ended.released_ts) == (EndedBy.IDLE, room.clock.now)
        assert ended.evidence is not None
        assert ended.evidence["stale_reasons"] == [
            "agent_inactive>1800s",
            "no_recent_mail_activity>900s",
            "no_recent_filesystem_activity>900s",
            "no_recent_git_activity>900s",
        ]
        assert called == room.clock.now - int(LONG * SECOND)
        assert ended.evidence["last_agent_activity_ts"] == "2027-01-15T08:00:00.000000+00:00"


async def test_the_former_holder_is_told_once_by_system_mail(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        for pattern in ("src/app.py", "docs/`odd`*"):
            await room.hold(pattern)
        room.clock.step(LONG)

        await room.sweeper.sweep()
        await room.sweeper.sweep()

        ((subject, body, is_system),) = await room.inbox(room.blue)
        assert (subject, is_system) == ("2 reservations released: you seemed idle", 1)
        assert "- `src/app.py` (id 1, exclusive, was to last until " in body
        assert "- ``docs/`odd`*`` (id 2" in body
        assert "path_pattern_unmatched" in body


async def test_the_archive_is_told_the_evidence(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        await room.hold()
        room.clock.step(LONG)

        await room.sweeper.sweep()

        events = await room.store.read(lambda view: view.outbox.pending(room.project.id))
        (told,) = [event.snapshot for event in events if event.kind.value == "reservation"]
        assert (told["ended_by"], told["evidence"]["stale"]) == ("idle", True)


async def does_call(room: IdleRoom) -> None:
    room.activity.note(room.blue)


async def does_mail(room: IdleRoom) -> None:
    await room.mail(room.blue, room.red)


async def does_read(room: IdleRoom) -> None:
    await room.mail(room.red, room.blue)
    await room.store.write(lambda tx: tx.inboxes.mark_read(room.blue.id, 1, tx.now))  # type: ignore[arg-type]


async def does_write(room: IdleRoom) -> None:
    write(room.code, "src/app.py", at_s=room.seconds(), content="new\n")


async def does_commit(room: IdleRoom) -> None:
    write(room.code, "src/app.py", at_s=room.seconds() - 90_000, content="newer\n")
    commit(room.code, at_s=room.seconds())


@pytest.mark.parametrize("work", [does_call, does_mail, does_read, does_write, does_commit])
async def test_any_sign_of_work_saves_the_reservation(tmp_path: Path, work: object) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)
        await work(room)  # type: ignore[operator]  # one of the above

        await room.sweeper.sweep()

        assert (await room.lease(lease)).released_ts is None
        assert [subject for subject, _, is_system in await room.inbox(room.blue) if is_system] == []


async def test_a_call_between_the_look_and_the_unit_of_work_saves_the_reservation(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)
        room.activity.note(room.blue)

        released = await room.store.write(
            lambda tx: release_stale(tx, room.staleness, room.blue.id, {lease.id: NO_WORKSPACE})
        )

        assert released == []
        assert (await room.lease(lease)).released_ts is None


async def test_nobody_is_idle_for_the_time_that_no_server_ran(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(90_000 - LONG)
        room.staleness.watch_from(room.clock.now)
        room.clock.step(LONG - 1)

        await room.sweeper.sweep()

        assert (await room.lease(lease)).ended_by is not EndedBy.IDLE


async def test_a_machine_that_slept_releases_nothing_when_it_wakes(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        await room.sweeper.sweep()
        lease = await room.hold(ttl_s=10 * 86_400)
        room.clock.step(2 * 86_400)

        await room.sweeper.sweep()
        awake = (await room.lease(lease)).released_ts
        room.clock.step(LONG)
        await room.sweeper.sweep()

        assert awake is None
        assert (await room.lease(lease)).ended_by is EndedBy.IDLE


async def test_what_expired_ended_at_its_expiry_and_nobody_gets_mail(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path, releases_idle=False) as room:
        lease = await room.hold(ttl_s=60)
        room.clock.step(LONG)

        await room.sweeper.sweep()

        ended = await room.lease(lease)
        assert (ended.ended_by, ended.released_ts) == (EndedBy.EXPIRY, lease.expires_ts)
        assert await room.inbox(room.blue) == []
        assert room.sweeper.figures().expired == 1


async def test_switched_off_it_leaves_idle_holders_alone(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path, releases_idle=False) as room:
        lease = await room.hold()
        room.clock.step(LONG)

        await room.sweeper.sweep()

        assert (await room.lease(lease)).released_ts is None


async def test_more_than_a_pass_looks_at_is_released_pass_by_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "LOOKS_PER_PASS", 3)
    monkeypatch.setattr(sweeper, "AT_ONCE", 2)
    async with open_idle_room(tmp_path) as room:
        for number in range(4):
            await room.hold(f"gone/{number}")
        for number in range(4):
            await room.hold(f"lost/{number}", agent=room.red)
        room.clock.step(LONG)

        passes = 0
        while room.sweeper.figures().released_idle < 8:
            await room.sweeper.sweep()
            passes += 1

        assert passes == 3


async def test_a_lease_that_is_not_stale_does_not_keep_the_others_from_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "LOOKS_PER_PASS", 1)
    async with open_idle_room(tmp_path) as room:
        kept, left = await room.hold(), await room.hold("gone/x")
        room.clock.step(LONG)
        write(room.code, "src/app.py", at_s=room.seconds())

        for _ in range(2):
            await room.sweeper.sweep()

        assert (await room.lease(kept)).released_ts is None
        assert (await room.lease(left)).ended_by is EndedBy.IDLE


async def test_a_running_sweeper_sweeps_and_stops(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)
        ended = await room.store.read(lambda view: view.leases.ends())

        room.sweeper.start()
        while await room.store.read(lambda view: view.leases.ends()) == ended:
            await room.store.write(lambda _: None)
        await room.sweeper.stop()

        assert (await room.lease(lease)).ended_by is EndedBy.IDLE
        assert room.sweeper.figures().last_error is None


async def test_the_overseer_makes_no_calls_and_is_never_idle(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        human = await room.store.read(lambda view: view.agents.find_by_name(room.project.id, "Human"))
        assert human is not None
        lease = await room.hold("gone/x", agent=human)
        room.clock.step(LONG)

        await room.sweeper.sweep()

        assert (await room.lease(lease)).released_ts is None


async def test_slots_are_left_to_their_expiry(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold("build", kind=LeaseKind.SLOT)
        room.clock.step(LONG)

        await room.sweeper.sweep()

        assert (await room.lease(lease)).released_ts is None


async def test_what_a_pass_fails_at_is_shown_and_tried_again(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)
        look = room.staleness.look

        async def fail_once(*_given: Any, **_more: Any) -> Any:
            room.staleness.look = look  # type: ignore[method-assign]  # the disk is well again
            raise Unavailable("the disk is away")

        room.staleness.look = fail_once  # type: ignore[method-assign]
        room.sweeper.start()
        while room.sweeper.figures().last_error is None:
            await room.store.write(lambda _: None)
        failed = room.sweeper.figures()
        await room.sweeper.sweep()
        await room.sweeper.stop()

        assert failed.last_error == "the disk is away"
        assert (await room.lease(lease)).ended_by is EndedBy.IDLE
