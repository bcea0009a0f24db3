from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.features.recovery.backups.restore_refusals import (
    RestoreUnfit,
    faults_to_mend,
    require_numbers_left,
    require_ours,
    require_own_values,
    require_times_left,
)
from mcp_agent_mail.store.engine.sqlite.numbers import AHEAD
from tests.store_templates import blank_store

NOW, DAY = Micros(1_000 * AHEAD // 20), 86_400 * SECOND


def _store(path: Path, *statements: str, latest: int = 0) -> Path:
    blank_store().lay(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in (*statements, f"UPDATE counters SET value = {latest} WHERE name = 'delivered_ts'"):
            connection.execute(statement)
    return path


def test_a_store_of_ours_is_taken_as_it_is(tmp_path: Path) -> None:
    database = _store(tmp_path / "mail.sqlite3")

    require_ours(database)
    require_own_values(database)

    assert faults_to_mend(database) == []


def test_what_follows_from_the_rest_is_mended_later(tmp_path: Path) -> None:
    database = _store(tmp_path / "mail.sqlite3", "UPDATE counters SET value = -5 WHERE name = 'delivery'")

    assert len(faults_to_mend(database)) == 1


def test_a_foreign_part_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    database = _store(tmp_path / "mail.sqlite3", "CREATE VIEW seen AS SELECT * FROM messages")

    with pytest.raises(RestoreUnfit, match="not the schema"):
        require_ours(database)


def test_a_value_that_is_none_of_ours_is_refused_by_both_looks(tmp_path: Path) -> None:
    database = _store(tmp_path / "mail.sqlite3", "DELETE FROM meta")

    for look in (require_own_values, faults_to_mend):
        with pytest.raises(RestoreUnfit, match="never writes: the id of the store"):
            look(database)


@pytest.mark.parametrize(
    ("latest", "replaced", "is_refused"),
    [
        (NOW + DAY, 0, False),
        (NOW + DAY + 1, 0, True),
        (NOW + AHEAD, 0, True),
        (NOW + 5 * AHEAD, NOW + 5 * AHEAD, False),
        (NOW + AHEAD, None, False),
        (NOW + AHEAD + 1, None, True),
    ],
)
def test_the_newest_delivery_is_no_later_than_a_clock_can_have_shown(
    latest: int, replaced: int | None, is_refused: bool, tmp_path: Path
) -> None:
    built, place = _store(tmp_path / "built.sqlite3", latest=latest), tmp_path / "mail.sqlite3"
    if replaced is not None:
        _store(place, latest=replaced)

    if is_refused:
        with pytest.raises(RestoreUnfit, match="newest mail was delivered on"):
            require_times_left(built, place, NOW)
    else:
        require_times_left(built, place, NOW)


def test_a_database_that_does_not_say_what_it_gave_out_is_refused(tmp_path: Path) -> None:
    built = _store(tmp_path / "built.sqlite3", latest=NOW)
    with closing(sqlite3.connect(built)) as connection, connection:
        connection.execute("DELETE FROM counters")

    with pytest.raises(RestoreUnfit, match="does not say which numbers"):
        require_times_left(built, tmp_path / "mail.sqlite3", NOW)
    with pytest.raises(RestoreUnfit, match="too few are left") as refused:
        require_numbers_left(built)
    assert "Go back to another backup" in refused.value.hint
