from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.features.recovery.given_numbers import archived_up_to, given_before, given_out
from mcp_agent_mail.features.recovery.rebuilt_store import rebuild_in_place
from mcp_agent_mail.store.checks.artifacts import read_store_id
from mcp_agent_mail.store.engine.noted_numbers import note_given, read_noted
from mcp_agent_mail.store.engine.sqlite.numbers import GAP, REACH, GivenNumbers, raise_numbers, read_numbers
from tests.features.recovery.harness import World
from tests.features.recovery.test_rebuilt_store import settings_of, untold

KINDS = ("messages", "agents", "outbox")


def _numbers(database: Path) -> GivenNumbers:
    given = read_numbers(database)
    assert given is not None
    return given


def _require_above(after: GivenNumbers, before: GivenNumbers) -> None:
    assert all(after.sequences[kind] >= before.sequences[kind] + GAP for kind in KINDS)
    assert all(after.counters[name] >= number + GAP for name, number in before.counters.items())


def _far_on(database: Path) -> GivenNumbers:
    """Let the database have given out numbers of which no archive tells."""
    raise_numbers(database, _numbers(database))
    return _numbers(database)


def test_a_rebuild_without_an_archive_goes_on_above_what_the_database_gave_out(world: World) -> None:
    before = _far_on(world.database)

    rebuild_in_place(settings_of(world), without=[world.lib], told=untold)

    _require_above(_numbers(world.database), before)


def test_a_rebuild_without_an_archive_goes_on_above_what_that_shows_where_there_is_no_database(world: World) -> None:
    before = _numbers(world.database)
    world.database.unlink()

    rebuild_in_place(settings_of(world), without=[world.lib], told=untold)

    _require_above(_numbers(world.database), before)


@pytest.mark.parametrize("place", ["undo/2026-01-01T000000Z-n1", "kept/2026-01-01T00-00-00Z-n1"])
def test_a_rebuild_goes_on_above_what_databases_gave_out_that_were_replaced_before(world: World, place: str) -> None:
    (world.root / place).mkdir(parents=True)
    shutil.copy(world.database, world.root / place)
    before = _far_on(world.root / place / world.database.name)

    rebuild_in_place(settings_of(world), told=untold)

    _require_above(_numbers(world.database), before)


def test_a_rebuild_goes_on_above_what_is_noted_of_a_database_that_is_gone(world: World) -> None:
    before = _far_on(world.database)
    note_given(world.root, read_store_id(world.database), before)
    world.database.unlink()

    rebuild_in_place(settings_of(world), told=untold)

    _require_above(_numbers(world.database), before)


def test_what_a_rebuilt_store_goes_on_from_is_noted(world: World) -> None:
    rebuild_in_place(settings_of(world), told=untold)

    noted = read_noted(world.root, read_store_id(world.database), _numbers(world.database))
    assert noted is not None
    assert noted.sequences["messages"] == _numbers(world.database).sequences["messages"]


def test_a_database_out_of_reach_tells_nothing_and_the_archives_are_asked_instead(world: World, tmp_path: Path) -> None:
    before = _numbers(world.database)
    with closing(sqlite3.connect(world.database)) as connection, connection:
        connection.execute("UPDATE sqlite_sequence SET seq = seq + ?", (2 * REACH,))
    (tmp_path / "scratch").mkdir()

    given = given_out(world.root, world.database, tmp_path / "none", tmp_path / "scratch", system_clock())

    assert all(before.sequences[kind] <= given.sequences[kind] < REACH for kind in KINDS)


def test_a_whole_database_does_not_hide_what_those_before_it_gave_out(world: World, tmp_path: Path) -> None:
    place = world.root / "undo" / "2026-01-01T000000Z-n1"
    place.mkdir(parents=True)
    shutil.copy(world.database, place)
    before = _far_on(place / world.database.name)

    of_restore = given_out(world.root, world.database, tmp_path / "none", tmp_path, system_clock())
    of_rebuild = given_before(world.root, world.database, tmp_path / "none", tmp_path, system_clock(), without=())

    assert archived_up_to(world.root) <= _numbers(world.database).sequences["outbox"]
    assert of_restore == of_rebuild
    assert all(of_restore.sequences[kind] == before.sequences[kind] for kind in KINDS)
