from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.protocol import ArchiverSettings
from mcp_agent_mail.features.doctor.verify import verify_archives
from mcp_agent_mail.features.doctor.verify_store import verify_store
from mcp_agent_mail.features.recovery.outside_store import PartOfStore
from mcp_agent_mail.features.recovery.rebuilt_store import (
    NotEmpty,
    RebuiltStore,
    StoreCopyPlan,
    give_pending,
    rebuild_in_place,
    rebuild_into,
)
from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from mcp_agent_mail.features.recovery.sources import UnknownSlug
from mcp_agent_mail.store.engine.sqlite.swap import finish_swap
from mcp_agent_mail.store.engine.sqlite.swap_places import SwapPlaces
from tests.archive_harness import Killed, killed_at
from tests.features.recovery.harness import World, git
from tests.names_beside import NamesBeside

BEGIN = Micros(1_800_000_000 * SECOND)


def untold(_part: str) -> Progress:
    return lambda _done, _total: None


def settings_of(world: World) -> ArchiverSettings:
    return ArchiverSettings(
        storage_root=str(world.root),
        database_path=str(world.database),
        author_name="mcp-agent",
        author_email="mcp-agent@example.com",
        commit_interval_ms=500,
    )


def made_in(world: World, into: Path, **chosen: object) -> RebuiltStore:
    plan = StoreCopyPlan(most_files=100_000, **chosen)  # type: ignore[arg-type]  # its own fields
    return rebuild_into(world.root, into, plan, told=untold)


def test_what_was_there_is_kept_and_the_new_database_is_in_its_place(world: World) -> None:
    before, content = world.dump(world.database), world.database.read_bytes()

    made = rebuild_in_place(settings_of(world), told=untold)

    assert world.dump(world.database) == before
    assert made.kept is not None
    assert (made.kept / world.database.name).read_bytes() == content
    assert made.findings == ()
    assert [path.name for path in world.root.iterdir() if "rebuil" in path.name] == []


def test_what_lies_beside_a_database_elsewhere_is_known_as_its_own(world: World, tmp_path: Path) -> None:
    database = tmp_path / "apart" / "store.db"
    database.parent.mkdir()
    shutil.move(world.database, database)
    names = NamesBeside(database)

    made = rebuild_in_place(replace(settings_of(world), database_path=str(database)), told=untold, fault_hook=names)

    assert made.kept is not None
    assert made.kept.parent == database.parent / "kept"
    assert names.strangers() == []
    assert {"store.db", "store.db.rebuilt", "kept"} <= names.seen


def test_an_archive_that_is_left_out_is_moved_away(world: World) -> None:
    made = rebuild_in_place(settings_of(world), without=[world.lib], told=untold)

    assert made.kept is not None
    assert (made.kept / "projects" / world.lib / ".git").is_dir()
    assert not world.archive(world.lib).exists()
    assert made.findings == ()


