"""Whether anybody is at work in a pane's prompt, by what its screen shows where one types."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LOOKED_AT_LINES = 15
"""From the bottom of what is shown: where clients keep their prompt, under hints and boxes."""

_STYLE = re.compile(r"\x1b\[([0-9;:]*)m")
_OTHER_ESCAPES = re.compile(r"\x1b\[[0-9;:?]*[A-Za-ln-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x0f|\x0e")
_ANGLES = "\u276f\u203a\u00bb"
"""Signs of prompts that look like `>`."""
_BOX = " \t\u00a0│┃|╎╏"
_INPUT = re.compile(rf"^[{_BOX}]*[>{_ANGLES}](?:[ \u00a0](.*))?$")
_SIGNS = f"$#%>➜✗λ{_ANGLES}"
_AT_SIGN = re.compile(rf"(?:^|.*[{_SIGNS}:])[ \u00a0]*$")


def is_free(lines: Sequence[str], cursor_x: int, cursor_y: int) -> bool:
    """Is the line in which one types empty? `lines` are those of the screen with their styles.

    That is the last one that begins with a prompt's sign, be it in a box: agents' clients draw one, and a cursor of
    their own. Dim text in it is a hint of theirs. Where there is none, it is the cursor's line, which is empty or ends
    in a shell's sign.
    """
    shown = [_without_hints(line).rstrip() for line in lines]
    filled = [line for line in shown if line.strip(_BOX + "─━╭╮╰╯┌┐└┘")]
    for line in reversed(filled[-LOOKED_AT_LINES:]):
        if (found := _INPUT.match(line)) is not None:
            return not (found[1] or "").strip(_BOX)
    at_cursor = _without_hints(lines[cursor_y]) if 0 <= cursor_y < len(lines) else ""
    before, after = at_cursor[:cursor_x], at_cursor[cursor_x:]
    if after.strip(_BOX):
        return False
    signs = sum(one in "$#%>" for one in before)
    return not before.strip(_BOX) or (_AT_SIGN.match(before.rstrip()) is not None and signs <= 1)


def _without_hints(line: str) -> str:
    """The text of a line, without what is shown dim."""
    text, is_dim, at = "", False, 0
    for style in _STYLE.finditer(line):
        text += _part(line[at : style.start()], is_dim=is_dim)
        is_dim = _is_dim_after(style[1], is_dim=is_dim)
        at = style.end()
    return text + _part(line[at:], is_dim=is_dim)


def _part(text: str, *, is_dim: bool) -> str:
    plain = _OTHER_ESCAPES.sub("", text)
    return " " * len(plain) if is_dim else plain


def _is_dim_after(numbers: str, *, is_dim: bool) -> bool:
    words = (numbers or "0").replace(":", ";").split(";")
    at = 0
    while at < len(words):
        word = words[at]
        if word in ("38", "48"):  # A colour: its own numbers follow.
            at += 3 if words[at + 1 : at + 2] == ["5"] else 5
            continue
        if word == "2":
            is_dim = True
        elif word in ("0", "", "22", "1"):
            is_dim = False
        at += 1
    return is_dim
