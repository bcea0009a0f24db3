"""Which of the messages found matter most, and what part of one to show. Pure.

BM25 over the candidates, a word in the subject counting SUBJECT_WEIGHT times, times what the message's age,
importance and share of the query's words make of it; and a thread's messages lift one another. The weights
were tuned on one half of the judged queries (tests/relevance), and every one lies on a plateau. It is computed here and
not by the index, because the index counts every hit of every word of the query for its own, in the
whole store: 0.5 ms at 10,000 messages, 15 ms at 100,000, and so on. Here the cost is that of the
candidates: 1 ms for 200, however large the store.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from mcp_agent_mail.core.clock import SECOND
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.domain.search.expansion import Term
from mcp_agent_mail.domain.search.query import BODY, SUBJECT, UNSPACED, Phrase, is_unspaced, spaced_out

SUBJECT_WEIGHT = 5.0
QUOTED_WEIGHT = 0.5
"""Of words in lines that begin with `>`: somebody else said them before."""
OTHER_FORM = 0.5
THREAD_SHARE = 0.4
RECENCY = 0.2
HALF_LIFE_DAYS = 30
IMPORTANCE = {Importance.LOW: -0.05, Importance.NORMAL: 0.0, Importance.HIGH: 0.05, Importance.URGENT: 0.1}
MAX_WORDS = 16
"""So much of a phrase is looked for when hits are ranked: one that repeats itself costs its length at each place."""
_SATURATION = 1.2
_LENGTH_WEIGHT = 0.3
_DAY = 86_400 * SECOND

SNIPPET_CHARACTERS = 200
_BEFORE_MATCH = 60
_EDGE = 12
_PIECE = 256
"""Texts are folded by so many characters: marks on one letter are put in order, at the square of how many there are."""

_QUOTED = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_COMBINING = re.compile(r"[\u0300-\u036f]+")
_WORD = re.compile(r"[^\W_]+")
_BLANK = re.compile(r"\s")
_IN_WORD = rf"[^\W_{UNSPACED}]"
_IN_ASCII_WORD = "[a-z0-9]"


# A tuple: these are made by the hundred for a search, and a frozen dataclass costs three times as much.
class RankedText(NamedTuple):
    """What is ranked: a message's subject and the beginning of its body. `is_exact`: found by the query as written."""

    subject: str
    body: str
    created_ts: int = 0
    importance: Importance = Importance.NORMAL
    thread: str = ""
    is_exact: bool = True


def folded(text: str) -> str:
    """As the index compares: letter case and the accents of letters do not count."""
    lower = text.lower()
    if text.isascii():
        return lower
    pieces, at = [], 0
    while at < len(lower):
        # At a blank, if there is one: what is written as several characters is in one piece.
        end = at + _PIECE if len(lower) - at <= _PIECE else lower.rfind(" ", at, at + _PIECE) + 1 or at + _PIECE
        pieces.append(_without_accents(lower[at:end]))
        at = end
    return "".join(pieces)


def _without_accents(text: str) -> str:
    return unicodedata.normalize("NFC", _COMBINING.sub("", unicodedata.normalize("NFD", text)))


def words_of(phrase: Phrase) -> list[str]:
    """The first words of the phrase as the index splits them, folded."""
    return _WORD.findall(spaced_out(folded(phrase.text)))[:MAX_WORDS]


@lru_cache(maxsize=256)
def pattern_of(phrase: Phrase, *, for_ascii: bool = False) -> re.Pattern[str] | None:
    """Finds the phrase in folded text; None when it cannot be there.

    `for_ascii` patterns are for ASCII text alone: to compile the others, which know every script
    written without blanks, takes 1.5 ms, more than a whole search.
    """
    words = words_of(phrase)
    if not words or (for_ascii and not "".join(words).isascii()):
        return None
    in_word = _IN_ASCII_WORD if for_ascii else _IN_WORD
    # The look-behind stands after the first word: so the pattern begins with plain text, which `re` finds fast.
    first = re.escape(words[0])
    pattern = first if is_unspaced(words[0]) else f"{first}(?<!{in_word}{first})"
    for previous, word in pairwise(words):
        apart = "*" if is_unspaced(previous) or is_unspaced(word) else "+"
        pattern += rf"[\W_]{apart}{re.escape(word)}"
    if not phrase.is_prefix and not is_unspaced(words[-1]):
        pattern += f"(?!{in_word})"
    return re.compile(pattern)


