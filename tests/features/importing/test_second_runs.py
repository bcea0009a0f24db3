"""Between two runs: what happened in the other system is so here after the second; nothing is undone here."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from mcp_agent_mail.domain.importing.records import SourceAttachment, SourceKind
from tests.features.importing.scripted import ScriptedReader, agent, at, copy, lease, message, project
from tests.features.importing.test_service import bring, found
from tests.rebuild.histories import Played
from tests.rebuild.rebuilding import compare, rebuild
from tests.rebuild.world import World

APP = "/old/app"
FAR = at(1_000_000_000)
SOON = at(100_000_600)
"""Ten minutes from the world's now."""
COPIES = "SELECT read_ts, ack_ts FROM recipients ORDER BY message_id, position"
LEASES = "SELECT path_pattern, released_ts, ended_by FROM leases ORDER BY id"
COUNTS = "SELECT inbox_count, unread_count, ack_pending_count FROM agents WHERE name = 'RedStone'"


def store() -> ScriptedReader:
    return ScriptedReader(
        all_projects=[project()],
        all_agents=[agent("a1", "BlueLake"), agent("a2", "RedStone"), agent("a3", "GreenField")],
        all_messages=[
            message("m1", "a1", copy("a2"), copy("a3"), ack_required=True),
            message("m2", "a1", copy("a2")),
        ],
        all_leases=[lease("l1", "a1", "src/**", expires_ts=FAR), lease("l2", "a2", "docs/**", expires_ts=FAR)],
    )


def later() -> ScriptedReader:
    """What was read, acknowledged and released there since."""
    reader = store()
    reader.all_messages = [
        message("m1", "a1", copy("a2", read_ts=at(200), ack_ts=at(210)), copy("a3"), ack_required=True),
        message("m2", "a1", copy("a2", read_ts=at(220))),
    ]
    reader.all_leases = [
        replace(reader.all_leases[0], released_ts=at(300)),
        replace(reader.all_leases[1], stale_ts=at(310)),
    ]
    return reader


def changed(report: object) -> dict[str, int]:
    counts = getattr(report, "counts", {})
    return {kind.value: one.changed for kind, one in counts.items() if one.changed}


async def test_what_was_read_acknowledged_and_released_there_is_so_here(world: World) -> None:
    await bring(world, store())

    dry = await bring(world, later(), apply=False)
    untouched = world.rows(COPIES)
    report = await bring(world, later())

    assert untouched == [(None, None)] * 3
    assert world.rows(COPIES) == [(at(200), at(210)), (None, None), (at(220), None)]
    assert world.rows(LEASES) == [("src/**", at(300), "release"), ("docs/**", at(310), "idle")]
    assert world.rows(COUNTS) == [(2, 0, 0)]
    assert changed(dry) == changed(report) == {"copies": 2, "leases": 2}
    assert report.added == 0


async def test_a_third_run_changes_nothing(world: World) -> None:
    await bring(world, store())
    await bring(world, later())
    events = world.rows("SELECT count(*) FROM outbox")

    report = await bring(world, later())

    assert (changed(report), world.rows("SELECT count(*) FROM outbox")) == ({}, events)


async def test_what_was_read_here_stays_read_as_it_was(world: World) -> None:
    await bring(world, later())

    await bring(world, store())

    assert world.rows(COPIES) == [(at(200), at(210)), (None, None), (at(220), None)]


async def test_a_lease_that_its_holder_has_prolonged_here_is_kept(world: World) -> None:
    reader, ended = store(), later()
    for one in (reader, ended):
        one.all_leases[0] = replace(one.all_leases[0], expires_ts=SOON)
    await bring(world, reader)
    await world.call(
        "renew_file_reservations", project_key=APP, agent_name="BlueLake", extend_seconds=600, paths=["src/**"]
    )

    report = await bring(world, ended)

    assert world.rows(LEASES) == [("src/**", None, None), ("docs/**", at(310), "idle")]
    assert report.counts[SourceKind.LEASE].changed == 1


async def test_somebody_who_waits_for_what_was_released_there_may_have_it(world: World) -> None:
    await bring(world, store())
    await bring(world, later())

    granted = await world.call("file_reservation_paths", project_key=APP, agent_name="GreenField", paths=["src/a.py"])

    assert (len(granted["granted"]), granted["conflicts"]) == (1, [])


async def test_archives_are_told_of_it(world: World, tmp_path: Path) -> None:
    await bring(world, store())
    await bring(world, later())
    await world.drain()
    played = Played(root=world.settings.storage_root, now=world.clock.now, succeeded=Counter(), refused=Counter())

    compared = await compare(played, rebuild(played, tmp_path / "rebuilt"), tmp_path / "asked")

    assert compared.is_equal, str(compared)


async def test_rows_of_a_mail_that_came_later_reach_those_whom_they_name(world: World) -> None:
    carried = (SourceAttachment(name="a.txt", content=b"carried"),)
    reader = store()
    reader.all_messages = [message("m1", "a1", copy("a2"), attachments=carried)]
    await bring(world, reader)
    reader.all_messages = [
        message("m1", "a1", copy("a2", read_ts=at(200)), copy("a3"), attachments=carried, also=("m2", "m3"))
    ]

    dry = await bring(world, reader, apply=False)
    report = await bring(world, reader)
    again = await bring(world, reader)

    assert found(report)["messages"] == found(dry)["messages"] == (2, 1, 0)
    assert found(report)["copies"] == found(dry)["copies"] == (1, 1, 0)
    assert changed(report) == changed(dry) == {"copies": 1}
    assert (again.added, changed(again), found(again)["messages"]) == (0, {}, (0, 3, 0))
    inbox = await world.call("fetch_inbox", project_key=APP, agent_name="GreenField", include_bodies=True)
    assert [(one["subject"], len(one["attachments"])) for one in inbox] == [("About m1", 1)]
