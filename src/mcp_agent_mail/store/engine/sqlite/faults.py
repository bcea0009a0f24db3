"""Which SQLite errors are the world's fault (disk, locks, damage), and how they are told."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

from mcp_agent_mail.core.errors import KEYED, AgentMailError, Busy, Unavailable
from mcp_agent_mail.store.engine.sqlite.database_files import beside

# Not among them: SQLITE_READONLY, which is how a write on a reading connection looks.
_OUTSIDE_FAULTS = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
    }
)
_UNWRITABLE_FAULTS = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
"""What SQLite may say of a database that it may not write, beside other things."""
_UNWRITABLE_ERRNOS = (errno.EROFS, errno.EACCES, errno.EPERM)
_PRIMARY_CODE = 0xFF  # Extended result codes hold the primary one in their low byte.

WAYS_BACK = (
    "Go back to a backup (am doctor backups lists them): am doctor restore BACKUP. Or make the database anew from the "
    "archives: am doctor rebuild, which does not bring back what Git had not got yet."
)
"""To a database that can be used, for whoever has lost it or has one that is damaged."""


class StoreFailed(Busy):
    """SQLite could not do it: nothing of the call was answered as kept."""

    @classmethod
    def because(cls, cause: BaseException) -> StoreFailed:
        """What a caller is told of a fault of SQLite or the disk: nothing is sure, and whether room is what lacks. Of
        damage, which no further call mends, that it is, and the ways back.
        """
        if isinstance(cause, StoreFailed):
            return cause.reworded(hint=cause.hint, data=cause.data)
        if is_damage(cause):
            return StoreDamaged(cause)
        first = "Free some space on the disk of the store." if is_full(cause) else ""
        return cls(
            f"The store could not be used just now: {cause}. Nothing of this call is to be relied on.",
            first=first,
            otherwise=f"{KEYED}; `am doctor check` says what is wrong",
        )


class StoreDamaged(StoreFailed):
    """The database is not what SQLite wrote. Calling again helps nothing."""

    recoverable = False

    def __init__(self, cause: object) -> None:
        AgentMailError.__init__(
            self,
            f"The database of the store is damaged: {cause}. Nothing of this call is to be relied on.",
            hint=f"Stop the server, if one runs. {WAYS_BACK} `am doctor check` says what else is wrong.",
        )


class StoreUnwritable(Unavailable):
    """A part of the store that this process may not write; `data.path`. Who reads it writes too: locks, and marks."""

    recoverable = False

    def __init__(self, path: Path) -> None:
        reason = "it is mounted read-only" if _is_mounted_read_only(path) else _by_whom(path)
        super().__init__(
            f"{path} cannot be written, as whoever uses a store has to: {reason}.",
            hint="Mount it for writing, give this user the right to write, or run this as the user whose store it is. "
            "To look into one that has to stay as it is, copy its folder and name the copy by STORAGE_ROOT.",
            data={"path": str(path)},
        )


def read_only_mount(path: Path) -> Path | None:
    """The topmost folder, or the file itself, of what is mounted read-only at `path`; None where it is not."""
    if not _is_mounted_read_only(path):
        return None
    above = (path, *path.parents)
    return next(one for one in above if os.path.ismount(one) or not _is_mounted_read_only(one.parent))


def _is_mounted_read_only(path: Path) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def _by_whom(path: Path) -> str:
    own = os.geteuid()
    try:
        found = path.stat()
    except OSError:
        return f"user {own} may not even look at it"
    if found.st_uid == own:
        return f"it is this user's own, and its mode is {stat.S_IMODE(found.st_mode):04o}"
    return f"it is of user {found.st_uid}, and this process is of user {own}"


def may_be_unwritable(error: BaseException) -> bool:
    """Whether `told_unwritable` could tell it, if it comes of the store: before anybody looks where that is."""
    return any(
        one.errno in _UNWRITABLE_ERRNOS if isinstance(one, OSError) else _primary_code(one) in _UNWRITABLE_FAULTS
        for one in causes_of(error)
    )


def told_unwritable(error: BaseException, storage_root: Path, database: Path) -> StoreUnwritable | None:
    """What is told of an error that comes of a store which this process may not write; None for any other."""
    for one in causes_of(error):
        if isinstance(one, OSError) and one.errno in _UNWRITABLE_ERRNOS and isinstance(one.filename, str | bytes):
            path = Path.cwd() / os.fsdecode(one.filename)
            if path.is_relative_to(storage_root) or _is_databases(path, database):
                return StoreUnwritable(_refused(path))
        if _primary_code(one) in _UNWRITABLE_FAULTS:
            for path in (database, beside(database, "-wal"), beside(database, "-shm"), database.parent, storage_root):
                if not os.access(_there(path), os.R_OK | os.W_OK):
                    return StoreUnwritable(_there(path))
    return None


def _is_databases(path: Path, database: Path) -> bool:
    """Whether it is the database's file, or one that SQLite keeps beside it."""
    return path.parent == database.parent and path.name.startswith(database.name)


def _refused(path: Path) -> Path:
    """What cannot be written: it, where it is there and refused, else the folder that it is in or would be made in."""
    there = _there(path)
    above = there if there != path else there.parent
    return there if not os.access(there, os.R_OK | os.W_OK) or os.access(above, os.R_OK | os.W_OK) else above


def _there(path: Path) -> Path:
    """It, or the nearest folder above that is there."""
    return next((one for one in (path, *path.parents) if os.path.lexists(one)), path)


