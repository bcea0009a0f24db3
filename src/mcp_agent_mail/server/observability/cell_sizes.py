"""How wide text is on a terminal, and text cut and folded to a width. Wide letters take two cells, marks none.

Letters are counted one by one: a terminal that does not join emoji draws all of them. Rich is imported where the
first text that needs it is measured, so that a server that nobody watches starts without it.
"""

from __future__ import annotations

_EMOJI_FORM = "\ufe0f"


def width_of(text: str) -> int:
    """The cells that `text` takes at most. It holds no control characters."""
    if text.isascii():
        return len(text)
    from rich.cells import get_character_cell_size  # noqa: PLC0415  # only where a terminal is written to

    return sum(1 if letter == _EMOJI_FORM else get_character_cell_size(letter) for letter in text)


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells; where it is longer it ends in `…`."""
    if width_of(text) <= width:
        return text
    return f"{text[: _fitting(text, width - 1)]}…" if width > 0 else ""


def _fitting(text: str, width: int) -> int:
    """How many letters of `text` fit."""
    used = 0
    for at, letter in enumerate(text):
        used += width_of(letter)
        if used > width:
            return at
    return len(text)


def folded(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` cells, two at least, broken at blanks; a longer word is broken where the line
    ends.
    """
    lines: list[str] = []
    line = ""
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if width_of(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        line = word
        while width_of(line) > width:
            at = max(_fitting(line, width), 1)
            lines.append(line[:at])
            line = line[at:]
    return [*lines, line] if line else lines
