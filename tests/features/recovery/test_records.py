from __future__ import annotations

import tracemalloc

import pytest

from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from tests.features.recovery.harness import World, change, drop, text_of


def test_an_archive_without_its_profiles_is_refused(world: World) -> None:
    assert drop(world.archive(world.app), r"agents/BlueLake/profile\.json")

    with pytest.raises(RebuildRefused, match=r"BlueLake .agent 5. has mail and no profile"):
        world.rebuild()


def test_two_agents_of_one_id_are_refused(world: World) -> None:
    archive = world.archive(world.app)
    profile = text_of(archive, "agents/RedStone/profile.json")
    change(archive, {"agents/RedStone/profile.json": profile.replace('"id": 6', '"id": 5')})

    with pytest.raises(RebuildRefused, match="is there twice"):
        world.rebuild()


def test_what_lies_in_an_archive_and_is_not_ours_is_left_alone(world: World) -> None:
    change(world.archive(world.app), {"notes/todo.txt": "buy milk", "contacts.txt": "x"})

    world.rebuild()

    assert world.verify().is_clean


@pytest.mark.parametrize(
    "path", ["archive.json", "agents/RedStone/profile.json", r"receipts/2026/11/21/1.jsonl", "contacts/a/b.json"]
)
def test_a_file_larger_than_any_of_its_kind_is_refused_unread(world: World, path: str) -> None:
    change(world.archive(world.app), {path: " " * (64 << 20)})
    tracemalloc.start()
    try:
        with pytest.raises(RebuildRefused, match=r"too many|of such a content at most"):
            world.rebuild()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 16 << 20


def test_what_is_not_read_may_be_of_any_size(world: World) -> None:
    change(world.archive(world.app), {"messages/recording.bin": " " * (64 << 20)})
    tracemalloc.start()
    try:
        world.rebuild()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 32 << 20
