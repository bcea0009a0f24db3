"""Is a file an SQLite database at all? By its first bytes, without SQLite, which takes an empty file for its own."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.plain_files import NOT_PLAIN, open_plain
from mcp_agent_mail.domain.own_files import is_sqlite

_ENOUGH = 100
"""The header of a database; less of it tells as well."""


def is_sqlite_file(path: Path) -> bool:
    """Whether it begins as every SQLite database does, whosever it is. False too where there is none, or no file."""
    try:
        with open(open_plain(path), "rb") as file:  # noqa: PTH123  # of a descriptor
            return is_sqlite(file.read(_ENOUGH))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as unfit:
        if unfit.errno not in NOT_PLAIN:
            raise
        return False
