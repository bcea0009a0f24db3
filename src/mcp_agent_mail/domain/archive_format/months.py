"""Months of an archive: which files lie in one, and in which folders those may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.archive_format.leases import FOLDERS
from mcp_agent_mail.domain.archive_format.overdue_notices import OVERDUE_FOLDER

_OF_A_MONTH = lazy_pattern(
    r"(?:messages|receipts|agents/[^/]+/(?:inbox|outbox|overdue|receipts)|(?:file_reservations|build_slots)/released)/([0-9]{4})/([0-9]{2})/"
)


class UnknownMonth(NotFound):
    """The archive has no files of this month."""


def month_of(path: str) -> str | None:
    """The month (`2026-11`) in whose folder a file lies; None for what belongs to no month."""
    found = _OF_A_MONTH.match(path)
    return None if found is None else f"{found[1]}-{found[2]}"


def require_month(text: str) -> str:
    """`2026-11` as it came. Raises InvalidInput for anything else."""
    month = text.strip()
    if not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", month):
        raise InvalidInput(f"{text!r:.100} is no month.", hint="Write it as YYYY-MM, for example 2026-11.")
    return month


def month_folders(month: str, agents: Iterable[str]) -> Iterator[str]:
    """Every folder in which files of a month may lie."""
    year_and_month = month.replace("-", "/")
    for folder in ("messages", "receipts", *(f"{leases}/released" for leases in FOLDERS.values())):
        yield f"{folder}/{year_and_month}"
    for agent in agents:
        for box in ("inbox", "outbox", OVERDUE_FOLDER, "receipts"):
            yield f"agents/{agent}/{box}/{year_and_month}"
