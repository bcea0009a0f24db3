"""Tables on a terminal: each column gets what fits. What does not fit goes on below or ends in `…`, and no column is
left out without a word.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.logging import color_system

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

GAP = 2
_WRAPS_DOWN_TO = (20, 12)
_CUT_DOWN_TO = 10


@dataclass(frozen=True, slots=True)
class ShownText:
    """The text of one cell, and how a terminal with colours shows it (a style of rich; empty for none)."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column to be laid out: one that `wraps` goes on below, one that `is_whole` is never narrowed, any other is
    cut.
    """

    heading: str
    cells: Sequence[ShownText]
    is_right: bool = False
    wraps: bool = False
    is_whole: bool = False

    def has_values(self) -> bool:
        return any(cell.text for cell in self.cells)


def fit_widths(columns: Sequence[TableColumn], widest: Sequence[int], width: int) -> list[int] | None:
    """The width of each column, so that all of them and the gaps between are at most `width`; None where that cannot
    be. The ones that wrap give way first, down to 20, then the ones that may be cut, down to 10.
    """
    widths = [each if c.is_whole and not c.wraps else min(each, width) for c, each in zip(columns, widest, strict=True)]
    wrapping = [place for place, column in enumerate(columns) if column.wraps]
    cut = [place for place, column in enumerate(columns) if not column.wraps and not column.is_whole]
    room = width - GAP * (len(columns) - 1)
    for places, least in ((wrapping, _WRAPS_DOWN_TO[0]), (cut, _CUT_DOWN_TO), (wrapping, _WRAPS_DOWN_TO[1])):
        _narrow(widths, places, least, room)
    return widths if sum(widths) <= room else None


def _narrow(widths: list[int], places: Sequence[int], least: int, room: int) -> None:
    """The widest of `places` first, until all fit."""
    excess = sum(widths) - room
    while excess > 0:
        widest = max(places, key=lambda place: widths[place], default=None)
        if widest is None or widths[widest] <= least:
            return
        widths[widest] -= 1
        excess -= 1


def render_table(columns: Sequence[TableColumn]) -> str:
    """The table in the width of the terminal, without blanks at the ends of lines, in colours where standard output
    takes them and NO_COLOR is not set. Where even narrow columns do not fit, each row is a block of lines. Columns
    without any value are left out where the width is needed, which is told below the table.
    """
    # rich costs 0.06 s, so only a terminal pays for it.
    from rich.cells import cell_len
    from rich.console import Console

    width = shutil.get_terminal_size().columns
    console = Console(highlight=False, width=width, color_system=color_system(), file=sys.stdout, soft_wrap=True)
    widest = [max(cell_len(text) for text in (c.heading, *(cell.text for cell in c.cells))) for c in columns]
    shown, left_out = list(columns), ""
    if sum(widest) + GAP * (len(columns) - 1) > width:
        shown = [column for column in columns if column.has_values()]
        left_out = ", ".join(column.heading for column in columns if not column.has_values())
        widest = [each for each, column in zip(widest, columns, strict=True) if column.has_values()]
    widths = fit_widths(shown, widest, width)
    with console.capture() as captured:
        for line in _blocks(console, shown) if widths is None else _lines(console, shown, widths):
            console.print(line)
        if left_out:
            console.print(f"(in no row: {left_out})", style="dim")
    return captured.get().rstrip("\n")


def _lines(console: Console, columns: Sequence[TableColumn], widths: Sequence[int]) -> list[Text]:
    lines = _row_lines(console, columns, widths, [ShownText(column.heading.upper(), "dim") for column in columns])
    for row in zip(*(column.cells for column in columns), strict=True):
        lines += _row_lines(console, columns, widths, row)
    return lines


def _row_lines(
    console: Console, columns: Sequence[TableColumn], widths: Sequence[int], row: Sequence[ShownText]
) -> list[Text]:
    from rich.text import Text

    folded = []
    for column, width, cell in zip(columns, widths, row, strict=True):
        # Text, not str: rich reads [markup] in a plain string, and these are words of peers.
        text = Text(cell.text, style=cell.style, end="")
        if column.wraps:
            folded.append(list(text.wrap(console, width, overflow="fold", no_wrap=False)) or [Text("")])
        else:
            text.truncate(width, overflow="ellipsis")
            folded.append([text])
    lines = []
    for at in range(max(len(cells) for cells in folded)):
        line = Text()
        for column, width, cells in zip(columns, widths, folded, strict=True):
            text = cells[at] if at < len(cells) else Text("")
            text.rstrip()
            text.align("right" if column.is_right else "left", width)
            line.append_text(text).append(" " * GAP)
        line.rstrip()
        lines.append(line)
    return lines


def _blocks(console: Console, columns: Sequence[TableColumn]) -> list[Text]:
    """For a very narrow terminal: each value on lines of its own, a blank line between rows."""
    from rich.text import Text

    wide = max(len(column.heading) for column in columns)
    room = max(console.width - wide - GAP, _CUT_DOWN_TO)
    lines: list[Text] = []
    for row in zip(*(column.cells for column in columns), strict=True):
        lines += [Text("")] if lines else []
        for column, cell in zip(columns, row, strict=True):
            if cell.text:
                folded = Text(cell.text, style=cell.style, end="").wrap(console, room, overflow="fold", no_wrap=False)
                for at, text in enumerate(folded):
                    text.rstrip()
                    lines.append(Text(f"{'' if at else column.heading:<{wide}}  ").append_text(text))
    return lines