@pytest.mark.parametrize("name", ["", ".", "..", "../attachments", "../../victim", "nosuchslug"])
def test_nothing_but_a_project_of_the_store_is_left_out(world: World, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim" / "file"
    victim.parent.mkdir()
    victim.touch()
    before = world.database.read_bytes()

    with pytest.raises(UnknownSlug, match=re.escape(repr(name))) as refused:
        rebuild_in_place(settings_of(world), without=[name], told=untold)
    with pytest.raises(UnknownSlug):
        made_in(world, tmp_path / "other", without=[name])

    assert world.app in refused.value.hint
    assert victim.exists()
    assert world.database.read_bytes() == before
    assert not (world.root / "kept").exists()
    assert not (tmp_path / "other").exists()


def test_a_project_that_others_speak_of_is_left_out_though_its_archive_is_gone(world: World) -> None:
    shutil.rmtree(world.archive(world.lib))
    world.database.unlink()

    made = rebuild_in_place(settings_of(world), without=[world.lib], told=untold)

    assert world.lib in made.rebuilt.stand_ins


def test_of_what_is_kept_old_databases_alone_are_removed(world: World) -> None:
    kept = world.root / "kept"
    for name in ("2026-01-01T00-00-00Z-aaaa", "2026-01-02T00-00-00Z-aaaa", "2026-01-03T00-00-00Z-aaaa", "mine"):
        (kept / name).mkdir(parents=True)
        (kept / name / world.database.name).touch()
    with_archive = kept / "2026-01-01T00-00-00Z-aaaa" / "projects" / "app" / "file"
    with_archive.parent.mkdir(parents=True)
    with_archive.touch()

    made = rebuild_in_place(settings_of(world), told=untold)

    assert made.kept is not None
    assert made.removed == (kept / "2026-01-01T00-00-00Z-aaaa" / world.database.name,)
    assert with_archive.exists()
    holding = sorted(path.parent.name for path in kept.glob(f"*/{world.database.name}"))
    assert holding == ["2026-01-02T00-00-00Z-aaaa", "2026-01-03T00-00-00Z-aaaa", made.kept.name, "mine"]


def test_what_is_refused_changes_nothing(world: World) -> None:
    shutil.rmtree(world.archive(world.lib))
    before = world.database.read_bytes()

    with pytest.raises(RebuildRefused):
        rebuild_in_place(settings_of(world), told=untold)

    assert world.database.read_bytes() == before
    assert not (world.root / "kept").exists()


@pytest.mark.parametrize("point", [FailPoint.SWAP_BEGUN, FailPoint.SWAP_KEPT, FailPoint.SWAP_MOVED])
def test_one_that_is_killed_while_it_is_put_in_place_is_finished_by_whoever_comes_next(
    world: World, point: FailPoint
) -> None:
    before = world.dump(world.database)

    with pytest.raises(Killed):
        rebuild_in_place(settings_of(world), told=untold, fault_hook=killed_at(point))
    assert finish_swap(SwapPlaces(storage_root=world.root, database_path=world.database))

    assert world.dump(world.database) == before
    assert world.rows("SELECT seq > 100000 FROM sqlite_sequence WHERE name = 'outbox'", world.database) == [(1,)]


def test_a_whole_store_is_made_somewhere_else_and_nothing_here_is_changed(world: World, tmp_path: Path) -> None:
    before = world.dump(world.database)
    shutil.rmtree(world.root / "attachments")

    made = made_in(world, tmp_path / "other")

    assert made.database == tmp_path / "other" / "mail.sqlite3"
    assert world.dump(made.database) == before
    assert verify_archives(tmp_path / "other", made.database, progress=lambda _done, _total: None).is_clean
    assert not (world.root / "attachments").exists()


def test_as_of_a_time_it_is_what_archives_were_then(world: World, tmp_path: Path) -> None:
    made = made_in(world, tmp_path / "other", until=Micros(BEGIN + 60 * SECOND))

    assert made.rebuilt.messages == 1
    assert world.rows("SELECT read_ts FROM recipients", made.database) == [(None,)]
    assert git(tmp_path / "other" / "projects" / world.app, "rev-parse", "main") == git(
        world.archive(world.app), "rev-parse", "main~1"
    )


def test_before_all_archives_there_is_nothing_to_make(world: World, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        made_in(world, tmp_path / "other", until=Micros(BEGIN - SECOND))

    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize(
    ("place", "refusal"), [("store/below", PartOfStore), ("store", PartOfStore), (".", PartOfStore), ("full", NotEmpty)]
)
def test_it_goes_nowhere_where_something_is(
    world: World, tmp_path: Path, place: str, refusal: type[InvalidInput]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").touch()

    with pytest.raises(refusal):
        made_in(world, tmp_path / place)


def test_after_the_clock_was_set_back_what_was_just_replaced_is_kept_and_the_oldest_goes(world: World) -> None:
    ahead = [
        rebuild_in_place(settings_of(world), told=untold, clock=lambda: Micros(system_clock() + 86_400 * SECOND)).kept
        for _ in range(3)
    ]
    content = world.database.read_bytes()

    made = rebuild_in_place(settings_of(world), told=untold)

    assert made.kept is not None
    assert (made.kept / world.database.name).read_bytes() == content
    assert {path for path in ahead if path is not None and path.exists()} == set(ahead[1:])


def test_a_database_whose_slug_is_a_path_is_rebuilt_of_its_archives(world: World) -> None:
    settings = settings_of(world)
    with closing(sqlite3.connect(settings.database_path)) as connection, connection:
        connection.execute("UPDATE projects SET slug = '/tmp/elsewhere' WHERE id = 1")

    store_id = asyncio.run(give_pending(settings, without=(), progress=untold("")))
    rebuild_in_place(settings, store_id=store_id, told=untold)

    assert verify_store(world.database) == []
