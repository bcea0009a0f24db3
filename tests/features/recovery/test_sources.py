from __future__ import annotations

import json

import pytest

from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from tests.features.recovery.harness import World, change, text_of


def described(world: World, slug: str, **changed: object) -> None:
    archive = world.archive(slug)
    content = document(json.loads(text_of(archive, "archive.json")) | changed).decode()
    change(archive, {"archive.json": content})


def test_an_archive_of_another_store_is_refused_by_name(world: World) -> None:
    described(world, world.lib, store_id="another")
    own = json.loads(text_of(world.archive(world.app), "archive.json"))["store_id"]

    with pytest.raises(RebuildRefused) as refused:
        world.rebuild(store_id=own)

    assert list(refused.value.data["archives"]) == [world.lib]
    assert "belongs to store another" in refused.value.message


def test_an_archive_of_a_newer_version_is_refused_by_name(world: World) -> None:
    described(world, world.lib, format=99)

    with pytest.raises(RebuildRefused, match="version 99"):
        world.rebuild()


def test_an_archive_under_another_s_name_is_refused(world: World) -> None:
    world.archive(world.lib).rename(world.archive("other"))

    with pytest.raises(RebuildRefused, match=f"is the archive of {world.lib}"):
        world.rebuild()


def test_a_folder_that_holds_something_else_is_refused(world: World) -> None:
    world.archive("notes").mkdir()
    (world.archive("notes") / "todo").touch()

    with pytest.raises(RebuildRefused, match=r"notes: .* holds no archive"):
        world.rebuild()


def test_an_empty_place_makes_no_store(world: World) -> None:
    for slug in (world.app, world.lib):
        world.archive(slug).rename(world.root / slug)

    with pytest.raises(RebuildRefused, match="there is none"):
        world.rebuild()
