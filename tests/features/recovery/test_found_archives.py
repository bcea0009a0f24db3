from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.found_archives import NoSuchArchive, find_slug, slugs_on_disk
from tests.features.recovery.harness import World


def test_an_archive_is_found_by_its_slug_and_by_the_path_that_it_tells(world: World) -> None:
    assert slugs_on_disk(world.root) == sorted([world.app, world.lib])
    assert find_slug(world.root, world.app, world.app) == world.app
    assert find_slug(world.root, "/code/lib", "/code/lib") == world.lib


@pytest.mark.parametrize("key", ["/code", "../..", "nobody"])
def test_anything_else_is_unknown_and_those_that_are_there_are_named(world: World, key: str) -> None:
    with pytest.raises(NoSuchArchive) as refused:
        find_slug(world.root, key, key)

    assert world.app in refused.value.hint
    assert world.lib in refused.value.hint


def test_where_no_archives_are_none_is_found(tmp_path: Path) -> None:
    assert slugs_on_disk(tmp_path) == []
    with pytest.raises(NoSuchArchive, match="nobody"):
        find_slug(tmp_path, "nobody", "nobody")
