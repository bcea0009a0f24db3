"""What commands print: a table on a terminal, tab-separated lines when piped, JSON when asked for."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from mcp_agent_mail.cli.ages import age, exact_time, time_and_age
from mcp_agent_mail.core.clock import Clock, Micros, system_clock
from mcp_agent_mail.core.errors import Conflict, InvalidInput
from mcp_agent_mail.core.escaping import on_one_line, visible, visible_json
from mcp_agent_mail.core.lazy.dataclass import dataclass

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, as the server gives it.")]
ExactFlag = Annotated[bool, typer.Option("--exact", help="Exact times instead of ages.")]


class UnfitOutput(InvalidInput):
    """The bytes of a file are not written to a terminal."""


def require_no_terminal(command: str) -> None:
    """Raise UnfitOutput where standard output, to which `command` writes bytes, is one."""
    if sys.stdout.isatty():
        raise UnfitOutput(
            "The bytes of a file are not written to a terminal.", hint=f"Name a file, or send them on: {command} | ..."
        )


Row = Mapping[str, Any]
"""One object of a JSON answer."""


@dataclass(frozen=True, slots=True)
class ShownTime:
    """The value of a column that is a time: the row's ISO 8601 text under `key`."""

    key: str

    def __call__(self, row: Row) -> str:
        """The full time, as the server gave it; empty where there is none."""
        return str(row.get(self.key) or "")

    def for_people(self, row: Row, *, now: Micros, is_exact: bool) -> str:
        """The age, or the exact time to the second."""
        full = self(row)
        return exact_time(full) if is_exact else age(full, now)


def at(key: str) -> ShownTime:
    return ShownTime(key)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading, and its text for a row (a key of the row, or a function of it).

    On a terminal `on_terminal` says it at more length, in the colour of `style`; a pipe always gets `value`. Where
    the width is too little, one that `may_wrap` goes on below, one that `is_whole`, a number or a time is never
    narrowed, and any other ends in `…`. One that is `piped_only` says for a pipe what a terminal is told elsewhere.
    """

    heading: str
    value: str | Callable[[Row], object]
    is_right: bool = False
    may_wrap: bool = False
    is_whole: bool = False
    on_terminal: Callable[[Row], str] | None = None
    style: Callable[[Row], str] | None = None
    piped_only: bool = False

    def text(self, row: Row) -> str:
        """What a pipe gets: one line, times in full."""
        value = self.value(row) if callable(self.value) else row.get(self.value)
        return on_one_line(_shown(value))

    def text_for_people(self, row: Row, *, now: Micros, is_exact: bool) -> str:
        """What a terminal shows: one line, times as ages unless `is_exact`."""
        if isinstance(self.value, ShownTime):
            return on_one_line(self.value.for_people(row, now=now, is_exact=is_exact))
        return on_one_line(self.on_terminal(row)) if self.on_terminal else self.text(row)


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return str(value)


def is_terminal() -> bool:
    return sys.stdout.isatty()


def time_of(full: str | None, *, clock: Clock = system_clock) -> str | None:
    """A time among the fields of one thing: exact and with its age on a terminal, as it is when piped."""
    return time_and_age(full, clock=clock) if is_terminal() else full


def print_gap() -> None:
    """A blank line between two things on a terminal; nothing when piped."""
    if is_terminal():
        _write("")


def print_json(value: object) -> None:
    document = json.dumps(value, ensure_ascii=False, indent=2)
    _write(visible_json(document))


class NotShown(Conflict):
    """A secret that is shown once could not be shown."""


@contextmanager
def shown_once(unseen: str, *, hint: str) -> Iterator[None]:
    """Inside, what is never shown again is printed. Where standard output is closed, full, or read by nobody any more,
    it is told that way: `unseen` is the fact, `hint` the next step. Raises NotShown.
    """
    try:
        if sys.__stdout__ is None:
            raise OSError(errno.EBADF, "standard output is closed")
        yield
        sys.stdout.flush()
    except OSError as failed:
        print_nowhere()
        raise NotShown(f"{unseen}, and could not be shown: {failed.strerror or failed}.", hint=hint) from failed


def print_nowhere() -> None:
    """What was printed and could not be written is dropped, so that Python does not try it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_text(text: str) -> None:
    """Print text that may hold words of peers: what a terminal would obey is written out."""
    _write(visible(text))


def _write(text: str) -> None:
    """A locale without UTF-8 must not turn a letter into a crash."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def print_rows(
    rows: Sequence[Row],
    columns: Sequence[Column],
    *,
    nothing: str,
    exact: bool = False,
    clock: Clock = system_clock,
) -> None:
    """A table on a terminal, a line of cells per row for a pipe.

    `nothing` is said on a terminal when there is no row; a pipe gets no line. `exact`: times as they are, not as ages.
    """
    if not is_terminal():
        for row in rows:
            _write("\t".join(column.text(row) for column in columns))
    elif rows:
        _print_table(rows, columns, now=clock(), is_exact=exact)
    else:
        _write(nothing)


def _print_table(rows: Sequence[Row], columns: Sequence[Column], *, now: Micros, is_exact: bool) -> None:
    from mcp_agent_mail.cli.tables import ShownText, TableColumn, render_table

    laid_out = [
        TableColumn(
            heading=column.heading,
            cells=[
                ShownText(
                    column.text_for_people(row, now=now, is_exact=is_exact), column.style(row) if column.style else ""
                )
                for row in rows
            ],
            is_right=column.is_right,
            wraps=column.may_wrap,
            is_whole=column.is_whole or column.is_right or isinstance(column.value, ShownTime),
        )
        for column in columns
        if not column.piped_only
    ]
    _write(render_table(laid_out))


def print_fields(fields: Sequence[tuple[str, object]]) -> None:
    """One thing: `name  value` lines on a terminal, `name<TAB>value` when piped. Empty values are left out."""
    shown = [(name, on_one_line(_shown(value))) for name, value in fields if value not in (None, "")]
    width = max((len(name) for name, _ in shown), default=0)
    for name, text in shown:
        _write(folded(f"{name:<{width}}  ", text) if is_terminal() else f"{name}\t{text}")


def folded(head: str, text: str) -> str:
    """`head` and `text`, which goes on below its own beginning where the terminal is too narrow. No word is broken, so
    that a long path can be copied.
    """
    width = shutil.get_terminal_size().columns
    if len(head) + len(text) <= width:
        return head + text
    # 1 ms, which only a long text need pay.
    import textwrap

    below = " " * min(len(head), width // 3)
    return textwrap.fill(
        text, width, initial_indent=head, subsequent_indent=below, break_long_words=False, break_on_hyphens=False
    )
