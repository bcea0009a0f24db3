from __future__ import annotations

import shutil

import pytest

from mcp_agent_mail.features.recovery.people import LOST_PATH
from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from tests.features.recovery.harness import World, change, set_back


def test_a_missing_archive_of_which_others_speak_is_refused_by_name(world: World) -> None:
    shutil.rmtree(world.archive(world.lib))

    with pytest.raises(RebuildRefused) as refused:
        world.rebuild()

    assert list(refused.value.data["archives"]) == [world.lib]
    assert f"--without {world.lib}" in refused.value.hint


def test_a_project_that_is_left_out_is_made_of_what_others_say_of_it(world: World) -> None:
    shutil.rmtree(world.archive(world.lib))

    made = world.rebuild(without=[world.lib])

    assert made.stand_ins == (world.lib,)
    assert world.rows("SELECT id, slug, human_key FROM projects ORDER BY id")[1] == (2, world.lib, "/code/lib")
    assert world.rows("SELECT id, name FROM agents WHERE project_id = 2 AND kind = 'agent'") == [(7, "QuietFox")]
    assert {name for (name,) in world.rows("SELECT name FROM agents WHERE project_id = 2")} >= {"Human", "System"}
    assert world.rows("SELECT agent_id, kind FROM recipients WHERE message_id = 2 ORDER BY position") == [
        (5, "to"),
        (6, "bcc"),
    ]
    assert world.verify().is_clean


def test_a_project_of_which_only_the_slug_is_known_gets_a_path_that_says_so(world: World) -> None:
    shutil.rmtree(world.archive(world.app))

    world.rebuild(without=[world.app])

    assert LOST_PATH.format(slug=world.app) in {key for (key,) in world.rows("SELECT human_key FROM projects")}
    assert world.verify().is_clean


def test_an_agent_whose_archive_has_not_got_it_yet_is_made_of_what_others_say(world: World) -> None:
    set_back(world.archive(world.app), 2)
    change(world.archive(world.app), {"agents/RedStone/profile.json": None})

    made = world.rebuild()

    assert made.stand_ins == (f"RedStone@{world.app}",)
