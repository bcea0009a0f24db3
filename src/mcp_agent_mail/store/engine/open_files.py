"""Whether the database that is open is still the one under its name.

SQLite writes on into files that somebody has deleted, or has put others in the place of: every COMMIT succeeds, and all
of it is gone once they are closed. Nothing is opened to find out: whoever closes a file lets go of the locks that
SQLite has on it.
"""

from __future__ import annotations

import os
from itertools import cycle
from pathlib import Path

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.store.engine.database_files import beside
from mcp_agent_mail.store.engine.faults import WAYS_BACK, StoreFailed

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
    """Of a database that was opened for writing just now."""

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
