from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.leases import EndedBy
from mcp_agent_mail.features.reservations.force_release import ForceRequest, NotAbandoned, UnknownReservation
from mcp_agent_mail.features.reservations.schemas import show_forced
from tests.features.reservations.idle_room import ANYBODY, LONG, IdleRoom, open_idle_room
from tests.workspace.code_repository import write


async def force(room: IdleRoom, lease_id: LeaseId, *, by: str = "RedStone", **more: Any) -> Any:
    request = ForceRequest(project_key=room.project.slug, agent_name=by, lease_id=lease_id, **more)
    return show_forced(await room.force.release(ANYBODY, request))


async def test_what_was_left_is_released_and_the_evidence_returned(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)

        answer = await force(room, lease.id)

        assert (answer["released"], "already_released" in answer) == (1, False)
        reservation = answer["reservation"]
        assert reservation["released_ts"] == answer["released_at"]
        assert (reservation["id"], reservation["agent"], reservation["notified"]) == (lease.id, "BlueLake", True)
        assert "agent_inactive>1800s" in reservation["stale_reasons"]
        ended = await room.lease(lease)
        assert ended.ended_by is EndedBy.FORCE
        assert ended.evidence is not None
        assert ended.evidence["forced_by"] == "RedStone"


async def test_what_was_granted_while_the_clock_was_ahead_can_be_forced_once_its_holder_is_silent(
    tmp_path: Path,
) -> None:
    async with open_idle_room(tmp_path) as room:
        room.clock.step(400 * 86_400)
        lease = await room.hold()
        await room.activity.flush()
        room.staleness.hear(room.clock.now)
        room.clock.step(-400 * 86_400)

        with pytest.raises(NotAbandoned):
            await force(room, lease.id)
        room.clock.step(LONG)
        answer = await force(room, lease.id)

        assert answer["released"] == 1


async def test_a_call_since_the_clock_was_set_back_is_heard(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        room.clock.step(400 * 86_400)
        lease = await room.hold()
        await room.activity.flush()
        room.clock.step(-400 * 86_400 + LONG)

        room.activity.note(room.blue)
        with pytest.raises(NotAbandoned):
            await force(room, lease.id)
        await room.activity.flush()
        with pytest.raises(NotAbandoned):
            await force(room, lease.id)

        room.clock.step(LONG)
        assert (await force(room, lease.id))["released"] == 1


async def test_the_former_holder_is_told_by_whom_with_the_note_as_a_quotation(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)

        await force(room, lease.id, note="Release day.\n# No heading")

        ((subject, body, is_system),) = await room.inbox(room.blue)
        assert (subject, is_system) == (f"Reservation {lease.id} released by RedStone", 1)
        assert "> Release day.\n> # No heading\n" in body


async def test_the_former_holder_is_not_told_when_that_is_asked_for(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)

        answer = await force(room, lease.id, notify_previous=False)

        assert answer["reservation"]["notified"] is False
        assert await room.inbox(room.blue) == []


async def test_without_evidence_it_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)
        write(room.code, "src/app.py", at_s=room.seconds())

        with pytest.raises(NotAbandoned) as refused:
            await force(room, lease.id)

        assert refused.value.code == "PERMISSION_DENIED"
        assert refused.value.data["missing"] == ["no_recent_filesystem_activity"]
        assert refused.value.data["stale_reasons"][2] == "filesystem_activity_recent"
        assert refused.value.data["suggested_tool_calls"][0]["tool"] == "send_message"
        assert (await room.lease(lease)).released_ts is None
        assert await room.inbox(room.blue) == []


async def test_ones_own_reservation_is_given_back_not_forced(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)

        with pytest.raises(NotAbandoned, match="its holder called lately") as refused:
            await force(room, lease.id, by="BlueLake")

        assert refused.value.data["suggested_tool_calls"][0]["tool"] == "release_file_reservations"


async def test_a_call_of_the_holder_during_the_look_saves_it(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)
        look = room.staleness.look

        async def look_while_the_holder_calls(*given: Any, **more: Any) -> Any:
            seen = await look(*given, **more)
            room.activity.note(room.blue)
            return seen

        room.staleness.look = look_while_the_holder_calls  # type: ignore[method-assign]  # the moment between

        with pytest.raises(NotAbandoned):
            await force(room, lease.id)


async def test_a_repeat_and_an_expired_one_say_when_it_ended(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease, short = await room.hold(), await room.hold("docs/", ttl_s=60)
        room.clock.step(LONG)
        first = await force(room, lease.id)
        room.clock.step()

        again = await force(room, lease.id)
        expired = await force(room, short.id)

        assert (again["released"], again["already_released"]) == (0, True)
        assert again["released_at"] == first["released_at"]
        assert (expired["released"], expired["already_released"]) == (0, True)
        assert expired["released_at"] == "2027-01-15T08:01:00.000000+00:00"
        assert len(await room.inbox(room.blue)) == 1


async def test_an_id_of_nothing_is_not_found(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        with pytest.raises(UnknownReservation):
            await force(room, LeaseId(99))


async def test_asking_is_activity_of_who_asks(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)

        await force(room, lease.id)

        assert room.staleness.newest(room.red, room.clock.now).last_active_ts == room.clock.now


async def test_a_stranger_with_anothers_name_under_strict_is_refused_before_any_look(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        lease = await room.hold()
        room.clock.step(LONG)
        request = ForceRequest(project_key=room.project.slug, agent_name="System", lease_id=lease.id)

        with pytest.raises(AgentMailError, match="System is the server's own sender"):
            await room.force.release(ANYBODY, request)

        assert room.staleness.seen_at(lease) == Micros(0)


async def test_the_overseers_reservation_cannot_be_forced(tmp_path: Path) -> None:
    async with open_idle_room(tmp_path) as room:
        human = await room.store.read(lambda view: view.agents.find_by_name(room.project.id, "Human"))
        assert human is not None
        lease = await room.hold("gone/x", agent=human)
        room.clock.step(LONG)

        with pytest.raises(NotAbandoned) as refused:
            await force(room, lease.id)

        assert refused.value.data["missing"] == ["agent_inactive"]
