"""What commands print: a table on a terminal, tab-separated lines when piped, JSON when asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from mcp_agent_mail.core.escaping import on_one_line, visible, visible_json

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, as the server gives it.")]

_LEAST_WIDTH = 16
_GAP = 2

Row = Mapping[str, Any]
"""One object of a JSON answer."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading, and its text for a row (a key of the row, or a function of it)."""

    heading: str
    value: str | Callable[[Row], object]
    is_right: bool = False
    may_wrap: bool = False

    def text(self, row: Row) -> str:
        value = self.value(row) if callable(self.value) else row.get(self.value)
        return on_one_line(_shown(value))


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return str(value)


def short_time(row: Row, key: str) -> str:
    """`2026-11-21 20:38Z` on a terminal, the full time when piped."""
    full = _shown(row.get(key))
    return f"{full[:16].replace('T', ' ')}Z" if full and is_terminal() else full


def at(key: str) -> Callable[[Row], str]:
    return lambda row: short_time(row, key)


def is_terminal() -> bool:
    return sys.stdout.isatty()


def print_json(value: object) -> None:
    document = json.dumps(value, ensure_ascii=False, indent=2)
    _write(visible_json(document))


def print_text(text: str) -> None:
    """Print text that may hold words of peers: what a terminal would obey is written out."""
    _write(visible(text))


def _write(text: str) -> None:
    """A locale without UTF-8 must not turn a letter into a crash."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def print_rows(rows: Sequence[Row], columns: Sequence[Column], *, nothing: str) -> None:
    """`nothing` is said on a terminal when there is no row; a pipe gets no line."""
    if not is_terminal():
        for row in rows:
            _write("\t".join(column.text(row) for column in columns))
    elif rows:
        _print_table(rows, columns)
    else:
        _write(nothing)


def _print_table(rows: Sequence[Row], columns: Sequence[Column]) -> None:
    """A column without any value is left out: the width is for the others.

    Where that is too little all the same, the terminal breaks the lines: rich would cut words off.
    """
    # rich costs 0.06 s, so only a terminal pays for it.
    from rich.cells import cell_len
    from rich.console import Console, ConsoleDimensions
    from rich.table import Table
    from rich.text import Text

    texts = [[column.text(row) for row in rows] for column in columns]
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    shown = []
    least_width = 0
    for column, cells in zip(columns, texts, strict=True):
        if any(cells):
            shown.append(cells)
            widest = max(cell_len(text) for text in (column.heading, *cells))
            least_width += _GAP + (min(widest, _LEAST_WIDTH) if column.may_wrap else widest)
            table.add_column(
                column.heading.upper(),
                justify="right" if column.is_right else "left",
                overflow="fold",
                no_wrap=not column.may_wrap,
            )
    for row in zip(*shown, strict=True):
        # Text, not str: rich reads [markup] in a plain string, and these are words of peers.
        table.add_row(*(Text(cell) for cell in row))
    console = Console(highlight=False)
    console.size = ConsoleDimensions(max(console.width, least_width), console.height)
    console.print(table)


def print_fields(fields: Sequence[tuple[str, object]]) -> None:
    """One thing: `name  value` lines on a terminal, `name<TAB>value` when piped. Empty values are left out."""
    shown = [(name, on_one_line(_shown(value))) for name, value in fields if value not in (None, "")]
    width = max((len(name) for name, _ in shown), default=0)
    for name, text in shown:
        _write(f"{name:<{width}}  {text}" if is_terminal() else f"{name}\t{text}")
