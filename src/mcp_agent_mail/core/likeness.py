"""Which known name was probably meant: for hints only, nothing is ever matched by likeness."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

COMPARED = 100
"""So many characters of a name are looked at and repeated: comparing four million stopped the server for a second."""


def most_like(wanted: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """At most `limit` of the known names, best first."""
    return difflib.get_close_matches(wanted[:COMPARED], list(known), n=limit)
