"""Other forms of English words, and words that say nothing by themselves: for searches that find too little.

No dictionary: a known ending goes, and the commonest endings come instead. Forms that no text holds cost a
look-up of some microseconds, so they are not weeded out; forms of irregular words are not known.
"""

from __future__ import annotations

from mcp_agent_mail.core.lazy.pattern import lazy_pattern

LEAST_LETTERS = 4
"""Shorter words have no other forms here."""
_LEAST_STEM = 3

STOP_WORDS = frozenset(
    "a about after an and are as at be been before being by can could did do does for from had has have how i if in"
    " into is it its may might must my of on or our shall should that the their there these they this those to was"
    " we were what when where which who whom whose why will with would you your".split()
)

_ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ied", "ers", "er", "es", "ed", "s", "e", "y")
_OTHER_ENDINGS = ("", "s", "e", "es", "ed", "er", "ers", "ing", "ion", "ions", "ation", "y", "ies", "ied")
_DOUBLED_ENDINGS = ("ed", "ing", "er")
_DOUBLED = lazy_pattern(r"([bdfgkmnprtv])\1$")
_DOUBLES = lazy_pattern(r"[^aeiou][aeiou][bdfgkmnprtv]$")


def forms_of(word: str) -> tuple[str, ...]:
    """The folded `word` and its other forms, itself first; itself alone when it is no plain English word."""
    stem = stem_of(word)
    if not stem:
        return (word,)
    forms = [word, *(stem + ending for ending in _OTHER_ENDINGS)]
    if _DOUBLES.search(stem):
        forms += [stem + stem[-1] + ending for ending in _DOUBLED_ENDINGS]
    return tuple(dict.fromkeys(forms))


def stem_of(word: str) -> str:
    """What the forms of the folded `word` begin with; nothing when it has no other forms."""
    if len(word) < LEAST_LETTERS or not (word.isascii() and word.isalpha()):
        return ""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM and not word.endswith("ss"):
            return _DOUBLED.sub(r"\1", word[: -len(ending)])
    return word
