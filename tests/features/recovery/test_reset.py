from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.core.store_owner import SWAP_FILE
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.reset import empty, is_empty, what_stays
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.features.recovery.harness import World


class Killed(BaseException):
    """As a process that ends there: nothing after it is done."""


def place_of(world: World) -> StorePlace:
    return StorePlace(storage_root=world.root, database_path=world.database)


def noon() -> Micros:
    return Micros(1_790_000_000_000_000)


def test_all_of_the_store_goes_and_nothing_else(world: World) -> None:
    (world.root / "server.log").write_text("log")
    (world.root / "kept" / "older").mkdir(parents=True)

    with StoreLock(world.root, world.database):
        empty(place_of(world), noon)

    assert is_empty(place_of(world))
    assert (world.root / "server.log").read_text() == "log"
    assert (world.root / "kept" / "older").is_dir()
    assert list((world.root / "undo").iterdir()) == []


def test_a_database_elsewhere_goes_too(world: World, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "team.sqlite3"
    elsewhere.parent.mkdir()
    shutil.move(world.database, elsewhere)
    place = StorePlace(storage_root=world.root, database_path=elsewhere)

    with StoreLock(world.root, elsewhere):
        empty(place, noon)

    assert is_empty(place)
    assert [path.name for path in elsewhere.parent.iterdir() if "lock" not in path.name] == []


@pytest.mark.parametrize("point", [FailPoint.SWAP_BEGUN, FailPoint.SWAP_KEPT, FailPoint.SWAP_PLACED])
def test_whenever_it_is_killed_the_next_holder_of_the_lock_finishes_it(world: World, point: FailPoint) -> None:
    def kill(reached: FailPoint) -> None:
        if reached is point:
            raise Killed

    with pytest.raises(Killed), StoreLock(world.root, world.database):
        empty(place_of(world), noon, fault_hook=kill)
    with StoreLock(world.root, world.database):
        pass

    assert is_empty(place_of(world))
    assert not (world.root / "swap.json").exists()
    assert list((world.root / "undo").iterdir()) == []


def test_what_is_kept_elsewhere_and_what_links_lead_to_is_named(world: World, tmp_path: Path) -> None:
    shutil.move(world.root / "attachments", tmp_path / "big disk")
    (world.root / "attachments").symlink_to(tmp_path / "big disk")
    (world.root / "undo" / "2026-01-01T000000Z-n1").mkdir(parents=True)
    (world.root / "mail.sqlite3.before-0012").write_bytes(b"")

    stays = what_stays(place_of(world))

    assert stays == [
        tmp_path / "big disk",
        world.root / "mail.sqlite3.before-0012",
        world.root / "undo" / "2026-01-01T000000Z-n1",
    ]
    with StoreLock(world.root, world.database):
        empty(place_of(world), noon)
    assert all(os.path.lexists(path) for path in stays)


def test_a_reset_that_cannot_begin_leaves_nothing_behind(world: World) -> None:
    in_the_way = world.root / f"{SWAP_FILE}.new"

    with StoreLock(world.root, world.database):
        in_the_way.mkdir()
        with pytest.raises(IsADirectoryError):
            empty(place_of(world), noon)

    assert world.database.is_file()
    assert not (world.root / "undo").exists()
