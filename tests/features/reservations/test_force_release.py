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
from mcp_agent_mail.store.lease_events import end_leases
from tests.features.reservations.harness import ANYBODY, LONG, ReservationsHarness, open_reservations
from tests.workspace.code_repository import write


async def force(harness: ReservationsHarness, lease_id: LeaseId, *, by: str = "RedStone", **more: Any) -> Any:
    request = ForceRequest(project_key=harness.project.slug, agent_name=by, lease_id=lease_id, **more)
    return show_forced(await harness.force.release(ANYBODY, request))


async def test_what_was_left_is_released_and_the_evidence_returned(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)

        answer = await force(harness, lease.id)

        assert (answer["released"], "already_released" in answer) == (1, False)
        reservation = answer["reservation"]
        assert reservation["released_ts"] == answer["released_at"]
        assert (reservation["id"], reservation["agent"], reservation["notified"]) == (lease.id, "BlueLake", True)
        assert "agent_inactive>1800s" in reservation["stale_reasons"]
        ended = await harness.lease(lease)
        assert ended.ended_by is EndedBy.FORCE
        assert ended.evidence is not None
        assert ended.evidence["forced_by"] == "RedStone"


async def test_what_was_granted_while_the_clock_was_ahead_can_be_forced_once_its_holder_is_silent(
    tmp_path: Path,
) -> None:
    async with open_reservations(tmp_path) as harness:
        harness.clock.step(400 * 86_400)
        lease = await harness.hold()
        await harness.activity.flush()
        harness.staleness.hear(harness.clock.now)
        harness.clock.step(-400 * 86_400)

        with pytest.raises(NotAbandoned):
            await force(harness, lease.id)
        harness.clock.step(LONG)
        answer = await force(harness, lease.id)

        assert answer["released"] == 1


async def test_a_call_since_the_clock_was_set_back_is_heard(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        harness.clock.step(400 * 86_400)
        lease = await harness.hold()
        await harness.activity.flush()
        harness.clock.step(-400 * 86_400 + LONG)

        harness.activity.note(harness.blue)
        with pytest.raises(NotAbandoned):
            await force(harness, lease.id)
        await harness.activity.flush()
        with pytest.raises(NotAbandoned):
            await force(harness, lease.id)

        harness.clock.step(LONG)
        assert (await force(harness, lease.id))["released"] == 1


async def test_the_former_holder_is_told_by_whom_with_the_note_as_a_quotation(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)

        await force(harness, lease.id, note="Release day.\n# No heading")

        ((subject, body, is_system),) = await harness.inbox(harness.blue)
        assert (subject, is_system) == (f"Reservation {lease.id} released by RedStone", 1)
        assert "> Release day.\n> # No heading\n" in body


async def test_the_former_holder_is_not_told_when_that_is_asked_for(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)

        answer = await force(harness, lease.id, notify_previous=False)

        assert answer["reservation"]["notified"] is False
        assert (await harness.inbox(harness.blue)) == []


async def test_without_evidence_it_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)
        write(harness.code, "src/app.py", at_s=harness.seconds())

        with pytest.raises(NotAbandoned) as refused:
            await force(harness, lease.id)

        assert refused.value.code == "PERMISSION_DENIED"
        assert refused.value.data["missing"] == ["no_recent_filesystem_activity"]
        assert refused.value.data["stale_reasons"][2] == "filesystem_activity_recent"
        assert refused.value.data["suggested_tool_calls"][0]["tool"] == "send_message"
        assert (await harness.lease(lease)).released_ts is None
        assert (await harness.inbox(harness.blue)) == []


async def test_a_refusal_says_the_same_time_in_its_text_and_as_data_and_it_is_right(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)
        write(harness.code, "src/app.py", at_s=harness.seconds() - 100)

        with pytest.raises(NotAbandoned) as refused:
            await force(harness, lease.id)

        after_s = refused.value.data["retry_after_s"]
        assert after_s == 900 - 100 + 1
        assert f"try again in {after_s} s, if nothing happens there until then" in refused.value.hint
        harness.clock.step(after_s - 1)
        with pytest.raises(NotAbandoned):
            await force(harness, lease.id)
        harness.clock.step(1)
        assert (await force(harness, lease.id))["released"] == 1


