from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import LATEST, Micros
from mcp_agent_mail.core.ids import MOST_TAKEN_OVER
from mcp_agent_mail.store.engine.sqlite.numbers import (
    AHEAD,
    GAP,
    MOST_RESTORED,
    REACH,
    SEQUENCES,
    GivenNumbers,
    leaves_enough,
    raise_numbers,
    read_numbers,
    within_reach,
)
from mcp_agent_mail.store.feed import Feed
from tests.on_disk import OnDisk
from tests.store.foreign_parts import change
from tests.store_templates import blank_store


def test_a_store_goes_on_above_what_another_gave_out_and_never_below_its_own(tmp_path: Path) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    given = GivenNumbers(
        sequences={"messages": 70, "outbox": 9, "no_such_table": 3}, counters={"delivery": 50, "fencing": 2}, latest=12
    )

    raise_numbers(tmp_path / "mail.sqlite3", given)
    raise_numbers(tmp_path / "mail.sqlite3", GivenNumbers(sequences={"messages": 1}, counters={}, latest=3))

    assert not (tmp_path / "mail.sqlite3-wal").exists()
    found = read_numbers(tmp_path / "mail.sqlite3")
    assert found is not None
    assert found.sequences == {"messages": 70 + GAP, "outbox": 9 + GAP}
    assert (found.counters, found.latest) == ({"delivery": 50 + GAP, "fencing": 2 + GAP}, 12)


def test_no_cursor_of_the_store_whose_place_it_takes_is_one_of_its_own(tmp_path: Path) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    given = GivenNumbers(sequences={}, counters={"delivery": 50}, latest=0)

    raise_numbers(tmp_path / "mail.sqlite3", given)
    change(tmp_path / "mail.sqlite3", "UPDATE counters SET value = value + 7 WHERE name = 'delivery'")
    raise_numbers(tmp_path / "mail.sqlite3", given)

    with closing(sqlite3.connect(tmp_path / "mail.sqlite3")) as connection:
        ends = Feed(connection).ends()
    assert (ends.floor, ends.tail) == (50 + GAP, 57 + GAP)


def test_a_store_of_before_feeds_gets_no_floor_before_it_has_feeds(tmp_path: Path) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    change(tmp_path / "mail.sqlite3", "DELETE FROM counters WHERE name = 'feed_floor'")

    raise_numbers(tmp_path / "mail.sqlite3", GivenNumbers(sequences={}, counters={"delivery": 50}, latest=0))

    found = read_numbers(tmp_path / "mail.sqlite3")
    assert found is not None
    assert found.counters["delivery"] == 50 + GAP


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_once_numbers_are_raised_no_journal_comes_back_to_take_them_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: str
) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    with closing(sqlite3.connect(tmp_path / "mail.sqlite3")) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
    on_disk = OnDisk(monkeypatch)

    raise_numbers(tmp_path / "mail.sqlite3", GivenNumbers(sequences={"messages": 70}, counters={}, latest=0))

    assert [path.name for path in tmp_path.iterdir()] == ["mail.sqlite3"]
    assert on_disk.has(tmp_path)


def test_raised_numbers_are_in_the_file_itself_whoever_keeps_its_log(tmp_path: Path) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    with closing(sqlite3.connect(tmp_path / "mail.sqlite3")) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("SELECT count(*) FROM counters").fetchone()

        raise_numbers(tmp_path / "mail.sqlite3", GivenNumbers(sequences={"messages": 70}, counters={}, latest=0))

        (tmp_path / "moved").mkdir()
        shutil.copy(tmp_path / "mail.sqlite3", tmp_path / "moved")
    found = read_numbers(tmp_path / "moved" / "mail.sqlite3")
    assert found is not None
    assert found.sequences == {"messages": 70 + GAP}


def test_the_next_message_has_the_next_number(tmp_path: Path) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    raise_numbers(tmp_path / "mail.sqlite3", GivenNumbers(sequences={"projects": 5}, counters={}, latest=0))

    with closing(sqlite3.connect(tmp_path / "mail.sqlite3")) as connection:
        connection.execute(
            "INSERT INTO projects (slug, human_key, plain_slug, created_ts) VALUES ('app', '/app', 'app', 1)"
        )
        assert connection.execute("SELECT id FROM projects").fetchone() == (5 + GAP + 1,)


def test_of_what_is_no_store_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "garbage").write_bytes(b"SQLite format 3\0" + bytes(200))

    assert read_numbers(tmp_path / "garbage") is None
    assert read_numbers(tmp_path / "nothing") is None


