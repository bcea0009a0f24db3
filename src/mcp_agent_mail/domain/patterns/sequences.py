"""The one algorithm of the engine: sequences with gaps, and whether two of them have something in common.

A name with `*` is pieces of characters with gaps between them, a path with `**` is pieces of names with
gaps between them. A gap takes any number of elements. Two such sequences meet when one sequence of
elements fits both:

- Both have gaps: when the elements before the first gap fit each other from the front, and those after
  the last gap from the back. What is left of both in between can simply be written one after the other,
  and each one's gap takes in the other's part.
- One has none: every piece of the other takes the first place left where it fits (a later place never
  helps), the first piece at the front, the last at the back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mcp_agent_mail.domain.patterns.budget import WorkBudget

# Elements are of one kind in a call (characters or names), which only `fits` looks at; a piece of plain
# characters is a `str`, and then the string's own search is used.
Piece = Sequence[Any]
Fits = Callable[[Any, Any, WorkBudget], bool]


def meet(a: Sequence[Piece], b: Sequence[Piece], fits: Fits, work: WorkBudget) -> bool:
    """Whether some sequence fits both. Every element must be able to fit something: a gap takes it in unseen."""
    if len(a) == 1:
        return _fixed_meets(a[0], b, fits, work)
    if len(b) == 1:
        return _fixed_meets(b[0], a, fits, work)
    front = min(len(a[0]), len(b[0]))
    back = min(len(a[-1]), len(b[-1]))
    return _fit_at(a[0][:front], b[0], 0, fits, work) and _fit_at(
        a[-1][len(a[-1]) - back :], b[-1], len(b[-1]) - back, fits, work
    )


def _fixed_meets(fixed: Piece, pieces: Sequence[Piece], fits: Fits, work: WorkBudget) -> bool:
    head = pieces[0]
    if len(pieces) == 1:
        return len(fixed) == len(head) and _fit_at(head, fixed, 0, fits, work)
    last = pieces[-1]
    end = len(fixed) - len(last)
    if end < len(head) or not (_fit_at(head, fixed, 0, fits, work) and _fit_at(last, fixed, end, fits, work)):
        return False
    at = len(head)
    for piece in pieces[1:-1]:
        at = _first_fit(piece, fixed, at, end, fits, work)
        if at < 0:
            return False
        at += len(piece)
    return True


def _first_fit(piece: Piece, fixed: Piece, start: int, end: int, fits: Fits, work: WorkBudget) -> int:
    """Where `piece` first fits within `fixed[start:end]`, or -1."""
    if isinstance(piece, str) and isinstance(fixed, str):
        work.spend(2 + (end - start) // 64)
        return fixed.find(piece, start, end)
    for at in range(start, end - len(piece) + 1):
        if _fit_at(piece, fixed, at, fits, work):
            return at
    return -1


def _fit_at(piece: Piece, fixed: Piece, at: int, fits: Fits, work: WorkBudget) -> bool:
    """Whether `piece` fits element by element at that place of `fixed`, which is long enough."""
    if isinstance(piece, str) and isinstance(fixed, str):
        work.spend(1)
        return fixed.startswith(piece, at)
    return all(fits(element, fixed[index], work) for index, element in enumerate(piece, at))
