"""What search understands: how text is split for the index, and how a query is read. Pure text in, text out."""

from __future__ import annotations

import re

# Scripts written without blanks between words: Thai, Lao, Myanmar, Khmer, kana, CJK ideographs, Hangul.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035"
    "\u3041-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_EACH_UNSPACED = re.compile(f"([{_UNSPACED}])")


def spaced_out(text: str) -> str:
    """`text` with a blank around every character of a script written without blanks.

    The index splits at blanks: so each such character is a word of its own, and any run of them
    is found as a phrase.
    """
    return text if text.isascii() else _EACH_UNSPACED.sub(r" \1 ", text)
