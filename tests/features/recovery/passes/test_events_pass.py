from __future__ import annotations

from tests.features.recovery.harness import World

EVENTS = """
    SELECT o.project_id, o.kind, o.agent_id, o.message_id, o.step, o.is_blind, c.hexsha
    FROM outbox o JOIN commits c ON c.id = o.commit_id WHERE o.kind IN ('mail', 'receipt')
    ORDER BY c.last_seq, o.project_id, o.kind, o.message_id
"""
SPANS = """
    SELECT o.seq, c.last_seq, coalesce((
        SELECT max(b.last_seq) FROM commits b WHERE b.project_id = c.project_id AND b.last_seq < c.last_seq), 0)
    FROM outbox o JOIN commits c ON c.id = o.commit_id
"""


def test_each_event_is_in_the_commit_that_holds_it_with_whom_it_is_of(world: World) -> None:
    world.rebuild()

    assert world.rows(EVENTS) == world.rows(EVENTS, world.database)


def test_every_event_has_a_number_that_its_commit_can_hold(world: World) -> None:
    world.rebuild()

    found = world.rows(SPANS)
    assert len(found) == 14
    assert [row for row in found if not row[2] < row[0] <= row[1]] == []


def test_the_newest_commit_of_each_archive_is_known_as_that(world: World) -> None:
    sql = "SELECT project_id, hexsha, last_seq FROM commits ORDER BY project_id, id"

    world.rebuild()

    assert world.rows(sql) == world.rows(sql, world.database)


def test_who_acted_is_read_from_profiles_that_were_changed_by_their_agents(world: World) -> None:
    world.rebuild()

    found = world.rows("SELECT agent_id FROM outbox WHERE kind = 'profile' AND agent_id IS NOT NULL ORDER BY agent_id")
    assert found == [(5,), (6,), (7,)]
