"""Code in colours, by classes alone; what is large, or takes long, stays plain."""

from __future__ import annotations

import time
from collections.abc import Iterable

from markupsafe import Markup, escape
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

HIGHLIGHTED_CHARACTERS = 100 * 1024
WITHIN_S = 0.2
LANGUAGE_CLASS = "code"
TOKEN_CLASSES = frozenset(f"t-{short}" for short in STANDARD_TYPES.values() if short)
"""Ours have a prefix, so that no writer of a body borrows a class of the page."""

_LOOKED_AT_EVERY = 200


def highlighted(text: str, language: str) -> Markup:
    """`text` as HTML. It is plain without a language that is known, beyond HIGHLIGHTED_CHARACTERS, and after
    WITHIN_S of work.
    """
    if not language or len(text) > HIGHLIGHTED_CHARACTERS:
        return escape(text)
    try:
        lexer = get_lexer_by_name(language[:50])
    except ClassNotFound:
        return escape(text)
    found = _within(lexer.get_tokens_unprocessed(text), time.monotonic() + WITHIN_S)
    if found is None or "".join(value for _, value in found) != text:
        return escape(text)
    return Markup("".join(_coloured(short, value) for short, value in found))  # noqa: S704  # each is escaped


def _within(tokens: Iterable[tuple[int, object, str]], deadline: float) -> list[tuple[str, str]] | None:
    """None where the deadline passes. A lexer works between two tokens for as long as a regular expression takes."""
    found = []
    for number, (_, kind, value) in enumerate(tokens):
        if number % _LOOKED_AT_EVERY == 0 and time.monotonic() > deadline:
            return None
        found.append((_short(kind), value))
    return found


def _short(kind: object) -> str:
    return str(STANDARD_TYPES.get(kind, ""))


def _coloured(short: str, value: str) -> str:
    """HTML; `short` is one of Pygments' own names."""
    return f'<span class="t-{short}">{escape(value)}</span>' if short else str(escape(value))
