from __future__ import annotations

import pytest

from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from tests.features.recovery.harness import World, change, drop, paths_of, text_of

KINDS = {
    "the project's copies": r"messages/.*",
    "senders' copies": r"agents/[^/]+/outbox/.*",
    "recipients' copies": r"agents/[^/]+/inbox/.*",
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_an_archive_from_which_copies_are_gone_is_refused_by_name(world: World, kind: str) -> None:
    assert drop(world.archive(world.app), KINDS[kind])

    with pytest.raises(RebuildRefused) as refused:
        world.rebuild()

    assert list(refused.value.data["archives"]) == [world.app]


def test_copies_of_one_archive_that_say_different_things_are_refused(world: World) -> None:
    archive = world.archive(world.app)
    (path,) = paths_of(archive, rf"agents/RedStone/inbox/.*__{world.plain}\.md")
    change(archive, {path: text_of(archive, path).replace("body\n", "another\n")})

    with pytest.raises(RebuildRefused, match="different things"):
        world.rebuild()


def test_copies_of_two_archives_that_say_different_things_are_refused(world: World) -> None:
    archive = world.archive(world.app)
    changed = {
        path: text_of(archive, path).replace('"importance": "normal"', '"importance": "high"')
        for path in paths_of(archive, rf"agents/.*/inbox/.*__{world.across}\.md")
    }
    change(archive, changed)

    with pytest.raises(RebuildRefused, match=f"message {world.across} says something else"):
        world.rebuild()


def test_a_file_that_rendering_would_not_make_is_refused_by_its_path(world: World) -> None:
    archive = world.archive(world.app)
    changed = {
        path: text_of(archive, path).replace('"id": 1', '"id": "1"')
        for path in paths_of(archive, rf".*__{world.plain}\.md")
    }
    change(archive, changed)

    with pytest.raises(RebuildRefused, match=rf"__{world.plain}\.md"):
        world.rebuild()
