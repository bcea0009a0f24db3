"""How everything is called that lies beside a database: its log, copies, locks, what is built, what is kept.

Whoever writes there asks for the name here, so that all of it is known as the store's, wherever the database lies.
"""

from __future__ import annotations

import os
from itertools import cycle
from pathlib import Path

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.store.engine.faults import WAYS_BACK, StoreFailed

KEPT_FOLDER = "kept"
"""What a rebuild has replaced, by time: beside a database, and below STORAGE_ROOT."""

UNDO_FOLDER = "undo"
"""What a restore has replaced, by time: below STORAGE_ROOT; of a database elsewhere beside it, behind its name."""

DATABASE_ENDS = ("", "-wal", "-shm", "-journal")
"""A database, and what SQLite writes beside it: read with it, whatever database lies there by then."""

REBUILT_ENDING = ".rebuilt"

_AFTER_THE_NAME = ("-", ".")


def beside(database: Path, ending: str) -> Path:
    """A file or folder of the database's: `ending`, which begins with `-` or `.`, follows its name."""
    assert ending.startswith(_AFTER_THE_NAME), ending
    return database.with_name(f"{database.name}{ending}")


def hidden_beside(database: Path, ending: str) -> Path:
    """As `beside`, out of a person's sight: for what is being built."""
    assert ending.startswith(_AFTER_THE_NAME), ending
    return database.with_name(f".{database.name}{ending}")


def database_files(database: Path) -> list[Path]:
    """The database itself first, whether all of them are there or not."""
    return [database.with_name(f"{database.name}{ending}") for ending in DATABASE_ENDS]


def unfinished(database: Path) -> Path:
    """Where what is to be `database` is made until it is whole."""
    return beside(database, ".new")


def rebuilt_aside(database: Path) -> Path:
    """Where a rebuild makes what is to take its place."""
    return beside(database, REBUILT_ENDING)


def remove_unfinished(database: Path) -> None:
    """Remove a database that nobody has use for, and what was being made into it, whether they are there or not."""
    remove_database(database)
    remove_database(unfinished(database))


def remove_database(database: Path) -> None:
    """Remove it with what SQLite has written beside it, whether they are there or not."""
    for file in database_files(database):
        file.unlink(missing_ok=True)


def kept_folder(parent: Path) -> Path:
    """Where lies, by time, what a rebuild has replaced: in STORAGE_ROOT, or in the folder of a database elsewhere."""
    return parent / KEPT_FOLDER


def is_of_database(name: str, database_name: str) -> bool:
    """Is it the name of the database, or one that this module gives for it? In any letter case."""
    name, own = name.casefold(), database_name.casefold()
    rest = name.removeprefix(".")
    return name in (own, KEPT_FOLDER) or (rest.startswith(own) and rest[len(own) :].startswith(_AFTER_THE_NAME))


_Place = tuple[int, int]
"""The disk, and the number of the file there."""


class DatabaseTakenAway(StoreFailed):
    """What is under the name of the database, or of its log, is not what this server has open; `data.path`. Whatever
    it wrote would be lost when it stops.
    """

    recoverable = False

    def __init__(self, path: Path) -> None:
        AgentMailError.__init__(
            self,
            "A file of the database that this server has open was deleted, moved or replaced, so nothing is "
            "written: it would be lost. Nothing of this call was kept; reading goes on.",
            hint=f"Put that very file back to {path}: writes then go on by themselves. If it is gone for good, read "
            f"here what you need before you stop the server, which ends the last of it. {WAYS_BACK}",
            data={"path": str(path)},
        )


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
                raise DatabaseTakenAway(Path(path))

    def glance(self) -> None:
        """As `require_in_place`, before every COMMIT and on the writer's thread alone: of the database at once, of its
        log and the log's index by the next but one. A few microseconds.
        """
        for path, place in (self._found[0], next(self._turns)):
            if _has_left(path, place):
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
