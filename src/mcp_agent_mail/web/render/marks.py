"""Words that were looked for, marked in a text of peers. Each piece is made visible and escaped; only the marks are
ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.domain.search.query import Phrase
from mcp_agent_mail.domain.search.ranking import folded, pattern_of

MOST_MARKS = 50


def marked(text: str, phrases: Sequence[Phrase]) -> Markup:
    """HTML: `text` with `<mark>` around each place where one of the phrases stands."""
    pieces: list[Markup] = []
    at = 0
    for start, end in _places(text, phrases):
        pieces += [_plain(text[at:start]), Markup("<mark>"), _plain(text[start:end]), Markup("</mark>")]
        at = end
    return Markup("").join([*pieces, _plain(text[at:])])


def _plain(text: str) -> Markup:
    return escape(visible(text))


def _places(text: str, phrases: Sequence[Phrase]) -> Iterator[tuple[int, int]]:
    """In order, none within another."""
    searched = folded(text)
    if len(searched) != len(text):  # Positions would not carry over.
        return
    patterns = [pattern_of(phrase, for_ascii=searched.isascii()) for phrase in phrases]
    found = sorted(match.span() for pattern in patterns if pattern is not None for match in pattern.finditer(searched))
    last = 0
    for start, end in found[:MOST_MARKS]:
        if start >= last and end > start:
            yield start, end
            last = end
