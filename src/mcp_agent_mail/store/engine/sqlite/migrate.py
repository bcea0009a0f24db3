"""Numbered, forward-only migrations: `schema/NNNN_*.sql` under `PRAGMA user_version`.

A store file exists whole or not at all: a new one is built beside its place and renamed into it.
An existing one is recognised by SQLite's `application_id` in its header, read without SQLite, so that
a file of another program is not touched. Before a migration changes a store, a copy of it is kept.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Sequence
from contextlib import closing, suppress
from importlib.resources import files
from pathlib import Path

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.ids import new_store_id
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import NOT_PLAIN, open_plain, real_path
from mcp_agent_mail.domain.own_files import APPLICATION_ID, is_database, is_sqlite
from mcp_agent_mail.store.engine.sqlite.connection import add_functions, open_reading
from mcp_agent_mail.store.engine.sqlite.database_files import (
    DATABASE_ENDS,
    beside,
    database_files,
    remove_database,
    unfinished,
)

PAGE_BYTES = 2_048
"""Of a new store. A send touches 24 pages, most of them by one row; each goes whole into the log (docs/adr/0032)."""
COPIES_KEPT = 3
_HEADER_BYTES = 100
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_JOURNAL_HEAD = struct.Struct(">8sIIIII")
_FIRST_PAGE = (1).to_bytes(4, "big")
_BUSY_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema; `version` is the `user_version` it leads to."""

    version: int
    sql: str


class StoreRefused(Unavailable):
    """The file at the store's place is not opened; it is left as it is."""

    recoverable = False


class ForeignStore(StoreRefused):
    """The file is another program's."""


class NewerStore(StoreRefused):
    """The store was written by a newer version of this program."""


class OlderStore(StoreRefused):
    """The store was written by an older version, and whoever opens it is not the one to bring it up to date."""


class MigrationFailed(StoreRefused):
    """A migration left references that lead nowhere; the store is as it was before."""


def shipped_migrations() -> list[Migration]:
    """The migrations of this version, oldest first, numbered without a gap."""
    folder = files("mcp_agent_mail.store") / "schema"
    scripts = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    migrations = [
        Migration(version=int(script.name.split("_")[0]), sql=script.read_text(encoding="utf-8")) for script in scripts
    ]
    assert [migration.version for migration in migrations] == list(range(1, len(migrations) + 1))
    return migrations


def migrate(path: Path, *, fault_hook: FaultHook, migrations: Sequence[Migration] | None = None) -> None:
    """Make or bring the store at `path` to the newest schema. The caller holds the store's lock.

    Raises StoreRefused. Stopped anywhere, it leaves the store before or after a migration, never between.
    """
    path = Path(real_path(str(path)))
    wanted = shipped_migrations() if migrations is None else migrations
    if not os.path.lexists(path) or (path.is_file() and path.stat().st_size == 0):
        _create(path, wanted, fault_hook)
        return
    require_ours(path)
    with closing(_connect(path)) as connection:
        found = _version(connection)
        require_known(path, found, wanted[-1].version)
        missing = [migration for migration in wanted if migration.version > found]
        if missing:
            keep_copy(connection, path, before=missing[0].version)
        for migration in missing:
            apply_migration(connection, migration, fault_hook)


def take_back_unfinished(path: Path) -> None:
    """Have SQLite take back a change to WAL mode amid which a process was killed: who only reads cannot, and could not
    open the store. Any other journal is left alone: it may be another database's, and would be played into this one.
    The caller holds the store's lock.
    """
    journal = beside(path, "-journal")
    if not (journal.is_file() and path.is_file() and _is_of_mode_change(journal, path)):
        return
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_BUSY_S)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()


def _is_of_mode_change(journal: Path, database: Path) -> bool:
    """Whether all that the journal would bring back is the database's own first page (https://sqlite.org/fileformat2.html),
    but for its mode and its counters.
    """
    with journal.open("rb") as file:
        head = file.read(_JOURNAL_HEAD.size)
        if len(head) < _JOURNAL_HEAD.size:
            return False
        magic, _, _, _, sector, page_bytes = _JOURNAL_HEAD.unpack(head)
        if magic != _JOURNAL_MAGIC or not 512 <= page_bytes <= 65_536:
            return False
        file.seek(sector)
        record = file.read(page_bytes + 8 + 1)
    with database.open("rb") as file:
        page = file.read(page_bytes)
    own = is_database(page[:_HEADER_BYTES]) and len(page) == page_bytes
    return own and len(record) == page_bytes + 8 and record[:4] == _FIRST_PAGE and _same(record[4:-4], page)


def _same(page: bytes, other: bytes) -> bool:
    """Both without the bytes of the header that tell the mode (18, 19), and count changes (24 to 27, 92 to 99)."""
    parts = ((0, 18), (20, 24), (28, 92), (100, len(page)))
    return all(page[begin:end] == other[begin:end] for begin, end in parts)


def require_same(path: Path) -> None:
    """As `require_current`, and raise NewerStore where this version does not know all that is in the store."""
    require_current(path)
    with closing(open_reading(path)) as connection:
        require_known(path, _version(connection))


