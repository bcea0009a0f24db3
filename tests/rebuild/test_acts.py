"""Who acted in a commit whose files do not tell it: the agent's mail is gone, others wrote its profile, there are more
events than lines.
"""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.domain.archive_format.commit_message import LINES_SHOWN
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.store.rebuild.dump import dump
from tests.rebuild.histories import Played, begun, played_by
from tests.rebuild.history import HOUR, PROGRAM, History
from tests.rebuild.rebuilding import rebuild
from tests.seeded_store import SetClock


async def _join(history: History) -> dict[str, str]:
    """Two that write letters, as the caller of a tool and as whoever gets it."""
    project = str(history.code / "app")
    for name in ("Writer", "Reader"):
        await history.do("register_agent", project_key=project, name=name, **PROGRAM)
    return {"project_key": project, "sender_name": "Writer"}


async def _crowd(history: History, who: dict[str, str]) -> None:
    """More letters than a commit has lines."""
    for number in range(LINES_SHOWN):
        await history.do("send_message", **who, to=["Reader"], subject=f"Letter {number}", body_md="body")


async def _send(history: History, who: dict[str, str], to: str) -> int:
    sent = await history.do("send_message", **who, to=[to], subject="Plan", body_md="body")
    return int(sent["deliveries"][0]["payload"]["id"])


async def _reserve(history: History, who: dict[str, str], *, hours: int = 2) -> int:
    """A lease of the reader's."""
    holder = {"project_key": who["project_key"], "agent_name": "Reader"}
    taken = await history.do("file_reservation_paths", **holder, paths=["src/**"], ttl_seconds=hours * HOUR)
    return int(taken["granted"][0]["id"])


async def _write_in_vain(history: History, who: dict[str, str]) -> None:
    """A letter that was withdrawn before anybody read it is nobody's act that all may know of."""
    await history.do("withdraw_message", **who, message_id=await _send(history, who, "Reader"))


def _acts(database: Path) -> list[str]:
    return [line for line in dump(database) if line.startswith('["outbox.acted')]


def _assert_acts_alike(played: Played, folder: Path) -> None:
    acts = _acts(played.database)
    assert acts
    assert _acts(rebuild(played, folder)) == acts


async def test_a_profile_that_a_door_made_is_no_act_of_the_agents(tmp_path: Path) -> None:
    clock = SetClock()
    async with begun(tmp_path / "played", 0, clock) as history:
        crowding = await _join(history)
        await history.world.drain()
        postal = DoorCaller(door=Door.POSTAL, name="bob", project_key=crowding["project_key"])
        await history.world.services.doors.send(postal, "gemini", "hi")
        await _write_in_vain(history, crowding | {"sender_name": "gemini"})
        await _crowd(history, crowding)
        await history.world.drain()

    _assert_acts_alike(played_by(history, clock), tmp_path / "rebuilt")


async def test_a_lease_that_expired_is_no_act_of_its_holders(tmp_path: Path) -> None:
    clock = SetClock()
    async with begun(tmp_path / "played", 0, clock) as history:
        crowding = await _join(history)
        await _reserve(history, crowding)
        await history.world.drain()
        clock.step(2 * HOUR)
        await history.world.services.leases.sweeper.sweep()
        await _write_in_vain(history, crowding | {"sender_name": "Reader"})
        await _crowd(history, crowding)
        await history.world.drain()

    _assert_acts_alike(played_by(history, clock), tmp_path / "rebuilt")


async def test_who_ended_anothers_lease_is_not_taken_for_somebody_who_read(tmp_path: Path) -> None:
    clock = SetClock()
    async with begun(tmp_path / "played", 0, clock) as history:
        crowding = await _join(history)
        project = crowding["project_key"]
        for name in ("Abel", "Warden"):
            await history.do("register_agent", project_key=project, name=name, **PROGRAM)
        lease = await _reserve(history, crowding)
        number = await _send(history, crowding, "Abel")
        await history.world.drain()
        clock.step(1.5 * HOUR)
        await _crowd(history, crowding)
        await history.do("mark_message_read", project_key=project, agent_name="Abel", message_id=number)
        force = {"project_key": project, "agent_name": "Warden", "file_reservation_id": lease}
        assert await history.do("force_release_file_reservation", **force, note="it is idle", notify_previous=False)
        await history.world.drain()

    _assert_acts_alike(played_by(history, clock), tmp_path / "rebuilt")


async def test_who_ended_anothers_lease_is_known_though_its_mail_is_gone(tmp_path: Path) -> None:
    clock = SetClock()
    async with begun(tmp_path / "played", 0, clock) as history:
        who = await _join(history)
        lease = await _reserve(history, who)
        await history.world.drain()
        clock.step(1.5 * HOUR)
        await _write_in_vain(history, who)
        force = {"project_key": who["project_key"], "agent_name": "Writer", "file_reservation_id": lease}
        assert await history.do("force_release_file_reservation", **force, note="it is idle", notify_previous=False)
        await history.world.drain()

    _assert_acts_alike(played_by(history, clock), tmp_path / "rebuilt")


async def test_who_renewed_a_lease_that_stayed_as_it_was_is_known_though_its_mail_is_gone(tmp_path: Path) -> None:
    clock = SetClock()
    async with begun(tmp_path / "played", 0, clock) as history:
        who = await _join(history)
        await _reserve(history, who)
        await history.world.drain()
        await _write_in_vain(history, who | {"sender_name": "Reader"})
        await _reserve(history, who, hours=1)
        await history.world.drain()

    _assert_acts_alike(played_by(history, clock), tmp_path / "rebuilt")


async def test_receipts_of_blind_copies_stand_between_others_or_not(tmp_path: Path) -> None:
    """They have a file of their own in the commit, whose place among the others no archive tells."""
    clock = SetClock()
    async with begun(tmp_path / "played", 0, clock) as history:
        writer = await _join(history)
        project = writer["project_key"]
        await history.do("register_agent", project_key=project, name="Hidden", **PROGRAM)
        first = await history.do(
            "send_message", **writer, to=["Reader"], bcc=["Hidden"], subject="Plan", body_md="body"
        )
        second = await _send(history, writer, "Reader")
        await history.world.drain()
        numbers = [int(first["deliveries"][0]["payload"]["id"]), second]
        for who, number in (("Reader", numbers[0]), ("Hidden", numbers[0]), ("Reader", numbers[1])):
            for act in ("mark_message_read", "acknowledge_message"):
                await history.do(act, project_key=project, agent_name=who, message_id=number)
        await history.world.drain()

    played = played_by(history, clock)
    lines = [line for line in dump(played.database) if line.startswith('["outbox.receipts')]
    assert len(lines) == 6
    assert list(dump(rebuild(played, tmp_path / "rebuilt"))) == list(dump(played.database))
