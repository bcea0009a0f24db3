"""What another program stored, as what it means: it may have stored anything anywhere."""

from __future__ import annotations

import hashlib
import re

from mcp_agent_mail.core.clock import LATEST, Micros, parse_time
from mcp_agent_mail.domain.importing.records import MAX_KEY

_SECONDS_BELOW = 100_000_000_000
_MILLIS_BELOW = 100_000_000_000_000
_MICROS_BELOW = 100_000_000_000_000_000
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
_NO_TEXT = re.compile("[\ud800-\udfff]")
_LONGEST_TIME = 64
_LARGEST = 1 << 63


def text_of(value: object) -> str:
    """Empty where there is none. Bytes are read as UTF-8, with U+FFFD where they are not."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return _NO_TEXT.sub("\ufffd", value) if isinstance(value, str) else str(value)


def whole_of(value: object) -> int | None:
    """A number without a fraction, also written as text; None for anything else, and what no column can hold."""
    if isinstance(value, str):
        cleaned = value.strip()
        digits = cleaned.removeprefix("-")
        value = int(cleaned) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else None
    elif isinstance(value, float):
        value = int(value) if value.is_integer() and abs(value) < _LARGEST else None
    return value if isinstance(value, int) and abs(value) < _LARGEST else None


def flag_of(value: object) -> bool:
    """Whether it says yes: a number other than 0, or a word for it."""
    number = whole_of(value)
    return number != 0 if number is not None else text_of(value).strip().lower() in _TRUE


def time_of(value: object) -> Micros | None:
    """None for no time, one before 1970, or one that no calendar here holds. A text without a zone is UTC; a number
    counts seconds, thousandths, millionths or billionths, by its size.
    """
    number = _number_of(value)
    if number is None:
        text = text_of(value).strip()
        if not text or len(text) > _LONGEST_TIME:
            return None
        try:
            found = parse_time(_with_short_fraction(text))
        except (ValueError, OverflowError):
            return None
    else:
        found = Micros(int(number * _scale(abs(number))))
    return found if 0 <= found <= LATEST else None


def _number_of(value: object) -> float | int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # Beyond any unit, or no number at all.
        return value if abs(value) < _LARGEST else -1
    return None if value is None else whole_of(value) if isinstance(value, str) else None


def _scale(size: float) -> float:
    if size < _SECONDS_BELOW:
        return 1_000_000
    if size < _MILLIS_BELOW:
        return 1_000
    return 1 if size < _MICROS_BELOW else 0.001


def _with_short_fraction(text: str) -> str:
    """Python reads six digits behind the point, other programs write up to nine."""
    head, point, tail = text.partition(".")
    digits = len(tail) - len(tail.lstrip("0123456789"))
    return text if not point or digits <= 6 else f"{head}.{tail[:6]}{tail[digits:]}"


def key_of(*parts: object) -> str:
    """What a source calls a thing; a longer name than keys can have is told by its hash."""
    key = "/".join(text_of(part) for part in parts)
    return key if 0 < len(key) <= MAX_KEY else f"sha256:{digest_of(key)}"


def digest_of(*parts: object) -> str:
    """Of texts and numbers, in hexadecimal; where one ends and the next begins tells too."""
    hashed = hashlib.sha256()
    for part in parts:
        content = text_of(part).encode(errors="replace")
        hashed.update(b"%d:" % len(content))
        hashed.update(content)
    return hashed.hexdigest()
