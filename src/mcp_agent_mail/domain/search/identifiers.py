"""Names of code in text, `parse_token` and `reparseToken`: what is found by a part from their inside too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

MAX_NAMES = 100
"""Of one message. A pasted listing must not make its send long."""
_MAX_SIGNS = 1_000
_LONGEST = 64

# A capital after a small letter or digit, or an underscore between letters or digits.
# What is rare stands first in the pattern, so that `re` skips to it.
_SIGN = re.compile(r"[A-Z_](?<=[a-z0-9][A-Z]|[A-Za-z0-9]_)(?=\w)", re.ASCII)
_REST = re.compile(r"\w*", re.ASCII)
_BEGIN = re.compile(r"\w*\Z", re.ASCII)
_PART = re.compile(r"\w{3,64}", re.ASCII)


def identifiers_in(subject: str, body: str) -> str:
    """A JSON list of the names in a message, in small letters, for the statement that keeps them."""
    found: dict[str, None] = {}
    for text in (subject, body):
        for name in islice(_names(text), _MAX_SIGNS):
            found[name.lower()] = None
            if len(found) == MAX_NAMES:
                break
    return json.dumps(list(found)) if found else "[]"


def _names(text: str) -> Iterator[str]:
    """From sign to sign and not from word to word: most words are no names. Linear in the length of the text."""
    at = 0
    while sign := _SIGN.search(text, at):
        before = text[max(at, sign.start() - _LONGEST) : sign.start()]
        end = at = _REST.match(text, sign.start()).end()  # type: ignore[union-attr]  # It matches the empty text too.
        begin = sign.start() - len(_BEGIN.search(before)[0])  # type: ignore[index]
        if end - begin <= _LONGEST:
            yield text[begin:end]


def part_of_name(text: str) -> str | None:
    """`text` as names are compared, if it may stand inside one: the index of names knows none shorter than three."""
    return text.lower() if _PART.fullmatch(text) else None
