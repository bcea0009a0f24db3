"""Facts of a neighbour's wire, each a row that a test shows. The page about neighbours is made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Shown = TypeVar("Shown", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """`says` is Markdown for the page, in a cell of a table. `otherwise`: here it is not as there."""

    id: str
    says: str
    otherwise: bool = False


def shows(*facts: str) -> Callable[[Shown], Shown]:
    """Marks a test by the facts that it shows."""

    def mark(test: Shown) -> Shown:
        test.__dict__["shows"] = facts
        return test

    return mark


def shown_by(module: Any) -> set[str]:
    """What the tests of a module are marked to show."""
    tests = [value for name, value in vars(module).items() if name.startswith("test_")]
    return {fact for test in tests for fact in getattr(test, "shows", ())}
