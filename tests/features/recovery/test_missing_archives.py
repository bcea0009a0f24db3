from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.rebuilt_store import StoreCopyPlan, rebuild_into
from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from mcp_agent_mail.features.recovery.sources import require_there
from tests.features.recovery.harness import World, set_back
from tests.features.recovery.test_rebuilt_store import BEGIN, untold


def _plan(world: World, **chosen: object) -> StoreCopyPlan:
    return StoreCopyPlan(most_files=100_000, database=world.database, **chosen)  # type: ignore[arg-type]  # its own fields


def test_no_other_store_is_made_without_an_archive_that_the_database_knows_of(world: World, tmp_path: Path) -> None:
    shutil.rmtree(world.archive(world.lib))

    with pytest.raises(RebuildRefused, match=f"{world.lib}: .* holds no archive") as refused:
        rebuild_into(world.root, tmp_path / "other", _plan(world), told=untold)

    assert f"--without {world.lib}" in refused.value.hint
    assert "am doctor repair" in refused.value.hint
    assert not (tmp_path / "other").exists()
    made = rebuild_into(world.root, tmp_path / "other", _plan(world, without=[world.lib]), told=untold)
    assert made.database.is_file()


def test_of_a_former_time_what_there_was_then_is_to_be_there(world: World) -> None:
    shutil.rmtree(world.archive(world.lib))

    require_there(world.root, world.database, without=(), until=BEGIN.__class__(BEGIN - 1))
    with pytest.raises(RebuildRefused, match=world.lib):
        require_there(world.root, world.database, without=(), until=BEGIN)


def test_an_archive_that_was_set_back_lacks_what_the_database_has_seen(world: World) -> None:
    set_back(world.archive(world.app), 1)

    with pytest.raises(RebuildRefused, match="was set back"):
        require_there(world.root, world.database, without=())


def test_a_database_that_cannot_be_asked_demands_nothing(world: World) -> None:
    shutil.rmtree(world.archive(world.lib))
    for content in (b"", b"no database"):
        world.database.write_bytes(content)
        require_there(world.root, world.database, without=())
    world.database.unlink()
    require_there(world.root, world.database, without=())