def test_numbers_that_a_damaged_store_tells_are_bounded_and_are_integers(tmp_path: Path) -> None:
    for name in ("mail.sqlite3", "other.sqlite3"):
        blank_store().lay(tmp_path / name)
    with closing(sqlite3.connect(tmp_path / "other.sqlite3")) as connection, connection:
        connection.execute("DELETE FROM sqlite_sequence")
        tables = [("messages", (1 << 63) - 1), ("outbox", "many"), ("agents", 7)]
        connection.executemany("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", tables)
    given = read_numbers(tmp_path / "other.sqlite3")
    assert given is not None

    raise_numbers(tmp_path / "mail.sqlite3", given)

    found = read_numbers(tmp_path / "mail.sqlite3")
    assert found is not None
    assert found.sequences == {"messages": MOST_TAKEN_OVER, "agents": 7 + GAP}


@pytest.mark.parametrize("version", [None, 9999])
def test_of_a_strangers_view_in_the_place_of_the_numbers_nothing_is_read(version: int | None, tmp_path: Path) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    change(
        tmp_path / "mail.sqlite3",
        "ALTER TABLE counters RENAME TO kept",
        "CREATE VIEW counters AS SELECT name, value + 9000000000 AS value FROM kept",
        *(() if version is None else (f"PRAGMA user_version = {version}",)),
    )

    assert read_numbers(tmp_path / "mail.sqlite3") is None


def test_of_a_store_of_a_newer_version_the_numbers_are_known(tmp_path: Path) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    change(tmp_path / "mail.sqlite3", "PRAGMA user_version = 9999", "CREATE TABLE later (id INTEGER PRIMARY KEY)")

    assert read_numbers(tmp_path / "mail.sqlite3") is not None


def test_no_store_goes_on_above_what_could_be_taken_over_nor_beyond_the_calendar(tmp_path: Path) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    most = (1 << 63) - 1

    raise_numbers(
        tmp_path / "mail.sqlite3",
        GivenNumbers(
            sequences={"agents": MOST_TAKEN_OVER - 1}, counters={"delivery": most, "fencing": most}, latest=most
        ),
    )

    found = read_numbers(tmp_path / "mail.sqlite3")
    assert found is not None
    assert found.sequences == {"agents": MOST_TAKEN_OVER}
    assert (found.counters, found.latest) == ({"delivery": MOST_TAKEN_OVER, "fencing": MOST_TAKEN_OVER}, LATEST)


def test_what_is_too_far_above_a_stores_own_numbers_is_not_gone_on_above() -> None:
    own = GivenNumbers(sequences={"messages": 7}, counters={"delivery": 3}, latest=50)
    near = GivenNumbers(sequences={"messages": 7 + REACH, "agents": REACH}, counters={"delivery": 9}, latest=60 + AHEAD)
    far = GivenNumbers(
        sequences={"messages": 8 + REACH, "agents": REACH + 1}, counters={"delivery": 4 + REACH}, latest=61 + AHEAD
    )

    assert within_reach(near, own, Micros(60)) == near
    assert within_reach(far, own, Micros(60)) == GivenNumbers(
        sequences={"messages": 7, "agents": 0}, counters={"delivery": 3}, latest=50
    )


def test_a_clock_that_was_set_back_leaves_a_store_its_own_times() -> None:
    own = GivenNumbers(sequences={}, counters={}, latest=9 * AHEAD)
    given = GivenNumbers(sequences={}, counters={}, latest=10 * AHEAD)

    assert within_reach(given, own, Micros(60)).latest == 10 * AHEAD


def test_the_names_of_numbers_are_those_of_the_tables_that_number_their_rows(tmp_path: Path) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"

    with closing(sqlite3.connect(tmp_path / "mail.sqlite3")) as connection:
        assert {name for (name,) in connection.execute(sql)} == SEQUENCES


def test_no_other_name_is_read_whatever_it_is_and_of_one_that_is_there_twice_the_highest(tmp_path: Path) -> None:
    database = tmp_path / "mail.sqlite3"
    blank_store().lay(database)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM sqlite_sequence")
        for name in ("NULL", "7", "x'ff00'", "CAST(x'ff00' AS TEXT)", "'messages_fts'", "x'6d65737361676573'"):
            connection.execute(f"INSERT INTO sqlite_sequence VALUES ({name}, 5)")
        connection.executemany("INSERT INTO sqlite_sequence VALUES ('agents', ?)", [(9,), (3,)])

    found = read_numbers(database)

    assert found is not None
    assert found.sequences == {"agents": 9}
    raise_numbers(database, GivenNumbers(sequences={"messages_fts": 8}, counters={"delivered_ts": 8}, latest=0))
    again = read_numbers(database)
    assert again is not None
    assert (again.sequences, again.latest) == (found.sequences, found.latest)


def test_only_what_can_be_restored_many_times_leaves_enough() -> None:
    assert leaves_enough(GivenNumbers(sequences={"messages": MOST_RESTORED}, counters={}, latest=LATEST))
    assert not leaves_enough(GivenNumbers(sequences={}, counters={"fencing": MOST_RESTORED + 1}, latest=0))
