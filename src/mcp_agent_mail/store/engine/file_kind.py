"""Is a file an SQLite database at all? By its first bytes, without SQLite, which takes an empty file for its own."""

from __future__ import annotations

from pathlib import Path

_MAGIC = b"SQLite format 3"


def is_database_file(path: Path) -> bool:
    """Whether it begins as every SQLite database does, whosever it is. False too where there is none."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return False
