"""What a server says on a terminal. One may stand still (Ctrl-S, or nobody reads it), and who writes to it stands still
with it: so a thread writes, what waits for it is bounded, and what found no place is counted.
"""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from queue import Full, Queue
from typing import TextIO

MAX_WAITING = 1_000
_END_WITHIN_S = 1.0


class LineQueue:
    """Lines on their way to a terminal. `put` never waits; beyond MAX_WAITING lines are counted and dropped.

    Once started it writes through a descriptor of its own: it may be kept waiting beyond `close`, and the number of the
    one it was given may be another file's by then.
    """

    def __init__(self, file: int, *, size: int = MAX_WAITING) -> None:
        self._file = file
        self._waiting: Queue[str | None] = Queue(size)
        self._dropped = 0
        self._counting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="terminal-lines", daemon=True)

    def start(self) -> None:
        self._file = os.dup(self._file)
        self._thread.start()

    def put(self, line: str) -> None:
        """Queue a line, or count it as dropped where MAX_WAITING wait already."""
        try:
            self._waiting.put_nowait(line)
        except Full:
            with self._counting:
                self._dropped += 1

    def close(self) -> None:
        """Wait for what is on its way, a second at most: nobody can make a terminal go on."""
        until = time.monotonic() + _END_WITHIN_S
        try:
            self._waiting.put(None, timeout=_END_WITHIN_S)
        except Full:
            return
        self._thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        try:
            self._write_all()
        finally:
            os.close(self._file)

    def _write_all(self) -> None:
        while (line := self._waiting.get()) is not None:
            with self._counting:
                self._dropped, dropped = 0, self._dropped
            if dropped:
                line = f"({dropped} lines left out: this terminal was too slow)\n{line}"
            try:
                self._write(line.encode("utf-8", "backslashreplace") + b"\n")
            except OSError:  # The terminal has gone.
                return

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._file, data) :]


class LineFile(io.TextIOBase):
    """In place of a stream that is a terminal: what is written to it goes through a line queue."""

    def __init__(self, lines: LineQueue, terminal: TextIO) -> None:
        self._lines = lines
        self._terminal = terminal
        self._begun = threading.local()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        """The queue's, whatever the terminal's is called."""
        return "utf-8"

    def isatty(self) -> bool:
        """True: one of these stands in place of a terminal only."""
        return True

    def fileno(self) -> int:
        """The terminal's own, for its size; a write there may wait."""
        return self._terminal.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        """Queue the lines that end in `text` as one; what follows them waits for its own end, each thread's apart."""
        ended, end, rest = (getattr(self._begun, "text", "") + text).rpartition("\n")
        self._begun.text = rest
        if end:
            self._lines.put(ended)
        return len(text)


@contextmanager
def queued_output() -> Iterator[LineQueue | None]:
    """While it is open, all that this process says on its terminal (`print`, logs, warnings, traces) keeps its order
    and makes nobody wait. Gives the queue of standard output, or of standard error; None where neither is a terminal.
    """
    output, errors = sys.stdout, sys.stderr
    with ExitStack() as stack:
        shown = _opened(stack, output) if output.isatty() else None
        told = None
        if errors.isatty():
            is_same = shown is not None and os.ttyname(output.fileno()) == os.ttyname(errors.fileno())
            told = shown if is_same else _opened(stack, errors)
        if shown is not None:
            stack.enter_context(redirect_stdout(LineFile(shown, output)))
        if told is not None:
            stack.enter_context(redirect_stderr(LineFile(told, errors)))
        yield shown or told


def _opened(stack: ExitStack, terminal: TextIO) -> LineQueue:
    terminal.flush()
    lines = LineQueue(terminal.fileno())
    lines.start()
    stack.callback(lines.close)
    return lines
