"""Whether a text holds what a query asks for, told by the text alone: for queries that are dear to ask the index. Pure.

The index finds a beginning by all words that begin so, in the whole store: of one letter in a million messages that
takes seconds. Any forty messages have words with most such beginnings.
"""

from __future__ import annotations

from mcp_agent_mail.domain.search.query import BODY, SUBJECT, Both, Either, Node, Phrase, SearchQuery, Without
from mcp_agent_mail.domain.search.ranking import folded, pattern_of, words_of

MAX_LETTERS = 4
"""Of a beginning that so many words have that mail is better read than the index asked."""


def has_short_beginning(query: SearchQuery) -> bool:
    """Whether a word of it is a beginning of so few letters, and all of it can be told by texts."""
    return _is_told_by_text(query.node) and any(map(_is_short, _phrases(query.node)))


def _is_told_by_text(node: Node) -> bool:
    match node:
        case Phrase():
            return not node.is_initial and bool(words_of(node))
        case Without():
            return _is_told_by_text(node.wanted) and _is_told_by_text(node.unwanted)
        case Either() | Both():
            return all(map(_is_told_by_text, node.parts))
        case _:
            return False


def _phrases(node: Node) -> list[Phrase]:
    match node:
        case Phrase():
            return [node]
        case Without():
            return _phrases(node.wanted) + _phrases(node.unwanted)
        case Either() | Both():
            return [phrase for part in node.parts for phrase in _phrases(part)]
        case _:
            return []


def _is_short(phrase: Phrase) -> bool:
    return phrase.is_prefix and len(words_of(phrase)[-1]) <= MAX_LETTERS


def holds(query: SearchQuery, subject: str, body: str) -> bool:
    """Whether the index would find a message of these texts, if it is one that `has_short_beginning`."""
    return _holds(query.node, {SUBJECT: folded(subject), BODY: folded(body)})


def _holds(node: Node, texts: dict[str, str]) -> bool:
    match node:
        case Phrase():
            return any(_is_in(node, texts[column]) for column in node.columns)
        case Without():
            return _holds(node.wanted, texts) and not _holds(node.unwanted, texts)
        case Both():
            return all(_holds(part, texts) for part in node.parts)
        case Either():
            return any(_holds(part, texts) for part in node.parts)
        case _:
            return False


def _is_in(phrase: Phrase, text: str) -> bool:
    pattern = pattern_of(phrase, for_ascii=text.isascii())
    return pattern is not None and pattern.search(text) is not None


def is_in_subject(query: SearchQuery, subject: str) -> bool:
    """Whether one of the phrases that its hits are ranked by stands there."""
    text = folded(subject)
    return any(_is_in(phrase, text) for phrase in query.phrases)
