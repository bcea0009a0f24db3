"""What a look at a file finds to differ from what we wish for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """`line` counts from 1; None: it is not there at all."""

    what: str
    line: int | None
