"""The numbers that a store has given out: a store that takes another's place gives none of them again.

Agents and clients remember them: ids of messages and leases, fencing and delivery numbers, cursors.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from mcp_agent_mail.core.clock import LATEST, SECOND, Micros
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.ids import MOST_TAKEN_OVER
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.engine.sqlite.migrate import StoreRefused, require_ours
from mcp_agent_mail.store.engine.sqlite.schema import require_own_tables

GAP = 100_000
"""So far above what is known of a replaced store the next one goes on: what nobody has seen of it is below that."""

REACH = 1 << 40
"""No store gives out so many: what is further above its own numbers was not given out in its history."""

AHEAD = 365 * 86_400 * SECOND
"""So far may the clock of a machine have been ahead while its store delivered mail."""

MOST_RESTORED = MOST_TAKEN_OVER - REACH
"""Nothing is restored that has given out higher ones: what it goes on with has to be restored again, many times."""

SEQUENCES = frozenset(
    {
        *("agents", "commits", "contacts", "digests", "guard_events", "issued_tokens", "join_codes", "leases"),
        *("messages", "outbox", "products", "projects", "web_sessions", "windows"),
    }
)
"""The tables that number their rows. No other name in `sqlite_sequence` is read: a stranger's may be anything."""

COUNTERS = frozenset({"delivery", "fencing"})

NAMED = ", ".join(f"'{table}'" for table in sorted(SEQUENCES))
"""As SQL lists them."""

_SEQUENCES = f"""
    SELECT name, max(seq) FROM sqlite_sequence
    WHERE name IN ({NAMED}) AND typeof(name) = 'text' AND typeof(seq) = 'integer'
    GROUP BY name ORDER BY name
"""
_COUNTERS = """
    SELECT name, value FROM counters
    WHERE name IN ('delivery', 'fencing') AND typeof(value) = 'integer' ORDER BY name
"""
_LATEST = "SELECT value FROM counters WHERE name = 'delivered_ts'"
_RAISE_SEQUENCE = "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?"
_ADD_SEQUENCE = """
    INSERT INTO sqlite_sequence (name, seq)
    SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)
"""
_RAISE_COUNTER = "UPDATE counters SET value = max(value, ?) WHERE name = ?"
_RAISE_LATEST = "UPDATE counters SET value = max(value, ?) WHERE name = 'delivered_ts'"
_RAISE_FLOOR = "UPDATE counters SET value = max(value, ?) WHERE name = 'feed_floor'"
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
_READ = ("counters", "sqlite_sequence")
_BUSY_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenNumbers:
    """The highest of each kind that were given out. `sequences`: by table. `latest`: when mail was last delivered."""

    sequences: Mapping[str, int]
    counters: Mapping[str, int]
    latest: int


def read_numbers(database_path: Path) -> GivenNumbers | None:
    """Those of the store at `database_path`; None where there is none that can be read, or what would be read is not as
    this program makes it. Changes nothing.
    """
    try:
        require_ours(database_path)
        with closing(open_reading(database_path)) as connection:
            connection.execute("BEGIN")
            require_own_tables(connection, database_path, _READ)
            return numbers_in(connection)
    except (OSError, sqlite3.Error, StoreRefused, TypeError):
        return None


def numbers_in(connection: Connection) -> GivenNumbers:
    """As `read_numbers`, of a store that somebody has open."""
    (latest,) = connection.execute(_LATEST).fetchone()
    return GivenNumbers(
        sequences=dict(connection.execute(_SEQUENCES).fetchall()),
        counters=dict(connection.execute(_COUNTERS).fetchall()),
        latest=latest,
    )


def leaves_enough(given: GivenNumbers) -> bool:
    """Can what goes on from these be restored again? None is above MOST_RESTORED then."""
    return max((*given.sequences.values(), *given.counters.values()), default=0) <= MOST_RESTORED


def highest_of(all_given: Iterable[GivenNumbers]) -> GivenNumbers:
    """Of each kind the highest that any of them names."""
    sequences: dict[str, int] = {}
    counters: dict[str, int] = {}
    latest = 0
    for given in all_given:
        for highest, numbers in ((sequences, given.sequences), (counters, given.counters)):
            highest.update({name: max(number, highest.get(name, 0)) for name, number in numbers.items()})
        latest = max(latest, given.latest)
    return GivenNumbers(sequences=sequences, counters=counters, latest=latest)


def within_reach(given: GivenNumbers, own: GivenNumbers, now: Micros) -> GivenNumbers:
    """Of what another store has given out that which one with its `own` numbers may go on above: of a kind that is too
    far above, or of a time that its clock cannot have shown, its own stands.

    What is put in the place of a store may be a stranger's, and goes again; the numbers of what comes back stay.
    """
    return GivenNumbers(
        sequences=_near(given.sequences, own.sequences),
        counters=_near(given.counters, own.counters),
        latest=given.latest if given.latest <= max(now, own.latest) + AHEAD else own.latest,
    )


def _near(numbers: Mapping[str, int], own: Mapping[str, int]) -> dict[str, int]:
    return {
        name: number if number <= own.get(name, 0) + REACH else own.get(name, 0) for name, number in numbers.items()
    }


def raise_numbers(database_path: Path, given: GivenNumbers) -> None:
    """Let the store at `database_path` go on at least GAP above those that were `given`, but never above
    MOST_TAKEN_OVER, beyond which it could not be restored, nor with a time beyond LATEST. Safe to repeat; on disk when
    this returns. Nobody else has it open.
    """
    with closing(sqlite3.connect(database_path, timeout=_BUSY_S, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("BEGIN IMMEDIATE")
        raise_in(connection, given)
        connection.execute("COMMIT")
        # In a log of its own the change would be left behind by whoever moves the file.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    # SQLite has synced the file, not that its journal is gone: from one that came back all of it would be taken back.
    sync_path(database_path.parent)


def raise_in(connection: Connection, given: GivenNumbers) -> None:
    """As `raise_numbers`, within the transaction of whoever has the database open.

    What cursors of the other store stand for is not known here: its feed, and its own below those, is kept no longer.
    """
    known = {name for (name,) in connection.execute(_TABLES)} & SEQUENCES
    for table, number in given.sequences.items():
        if table in known:
            connection.execute(_RAISE_SEQUENCE, (_above(number), table))
            connection.execute(_ADD_SEQUENCE, (table, _above(number)))
    for counter, number in given.counters.items():
        if counter not in COUNTERS:
            continue
        connection.execute(_RAISE_COUNTER, (_above(number), counter))
        if counter == "delivery":  # A store of before feeds has no floor, and gets one above all of it.
            connection.execute(_RAISE_FLOOR, (_above(number),))
    connection.execute(_RAISE_LATEST, (min(given.latest, LATEST),))


def _above(number: int) -> int:
    return min(number + GAP, MOST_TAKEN_OVER)
