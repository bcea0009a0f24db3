"""Which known name was probably meant: for hints only, nothing is ever matched by likeness."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

COMPARED = 100
"""So many characters of a name are looked at and repeated: comparing four million stopped the server for a second."""

_ALIKE = 0.6


def most_like(wanted: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """At most `limit` of the known names, best first."""
    return difflib.get_close_matches(wanted[:COMPARED], list(known), n=limit, cutoff=_ALIKE)


def likeness(wanted: str, known: str) -> float:
    """How alike two names are spelt, from 0 to 1; what `most_like` would not take for the same is 0."""
    like = difflib.SequenceMatcher(None, known, wanted[:COMPARED])
    ratio = like.ratio() if like.real_quick_ratio() >= _ALIKE and like.quick_ratio() >= _ALIKE else 0.0
    return ratio if ratio >= _ALIKE else 0.0