@contextmanager
def told_when_unwritable(storage_root: Path, database: Path) -> Iterator[None]:
    """Inside, what fails since the store may not be written is raised as StoreUnwritable."""
    try:
        yield
    except Exception as error:
        if (told := told_unwritable(error, storage_root, database)) is None:
            raise
        raise told from error


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """It, what it came of, and what its group holds: what failed first may be told by what failed while closing."""
    seen: dict[int, BaseException] = {}
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        yield one
        waiting += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]


def told_fault(error: BaseException) -> StoreFailed | None:
    """What a caller is told of an error that came out of SQLite; None for any other, and for what only a bug causes."""
    return StoreFailed.because(error) if is_outside_fault(error) else None


@contextmanager
def faults_told() -> Iterator[None]:
    """Raise StoreFailed for an outside fault within."""
    try:
        yield
    except sqlite3.Error as failed:
        if (told := told_fault(failed)) is None:
            raise
        raise told from failed


def is_outside_fault(error: BaseException | None) -> bool:
    """Whether SQLite raised it of a disk, a lock, damage or an interruption. False for what only a bug can cause: a
    broken constraint, a misspelt statement, a write by a reader.
    """
    return _primary_code(error) in _OUTSIDE_FAULTS


def is_full(error: BaseException) -> bool:
    """Whether the error says that the disk, or the bound of the database, has no room left."""
    return _primary_code(error) == sqlite3.SQLITE_FULL


def is_damage(error: BaseException) -> bool:
    """Whether the error says that the file itself is not, or not any more, what SQLite wrote."""
    return _primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _primary_code(error: BaseException | None) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & _PRIMARY_CODE if isinstance(code, int) else None


_Place = tuple[int, int]
"""The disk, and the number of the file there."""


TAKEN_AWAY = "A file of the database that this server has open was deleted, moved or replaced"
"""How what `DatabaseTakenAway` says begins, by which a command knows it in what a server says of its health."""


class DatabaseTakenAway(StoreFailed):
    """What is under the name of the database, or of its log, is not what this server has open; `data.path`. Whatever
    it wrote would be lost when it stops.
    """

    recoverable = False

    def __init__(self, path: Path, *, is_database: bool = True) -> None:
        AgentMailError.__init__(
            self,
            f"{TAKEN_AWAY}, so nothing is written: it would be lost. Nothing of this call was kept; reading goes on "
            "where the file was open before.",
            hint=(_DATABASE_GONE if is_database else _LOG_GONE).format(path=path),
            data={"path": str(path)},
        )


_DATABASE_GONE = (
    "Put that very file back to {path}: writes then go on by themselves. If it is gone for good, read here what you "
    f"need before you stop the server, which ends the last of it. {WAYS_BACK}"
)
_LOG_GONE = (
    "Put that very file back to {path}: writes then go on by themselves. If it is gone, all mail is still there: stop "
    "the server as usual (Ctrl-C, SIGTERM; no SIGKILL, which would lose the newest), which carries it over into the "
    "database, start it again, then run `am doctor check`."
)
"""SQLite goes on with what it has open, and writes it back at the last close."""


class OpenFiles:
    """Of a database that was opened for writing just now: whether its files are still those under their names.

    SQLite writes on into files that somebody has deleted, or has put others in the place of: every COMMIT succeeds, and
    all of it is gone once they are closed. Nothing is opened to find out: whoever closes a file lets go of the locks
    that SQLite has on it.
    """

    def __init__(self, database: Path) -> None:
        places = (database, beside(database, "-wal"), beside(database, "-shm"))
        self._found = [(str(path), _place_of(str(path))) for path in places if path.exists()]
        self._turns = cycle(self._found[1:] or self._found)

    def require_in_place(self) -> None:
        """Raise DatabaseTakenAway."""
        for path, place in self._found:
            if _has_left(path, place):
                raise DatabaseTakenAway(Path(path), is_database=path == self._found[0][0])

    def glance(self) -> None:
        """As `require_in_place`, before every COMMIT and on the writer's thread alone: of the database at once, of its
        log and the log's index by the next but one. A few microseconds.
        """
        for path, place in (self._found[0], next(self._turns)):
            if _has_left(path, place):
                self.require_in_place()

    def fault_of(self, error: BaseException) -> StoreFailed:
        """What a caller is told of an outside fault: of files that are not in their places that alone, as it explains
        whatever was read.
        """
        try:
            self.require_in_place()
        except DatabaseTakenAway as taken:
            return taken
        return StoreFailed.because(error)

    @contextmanager
    def held_in_place(self) -> Iterator[None]:
        """For what opens the database by its name, reads and closes it: raises DatabaseTakenAway, with nothing opened
        where that is known before, and instead of an answer of another file.
        """
        self.require_in_place()
        try:
            yield
        except sqlite3.Error:
            self.require_in_place()
            raise
        self.require_in_place()

    @property
    def problem(self) -> str | None:
        """What health says; None while nothing is wrong."""
        try:
            self.require_in_place()
        except DatabaseTakenAway as taken:
            return taken.text
        return None


def _place_of(path: str) -> _Place:
    # Twice as fast as `Path.stat`, which matters before every COMMIT.
    found = os.stat(path)  # noqa: PTH116
    return found.st_dev, found.st_ino


def _has_left(path: str, place: _Place) -> bool:
    """False where nobody can say, as in a folder that may not be looked into any more."""
    try:
        return _place_of(path) != place
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
