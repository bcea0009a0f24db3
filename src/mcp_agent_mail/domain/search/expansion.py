"""What bare words are looked for when too little holds all of them: other forms, some of the words, parts of names.

Bare words are a wish, operators are an order: a query with quotes, signs or operators is never widened.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.search.identifiers import part_of_name
from mcp_agent_mail.domain.search.query import Phrase, SearchQuery, is_unspaced, written_phrase
from mcp_agent_mail.domain.search.stemming import STOP_WORDS, forms_of, stem_of

ENOUGH = 10
"""Hits of all the words; with fewer, a search for bare words is widened."""
MAX_TERMS = 6
"""So many words are looked for one by one. The expression for two of them names each up to MAX_TERMS times."""
_RUN = 2


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a query: as it was written, its other `forms` (folded, they begin with `stem`), and `names` that
    hold it in their inside.
    """

    phrase: Phrase
    stem: str = ""
    forms: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def terms_of(query: SearchQuery, names: Mapping[str, Sequence[str]] = MappingProxyType({})) -> list[Term]:
    """What to look for besides the whole query; nothing when it is not to be widened.

    `names` are those that hold a word, by the word's text. Words that say nothing by themselves are left out.
    """
    terms = [_term(word, tuple(names.get(word.text, ()))) for word in _telling(query)[:MAX_TERMS]]
    if len(terms) == 1 and not terms[0].names:
        terms += _runs(terms[0].phrase)
    return terms


def parts_of_names(query: SearchQuery) -> dict[str, str]:
    """The bare words that may stand inside of names, by their text: as names are compared."""
    parts = {word.text: part_of_name(word.text) for word in _telling(query)[:MAX_TERMS]}
    return {text: part for text, part in parts.items() if part is not None}


def _telling(query: SearchQuery) -> Sequence[Phrase]:
    return [word for word in query.bare_words if word.text.lower() not in STOP_WORDS] or query.bare_words


def _term(word: Phrase, names: tuple[str, ...]) -> Term:
    folded = word.text.lower()
    return Term(word, stem_of(folded), forms_of(folded)[1:], names)


def _runs(word: Phrase) -> list[Term]:
    """The neighbouring pairs of a long run of characters that are written without blanks."""
    if len(word.text) <= _RUN or not all(is_unspaced(character) for character in word.text):
        return []
    pairs = [word.text[at : at + _RUN] for at in range(len(word.text) - 1)]
    return [Term(Phrase(pair)) for pair in dict.fromkeys(pairs)][: MAX_TERMS - 1]


def expressions(terms: Sequence[Term], known: Collection[str]) -> list[str]:
    """Index expressions, to be tried one after the other: at least two of the terms, if there are as many, then each by
    itself.

    Only `known` forms are named, which are in the index.
    """
    each = [_any_of(term, known) for term in terms]
    two = [f"({one} AND ({' OR '.join(each[at:])}))" for at, one in enumerate(each[:-1], start=1)]
    return [" OR ".join(two), *each] if two else each


def every_term(terms: Sequence[Term]) -> str:
    """The index expression for mail that has each of the terms, as it was written or in a name."""
    return " AND ".join(_any_of(term, ()) for term in terms)


def _any_of(term: Term, known: Collection[str]) -> str:
    texts = [form for form in term.forms if form in known] + list(term.names)
    return f"({' OR '.join(map(written_phrase, (term.phrase, *map(Phrase, texts))))})"


def shown_phrases(terms: Sequence[Term]) -> list[Phrase]:
    """What a snippet is to show: the words as they were asked for, else what stands for them."""
    names = [Phrase(name) for term in terms for name in term.names]
    stems = [Phrase(term.stem, is_prefix=True) for term in terms if term.stem]
    return [*(term.phrase for term in terms), *names, *stems]
