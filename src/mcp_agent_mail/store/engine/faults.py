"""Which SQLite errors are the world's fault (disk, locks, damage), and how they are told."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from mcp_agent_mail.core.errors import Busy

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
_PRIMARY_CODE = 0xFF  # Extended result codes hold the primary one in their low byte.


class StoreFailed(Busy):
    """SQLite could not do it: nothing of the call was answered as kept."""

    @classmethod
    def because(cls, cause: BaseException) -> Self:
        """What a caller is told of a fault of SQLite or the disk: nothing is sure, and whether room is what lacks."""
        lacks_room = isinstance(cause, sqlite3.Error) and is_full(cause)
        first = "Free some space on the disk of the store." if lacks_room else ""
        return cls(
            f"The store could not be used just now: {cause}. Nothing of this call is to be relied on.",
            first=first,
            otherwise=" (a send with its idempotency_key); `am doctor check` says what is wrong",
        )


@contextmanager
def faults_told() -> Iterator[None]:
    """Raise StoreFailed for an outside fault within."""
    try:
        yield
    except sqlite3.Error as failed:
        if not is_outside_fault(failed):
            raise
        raise StoreFailed.because(failed) from failed


def is_outside_fault(error: sqlite3.Error) -> bool:
    """False for what only a bug can cause: a broken constraint, a misspelt statement, a write by a reader."""
    return _primary_code(error) in _OUTSIDE_FAULTS


def is_full(error: sqlite3.Error) -> bool:
    """Whether the error says that the disk, or the bound of the database, has no room left."""
    return _primary_code(error) == sqlite3.SQLITE_FULL


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the error says that the file itself is not, or not any more, what SQLite wrote."""
    return _primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _primary_code(error: sqlite3.Error) -> int | None:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY_CODE