async def test_a_reservation_that_ends_before_it_may_be_forced_says_when_it_ends(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold(ttl_s=600)

        with pytest.raises(NotAbandoned) as refused:
            await force(harness, lease.id)

        assert refused.value.data["retry_after_s"] == 600
        assert "try again in 600 s, when it ends, unless renewed" in refused.value.hint


async def test_the_suggested_calls_are_complete(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()

        for by in ("RedStone", "BlueLake"):
            with pytest.raises(NotAbandoned) as refused:
                await force(harness, lease.id, by=by)
            (call,) = refused.value.data["suggested_tool_calls"]
            needed = {
                "send_message": {"project_key", "sender_name", "to", "subject", "body_md"},
                "release_file_reservations": {"project_key", "agent_name", "file_reservation_ids"},
            }
            assert call["arguments"].keys() == needed[call["tool"]]


async def test_ones_own_reservation_is_given_back_not_forced(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)

        with pytest.raises(NotAbandoned, match="its holder called lately") as refused:
            await force(harness, lease.id, by="BlueLake")

        assert refused.value.data["suggested_tool_calls"][0]["tool"] == "release_file_reservations"
        assert "retry_after_s" not in refused.value.data


async def test_a_call_of_the_holder_during_the_look_saves_it(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)
        look = harness.staleness.look

        async def look_while_the_holder_calls(*given: Any, **more: Any) -> Any:
            seen = await look(*given, **more)
            harness.activity.note(harness.blue)
            return seen

        harness.staleness.look = look_while_the_holder_calls  # type: ignore[method-assign]  # the moment between

        with pytest.raises(NotAbandoned):
            await force(harness, lease.id)


async def test_what_its_holder_gives_back_during_the_look_is_not_forced(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)
        look = harness.staleness.look

        async def look_while_it_is_given_back(*given: Any, **more: Any) -> Any:
            seen = await look(*given, **more)
            await harness.store.write(lambda tx: end_leases(tx, [lease], EndedBy.RELEASE, acting=harness.blue))
            return seen

        harness.staleness.look = look_while_it_is_given_back  # type: ignore[method-assign]  # the moment between

        forced = await force(harness, lease.id)

        assert (forced["released"], forced["already_released"], forced["reservation"]["notified"]) == (0, True, False)
        assert (await harness.lease(lease)).ended_by is EndedBy.RELEASE
        assert await harness.inbox(harness.blue) == []


async def test_a_repeat_and_an_expired_one_say_when_it_ended(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease, short = await harness.hold(), await harness.hold("docs/", ttl_s=60)
        harness.clock.step(LONG)
        first = await force(harness, lease.id)
        harness.clock.step()

        again = await force(harness, lease.id)
        expired = await force(harness, short.id)

        assert (again["released"], again["already_released"]) == (0, True)
        assert again["released_at"] == first["released_at"]
        assert (expired["released"], expired["already_released"]) == (0, True)
        assert expired["released_at"] == "2027-01-15T08:01:00.000000+00:00"
        assert len(await harness.inbox(harness.blue)) == 1


async def test_an_id_of_nothing_is_not_found(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        with pytest.raises(UnknownReservation):
            await force(harness, LeaseId(99))


async def test_asking_is_activity_of_who_asks(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)

        await force(harness, lease.id)

        assert harness.staleness.newest(harness.red, harness.clock.now).last_active_ts == harness.clock.now


async def test_a_stranger_with_anothers_name_under_strict_is_refused_before_any_look(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        lease = await harness.hold()
        harness.clock.step(LONG)
        request = ForceRequest(project_key=harness.project.slug, agent_name="System", lease_id=lease.id)

        with pytest.raises(AgentMailError, match="System is the server's own sender"):
            await harness.force.release(ANYBODY, request)

        assert harness.staleness.seen_at(lease) == Micros(0)


async def test_the_overseers_reservation_cannot_be_forced(tmp_path: Path) -> None:
    async with open_reservations(tmp_path) as harness:
        human = await harness.store.read(lambda view: view.agents.find_by_name(harness.project.id, "Human"))
        assert human is not None
        lease = await harness.hold("gone/x", agent=human)
        harness.clock.step(LONG)

        with pytest.raises(NotAbandoned) as refused:
            await force(harness, lease.id)

        assert refused.value.data["missing"] == ["agent_inactive"]
        assert refused.value.data["retry_after_s"] == 86_400 - LONG
