from __future__ import annotations

import shutil

import pytest

from mcp_agent_mail.features.doctor.verify_store import verify_store
from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from tests.features.recovery.harness import World, git


def test_archives_alone_give_a_store_that_nobody_can_tell_from_the_one_before(world: World) -> None:
    before = world.dump(world.database)
    world.database.unlink()

    made = world.rebuild()

    assert world.dump() == before
    assert (made.projects, made.agents, made.messages, made.events, made.stand_ins) == (2, 7, 2, 0, ())
    assert world.verify().is_clean
    assert verify_store(world.new) == []


def test_contents_that_are_gone_beside_the_database_are_brought_from_git(world: World) -> None:
    shutil.rmtree(world.root / "attachments")

    made = world.rebuild()

    assert made.contents == 1
    assert world.verify().is_clean


def test_numbers_go_on_far_above_what_git_shows(world: World) -> None:
    shown = dict(world.rows("SELECT name, seq FROM sqlite_sequence", world.database))

    world.rebuild()

    given = dict(world.rows("SELECT name, seq FROM sqlite_sequence"))
    assert {name: given[name] - seq for name, seq in shown.items()} == dict.fromkeys(shown, 100_000)
    assert world.rows("SELECT value FROM counters WHERE name = 'delivery'") == [(100_003,)]
    assert world.rows("SELECT value FROM counters WHERE name = 'fencing'") == [(100_000,)]


def test_no_name_is_free_to_be_taken_after_a_rebuild(world: World) -> None:
    world.rebuild()

    hashes = world.rows("SELECT kind, token_hash IS NULL, length(token_hash) FROM agents")
    assert set(hashes) == {("agent", 0, 32), ("human", 1, None), ("system", 1, None)}


def test_what_is_refused_leaves_nothing(world: World) -> None:
    git(world.archive(world.app), "update-ref", "-d", "refs/heads/main")

    with pytest.raises(RebuildRefused) as refused:
        world.rebuild()

    assert list(refused.value.data["archives"]) == [world.app]
    assert [path.name for path in world.root.parent.iterdir()] == ["store"]