class _Finder:
    """One term with its patterns, each made when the first text that needs it comes."""

    def __init__(self, term: Term) -> None:
        self._exact = [term.phrase, *map(Phrase, term.names)]
        self._begin = term.stem
        self._forms = [form[len(self._begin) :] for form in sorted(term.forms, key=len, reverse=True)]
        # Plain text is looked for first: several times faster than a pattern.
        self._firsts = [words[0] if (words := words_of(phrase)) else None for phrase in self._exact]
        self._patterns: dict[tuple[int, bool], re.Pattern[str] | None] = {}

    def counts(self, texts: Sequence[str]) -> list[float]:
        """Mentions in each folded text; one of another form counts OTHER_FORM."""
        found = self._mentions(texts, 0, self._firsts[0])
        for number, first in enumerate(self._firsts[1:], start=1):
            found = [count + more for count, more in zip(found, self._mentions(texts, number, first), strict=True)]
        if self._forms:
            others = self._mentions(texts, len(self._exact), self._begin)
            found = [count + OTHER_FORM * more for count, more in zip(found, others, strict=True)]
        return found

    def _mentions(self, texts: Sequence[str], number: int, first: str | None) -> list[float]:
        if first is None:
            return [0.0] * len(texts)
        if all(map(str.isascii, texts)):  # As most mail is: then one pattern does for all of it.
            pattern = self._pattern(number, "")
            if pattern is None:
                return [0.0] * len(texts)
            find = pattern.findall
            return [len(find(text)) if first in text else 0.0 for text in texts]
        return [
            len(pattern.findall(text)) if first in text and (pattern := self._pattern(number, text)) else 0.0
            for text in texts
        ]

    def _pattern(self, number: int, text: str) -> re.Pattern[str] | None:
        key = (number, text.isascii())
        if key not in self._patterns:
            is_form = number == len(self._exact)
            self._patterns[key] = (
                self._pattern_of_forms() if is_form else pattern_of(self._exact[number], for_ascii=key[1])
            )
        return self._patterns[key]

    def _pattern_of_forms(self) -> re.Pattern[str]:
        """Forms are ASCII; what stands around them may not be, and then counts as a word's end: near enough."""
        begin, word = re.escape(self._begin), _IN_ASCII_WORD
        return re.compile(rf"{begin}(?<!{word}{begin})(?:{'|'.join(self._forms)})(?!{word})")


def ranked(texts: Sequence[RankedText], terms: Sequence[Term]) -> list[int]:
    """The positions of `texts`, most relevant first, exact ones before others; among equals the given order stays."""
    newest = max((text.created_ts for text in texts), default=0)
    scores = [score * _standing(text, newest) for score, text in zip(_scores(texts, terms), texts, strict=True)]
    final = _with_threads(texts, scores)
    return sorted(range(len(texts)), key=lambda position: (not texts[position].is_exact, -final[position]))


