"""What a server says on a terminal, or into a pipe. Either may stand still (Ctrl-S, or nobody reads it), and who
writes to it stands still with it: so a thread writes, what waits for it is bounded, and what found no place is counted.
"""

from __future__ import annotations

import io
import os
import select
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from queue import Empty, Full, Queue
from typing import TextIO

MAX_WAITING = 1_000
_END_WITHIN_S = 1.0

DropNotice = Callable[[int], str]
"""The line that says how many were left out."""


def dropped_on_terminal(count: int) -> str:
    return f"({count} lines left out: this terminal was too slow)"


class LineQueue:
    """Lines on their way to a terminal or a pipe. `put` never waits; beyond MAX_WAITING lines are counted and dropped,
    which a line says in their place as soon as one finds room. At the end that may be never.

    Once started it writes through a descriptor of its own: it may be kept waiting beyond `close`, and the number of the
    one it was given may be another file's by then.
    """

    def __init__(self, file: int, *, size: int = MAX_WAITING, notice: DropNotice = dropped_on_terminal) -> None:
        self._file = file
        self._notice = notice
        self._waiting: Queue[str | None] = Queue(size)
        self._dropped = 0
        self._counting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="terminal-lines", daemon=True)

    def start(self) -> None:
        self._file = os.dup(self._file)
        self._thread.start()

    def put(self, line: str) -> None:
        """Queue a line, or count it as dropped where MAX_WAITING wait already."""
        with self._counting:
            try:
                if self._dropped:
                    self._waiting.put_nowait(self._notice(self._dropped))
                    self._dropped = 0
                self._waiting.put_nowait(line)
            except Full:
                self._dropped += 1

    def close(self) -> None:
        """Wait for what is on its way, a second at most: nobody can make a terminal or a reader go on."""
        until = time.monotonic() + _END_WITHIN_S
        with self._counting:
            last = [self._notice(self._dropped), None] if self._dropped else [None]
        try:
            for line in last:
                self._waiting.put(line, timeout=max(0.0, until - time.monotonic()))
        except Full:
            return
        self._thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        try:
            self._write_all()
        finally:
            os.close(self._file)

    def _write_all(self) -> None:
        has_more = True
        while has_more:
            lines, has_more = self._next_lines()
            try:
                self._write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
            except OSError:  # The terminal, or whoever read, has gone.
                return

    def _next_lines(self) -> tuple[list[str], bool]:
        """All that wait, waiting for the first; False with the last there will be. A write for each costs more."""
        lines = list[str]()
        line = self._waiting.get()
        while line is not None:
            lines.append(line)
            try:
                line = self._waiting.get_nowait()
            except Empty:
                return lines, True
        return lines, False

    def _write(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._file, data) :]
            except BlockingIOError:  # Whoever shares it has told it not to wait.
                select.select([], [self._file], [])


class LineFile(io.TextIOBase):
    """In place of a stream that is a terminal or a pipe: what is written to it goes through a line queue."""

    def __init__(self, lines: LineQueue, stream: TextIO) -> None:
        self._lines = lines
        self._stream = stream
        self._begun = threading.local()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        """The queue's, whatever the stream's is called."""
        return "utf-8"

    def isatty(self) -> bool:
        """Whether the stream in whose place it stands is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The stream's own, for a terminal's size; a write there may wait."""
        return self._stream.fileno()

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
def queued_output(notice: DropNotice = dropped_on_terminal) -> Iterator[LineQueue | None]:
    """While it is open, all that this process says on its terminal (`print`, logs, warnings, traces) keeps its order
    and makes nobody wait; so does what it says on a standard error that is a pipe or a socket, where `notice` tells of
    lines left out. Gives the queue of standard output, or of standard error; None where neither is a terminal.
    """
    output, errors = sys.stdout, sys.stderr
    with ExitStack() as stack:
        shown = _opened(stack, output) if output.isatty() else None
        told = None
        if errors.isatty():
            is_same = shown is not None and os.ttyname(output.fileno()) == os.ttyname(errors.fileno())
            told = shown if is_same else _opened(stack, errors)
        elif _may_stand_still(errors):
            stack.enter_context(redirect_stderr(LineFile(_opened(stack, errors, notice), errors)))
        if shown is not None:
            stack.enter_context(redirect_stdout(LineFile(shown, output)))
        if told is not None:
            stack.enter_context(redirect_stderr(LineFile(told, errors)))
        yield shown or told


def _may_stand_still(stream: TextIO) -> bool:
    """Whether it is a pipe or a socket. What has no descriptor is a program's own."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _opened(stack: ExitStack, stream: TextIO, notice: DropNotice = dropped_on_terminal) -> LineQueue:
    stream.flush()
    lines = LineQueue(stream.fileno(), notice=notice)
    lines.start()
    stack.callback(lines.close)
    return lines
