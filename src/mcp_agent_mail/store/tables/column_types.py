"""What several tables share: text without case, and the condition of a partial index."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Text, text

NO_CASE = Text(collation="NOCASE")


def where(condition: str) -> dict[str, Any]:  # keyword arguments of Index: SQLAlchemy's own type
    """The keyword arguments of an Index over only those rows for which `condition`, plain SQL, is true."""
    return {"sqlite_where": text(condition)}