def _scores(texts: Sequence[RankedText], terms: Sequence[Term]) -> list[float]:
    """BM25, times the square root of the share of the terms, by rarity, that a text holds."""
    lengths = [len(text.subject) + len(text.body) for text in texts]
    mean_length = sum(lengths) / len(lengths) if any(lengths) else 1.0
    weights = [_SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * length / mean_length) for length in lengths]
    subjects = [folded(text.subject) for text in texts]
    bodies = [folded(text.body) for text in texts]
    scores, covered, all_rarity = [0.0] * len(texts), [0.0] * len(texts), 0.0
    for term in terms:
        counts = _counts(subjects, bodies, term)
        rarity = _rarity(sum(map(bool, counts)), len(texts))
        all_rarity += rarity
        for position, count in enumerate(counts):
            if count:
                scores[position] += rarity * count * (_SATURATION + 1) / (count + weights[position])
                covered[position] += rarity
    return [
        score * math.sqrt(share / all_rarity) if score else 0.0 for score, share in zip(scores, covered, strict=True)
    ]


def _counts(subjects: Sequence[str], bodies: Sequence[str], term: Term) -> list[float]:
    """How often each text mentions the term, where it was looked for."""
    finder, counts = _Finder(term), [0.0] * len(subjects)
    if SUBJECT in term.phrase.columns:
        counts = [SUBJECT_WEIGHT * count for count in finder.counts(subjects)]
    if BODY in term.phrase.columns:
        counts = [count + more for count, more in zip(counts, finder.counts(bodies), strict=True)]
        quoting = [position for position, body in enumerate(bodies) if counts[position] and ">" in body]
        quoted = finder.counts(["\n".join(_QUOTED.findall(bodies[position])) for position in quoting])
        for position, count in zip(quoting, quoted, strict=True):
            counts[position] -= (1 - QUOTED_WEIGHT) * count
    return counts


def _rarity(found_in: int, total: int) -> float:
    """BM25's inverse document frequency among the candidates, and one: a word they all hold still counts."""
    return 1 + math.log(1 + (total - found_in + 0.5) / (found_in + 0.5))


def _standing(text: RankedText, newest: int) -> float:
    """What a message's age and importance make of its score."""
    age = (newest - text.created_ts) / (HALF_LIFE_DAYS * _DAY)
    return (1 + RECENCY * math.exp2(-age)) * (1 + IMPORTANCE[text.importance])


def _with_threads(texts: Sequence[RankedText], scores: list[float]) -> list[float]:
    """A message shares in the best score of its thread, where the thread has others."""
    if len({text.thread for text in texts}) == len(texts):
        return scores
    best: dict[str, float] = {}
    sizes: dict[str, int] = {}
    for text, score in zip(texts, scores, strict=True):
        best[text.thread] = max(score, best.get(text.thread, 0.0))
        sizes[text.thread] = sizes.get(text.thread, 0) + 1
    return [
        score + THREAD_SHARE * best[text.thread] if text.thread and sizes[text.thread] > 1 else score
        for text, score in zip(texts, scores, strict=True)
    ]


def first_match(text: str, phrases: Sequence[Phrase]) -> int | None:
    """Where the first of the phrases to be found begins."""
    searched = folded(text)
    if len(searched) != len(text):  # Positions would not carry over.
        return None
    for phrase in phrases:
        pattern = pattern_of(phrase, for_ascii=searched.isascii())
        match = pattern.search(searched) if pattern else None
        if match is not None:
            return match.start()
    return None


def excerpt(text: str, at: int | None, *, is_beginning: bool = True, is_end: bool = True) -> str:
    """About SNIPPET_CHARACTERS of `text` around position `at`, on one line, `…` where it was cut."""
    start = 0 if at is None or at <= _BEFORE_MATCH else _blank_near(text, at - _BEFORE_MATCH)
    end = len(text)
    if end - start > SNIPPET_CHARACTERS:
        end = _blank_near(text, start + SNIPPET_CHARACTERS)
    line = " ".join(text[start:end].split())
    before = "" if start == 0 and is_beginning else "…"
    after = "" if end == len(text) and is_end else "…"
    return f"{before}{line}{after}"


def _blank_near(text: str, position: int) -> int:
    """The nearest blank within a few characters after `position`, so that words stay whole; else `position`."""
    blank = _BLANK.search(text, position, position + _EDGE)
    return position if blank is None else blank.start()
