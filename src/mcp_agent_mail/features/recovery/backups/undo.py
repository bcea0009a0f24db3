"""The store that a restore replaced, kept whole for the way back: `STORAGE_ROOT/undo/<time>-n<number>/`, the newest
two by their numbers.

A database that lies outside of STORAGE_ROOT is kept beside its place instead, since a rename leads no further.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from mcp_agent_mail.core.clock import Clock, to_datetime
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.recovery.backups.place import FOLDERS, StorePlace
from mcp_agent_mail.features.recovery.numbered_names import next_name, oldest_first
from mcp_agent_mail.store.engine.sqlite.database_files import UNDO_FOLDER, beside, database_files, hidden_beside
from mcp_agent_mail.store.engine.sqlite.numbers import read_numbers
from mcp_agent_mail.store.engine.sqlite.schema import ForeignParts, require_own_schema
from mcp_agent_mail.store.engine.sqlite.swap_places import Move

STORES_KEPT = 2
_OWNER_ONLY = 0o700


class NothingToUndo(NotFound):
    """No restore has replaced a store here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreParts:
    """A whole store that is not in its place: built aside, or kept. Any part may be missing."""

    folder: Path
    database: Path

    def moves_into(self, place: StorePlace, kept: StoreParts) -> Iterator[Move]:
        """What puts it in its place and keeps what lies there; a part that it has not only leaves."""
        files = (database_files(one.database) for one in (self, kept))
        for there, built, kept_file in zip(database_files(place.database_path), *files, strict=True):
            yield from _move(there, built, kept_file)
        for name in FOLDERS:
            yield from _move(place.storage_root / name, self.folder / name, kept.folder / name)


def _move(place: Path, built: Path, kept: Path) -> Iterator[Move]:
    if built.exists():
        yield Move(place=place, built=built, kept=kept)
    elif place.exists():
        yield Move(place=place, built=None, kept=kept)


def built_in(folder: Path, place: StorePlace) -> StoreParts:
    """Where a store is built that is to take the place of the one at `place`."""
    inside = _is_inside(place)
    name = place.database_path.name
    return StoreParts(
        folder=folder, database=folder / name if inside else hidden_beside(place.database_path, ".restoring")
    )


def new_undo(place: StorePlace, clock: Clock) -> StoreParts:
    """A place of its own for what is about to be replaced."""
    folder = place.storage_root / UNDO_FOLDER
    folder.mkdir(mode=_OWNER_ONLY, exist_ok=True)
    others = (path.name for path in folder.iterdir())
    path = folder / next_name(to_datetime(clock()).strftime("%Y-%m-%dT%H%M%S.%fZ"), others)
    path.mkdir(mode=_OWNER_ONLY)
    sync_path(folder)
    sync_path(place.storage_root)
    return _kept_at(path, place)


def newest_undo(place: StorePlace) -> StoreParts:
    """The one that was replaced last, whatever the clock said. Raises NothingToUndo."""
    for path in reversed(_all(place)):
        kept = _kept_at(path, place)
        if _holds_store(kept):
            return kept
    raise NothingToUndo(
        f"There is no store in {place.storage_root / UNDO_FOLDER} to go back to: no restore has replaced one.",
        hint="`am doctor backups` lists the backups: `am doctor restore BACKUP` goes back to one.",
    )


@contextmanager
def kept_told(kept: StoreParts) -> Iterator[None]:
    """ForeignParts, with what helps of a database that is kept: what is said of one in its place does not."""
    try:
        yield
    except ForeignParts as foreign:
        folder, database = quote(str(kept.folder)), quote(str(kept.database))
        raise foreign.reworded(
            hint="The store that is in place stays. What you have added to that database yourself, take out of it "
            f"(sqlite3 {database}: DROP TRIGGER, DROP INDEX, DROP TABLE), then run am doctor restore --undo. Else go "
            f"back to its archives alone: STORAGE_ROOT={folder} am doctor rebuild --into DIR, then am doctor restore "
            "DIR.",
            data=foreign.data,
        ) from foreign


def why_no_undo(place: StorePlace) -> str:
    """What a person is told of the store that was just replaced, where nobody could be served with it again."""
    kept = newest_undo(place)
    if read_numbers(kept.database) is None:
        return ""
    try:
        with kept_told(kept):
            require_own_schema(kept.database)
    except ForeignParts as foreign:
        return f"The store that was replaced cannot be gone back to as it is (am doctor restore --undo). {foreign.text}"
    return ""


def surplus(kept: StoreParts, built: StoreParts, place: StorePlace) -> list[StoreParts]:
    """The stores that go once `kept` is one of them, and `built` in place: a second restore leaves the first one's."""
    others = [_kept_at(path, place) for path in _all(place) if path not in (kept.folder, built.folder)]
    return [other for other in others if _holds_store(other)][: -(STORES_KEPT - 1)]


def leftovers(kept: StoreParts, built: StoreParts, place: StorePlace) -> Iterator[Path]:
    """What they consist of, and what an interrupted restore left."""
    gone = surplus(kept, built, place)
    for path in _all(place):
        other = _kept_at(path, place)
        if path not in (kept.folder, built.folder) and (other in gone or not _holds_store(other)):
            yield from database_files(other.database)
            yield path
    yield built.folder


def _holds_store(kept: StoreParts) -> bool:
    return kept.database.exists() or any((kept.folder / name).exists() for name in FOLDERS)


def _all(place: StorePlace) -> list[Path]:
    folder = place.storage_root / UNDO_FOLDER
    if not folder.is_dir():
        return []
    return oldest_first(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())


def _kept_at(path: Path, place: StorePlace) -> StoreParts:
    name, elsewhere = place.database_path.name, beside(place.database_path, f".{UNDO_FOLDER}-{path.name}")
    return StoreParts(folder=path, database=path / name if _is_inside(place) else elsewhere)


def _is_inside(place: StorePlace) -> bool:
    return place.database_path.parent.resolve() == place.storage_root.resolve()