def require_known(path: Path, found: int, newest: int | None = None) -> None:
    """Raise NewerStore where `found`, the schema of the store at `path`, is above the newest: by default this
    version's.
    """
    newest = shipped_migrations()[-1].version if newest is None else newest
    if found > newest:
        raise NewerStore(
            f"{path} has schema {found}; this version of mcp-agent-mail knows schemas up to {newest}.",
            hint="Start the newer version, or restore the copy kept before its migration "
            f"({path.name}.before-{newest + 1:04}).",
            data={"schema_version": found, "newest_known": newest},
        )


def require_current(path: Path) -> None:
    """Raise OlderStore if a migration is missing: for a command, which must not change for good what a server of the
    older version still serves. The store is only read. Raises ForeignStore too; a newer store is left to `migrate`.
    """
    require_ours(path)
    with closing(open_reading(path)) as connection:
        found = _version(connection)
    newest = shipped_migrations()[-1].version
    if found < newest:
        raise OlderStore(
            f"{path} has schema {found}, of an older version; this one's is {newest}. A command does not change that.",
            hint=f"Start `am serve` once: it brings the store up to date, and keeps a copy ({path.name}.before-"
            f"{found + 1:04}) for the way back.",
            data={"schema_version": found, "newest_known": newest},
        )


def require_ours(path: Path) -> None:
    """Raise ForeignStore unless the header of `path` says that this program made it."""
    try:
        with open(open_plain(path), "rb") as file:  # noqa: PTH123  # of a descriptor
            header = file.read(_HEADER_BYTES)
    except OSError as unfit:
        if unfit.errno not in NOT_PLAIN:
            raise
        header = b""
    if is_database(header):
        return
    kind = "an SQLite database of another program" if is_sqlite(header) else "no SQLite database"
    raise ForeignStore(
        f"{path} is {kind}. It was left untouched.",
        hint="Point DATABASE_URL (or STORAGE_ROOT) to another place; the store is made there.",
        data={"path": str(path)},
    )


def keep_copy(connection: sqlite3.Connection, path: Path, *, before: int) -> Path:
    """Copy the store beside itself and drop the oldest copies beyond COPIES_KEPT. Safe to repeat."""
    copy = beside(path, f".before-{before:04}")
    building = unfinished(copy)
    remove_database(building)
    try:
        with closing(sqlite3.connect(building, isolation_level=None)) as target:
            building.chmod(0o600)
            connection.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
        _move_into_place(building, copy)
    except (sqlite3.Error, OSError):
        # Where there is no room for it, half a copy must not take up what there is.
        remove_database(building)
        raise
    copies = sorted(path.parent.glob(f"{path.name}.before-[0-9][0-9][0-9][0-9]"))
    for outdated in copies[:-COPIES_KEPT]:
        outdated.unlink()
    return copy


def _create(path: Path, migrations: Sequence[Migration], fault_hook: FaultHook) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    building = unfinished(path)
    remove_database(building)
    with closing(_connect(building)) as connection:
        building.chmod(0o600)
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        # What is half made is thrown away, and what is whole is synced once, when it moves: each step waited for the
        # disk four times.
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA journal_mode=MEMORY")
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        for migration in migrations:
            apply_migration(connection, migration, fault_hook)
        connection.execute("INSERT INTO meta (key, value) VALUES ('store_id', ?)", (new_store_id(),))
        # Here and not where it is opened: a kill amid the change leaves a journal beside the database.
        connection.execute("PRAGMA journal_mode=WAL")
    _move_into_place(building, path)
    for folder in path.parent.parents:
        with suppress(OSError):  # Not every folder above may be read; most have been there for long.
            sync_path(folder)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous=FULL")
        add_functions(connection)
    except BaseException:
        # Left to the garbage collector it would close, and remove its log, at some later moment.
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def apply_migration(connection: sqlite3.Connection, migration: Migration, fault_hook: FaultHook) -> None:
    """One migration in one transaction. Foreign keys are off meanwhile (tables are rebuilt), and checked at its end."""
    connection.execute("PRAGMA foreign_keys=OFF")
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in statements_of(migration.sql):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={migration.version}")
        if broken := connection.execute("PRAGMA foreign_key_check").fetchmany(10):
            raise MigrationFailed(
                f"Migration {migration.version} would leave rows of {broken[0][0]} that refer to nothing.",
                hint="Nothing was changed. `am doctor verify` lists what is wrong with the store.",
                data={"schema_version": migration.version},
            )
        fault_hook(FailPoint.MIGRATION)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def statements_of(sql: str) -> list[str]:
    """The statements of a script, one by one: `executescript` would commit before it begins."""
    statements, unfinished = [], ""
    for line in sql.splitlines(keepends=True):
        unfinished += line
        if sqlite3.complete_statement(unfinished):
            statements.append(unfinished)
            unfinished = ""
    assert not _without_comments(unfinished), "the script ends within a statement"
    return statements


def _without_comments(sql: str) -> str:
    return "".join(line for line in sql.splitlines() if not line.lstrip().startswith("--")).strip()


def _move_into_place(building: Path, place: Path) -> None:
    """Rename and make it last: the file's content, then the folder that names it. What a database that is gone has
    left there is kept under other names: SQLite would write it into the new one.
    """
    sync_path(building)
    for ending, stray in zip(DATABASE_ENDS, database_files(place), strict=True):
        if ending and os.path.lexists(stray):
            stray.replace(beside(place, f".stray{ending}"))
    building.replace(place)
    sync_path(place.parent)
