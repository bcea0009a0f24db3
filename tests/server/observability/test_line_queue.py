"""Lines on their way to a terminal that may stand still, and the streams that lead there."""

from __future__ import annotations

import os
import pty
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from mcp_agent_mail.server.observability.line_queue import LineQueue, queued_output
from tests.served import pause
from tests.server.observability.pipe import Pipe

FAR_TOO_LONG_S = 30.0


@contextmanager
def terminal() -> Iterator[tuple[int, TextIO]]:
    """What a person would see on it, and the stream of a process."""
    reader, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        yield reader, stream
    os.close(reader)


def shown(reader: int, *, until: str) -> list[str]:
    text = ""
    while until not in text:
        text += os.read(reader, 4_096).decode()
    return text.splitlines()


def test_a_terminal_that_stands_still_keeps_nobody_waiting_and_hears_what_it_missed() -> None:
    pipe = Pipe()
    queue = LineQueue(pipe.writer, size=2)
    for number in range(5):
        queue.put(f"line {number}")

    queue.start()
    queue.close()
    queue.put("after the end")

    assert pipe.text().splitlines()[:3] == ["line 0", "line 1", "(3 lines left out: this terminal was too slow)"]


def test_what_was_left_out_is_told_where_it_is_missing() -> None:
    pipe = Pipe()
    queue = LineQueue(pipe.writer, size=2)
    for number in range(4):
        queue.put(f"line {number}")
    while queue._waiting.qsize():
        queue._waiting.get()
    queue.put("line 4")

    queue.start()
    queue.close()

    assert pipe.text().splitlines() == ["(2 lines left out: this terminal was too slow)", "line 4"]


def test_a_terminal_that_has_gone_is_no_trouble() -> None:
    pipe = Pipe()
    os.close(pipe.reader)
    queue = LineQueue(pipe.writer)
    queue.start()

    queue.put("nobody reads this")
    queue.close()
    os.close(pipe.writer)


def test_a_terminal_that_stands_still_with_a_full_queue_is_left_in_the_end() -> None:
    with terminal() as (_, stream):
        termios.tcflow(stream.fileno(), termios.TCOOFF)
        queue = LineQueue(stream.fileno(), size=1)
        queue.start()
        queue.put("line 0")
        while queue._waiting.qsize():
            pause()
        queue.put("line 1")
        queue.put("line 2")
        closing = threading.Thread(target=queue.close, daemon=True)

        closing.start()
        closing.join(FAR_TOO_LONG_S)
        was_kept_waiting = closing.is_alive()
        termios.tcflow(stream.fileno(), termios.TCOON)
        queue.close()

        assert not was_kept_waiting


def test_a_late_line_never_lands_in_the_file_that_has_its_number_by_then() -> None:
    terminal, other = Pipe(), Pipe()
    queue = LineQueue(terminal.writer)
    queue.start()
    os.dup2(other.writer, terminal.writer)

    queue.put("late")
    queue.close()
    os.close(terminal.writer)

    assert other.text() == ""
    os.set_blocking(terminal.reader, False)
    assert os.read(terminal.reader, 100) == b"late\n"
    assert os.read(terminal.reader, 100) == b"", "its descriptor is closed"
    os.close(terminal.reader)


def test_both_streams_of_one_terminal_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal() as (reader, stream), os.fdopen(os.dup(stream.fileno()), "w") as errors:
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", errors)
        with queued_output() as queue:
            assert queue is not None
            sys.stdout.write("one ")
            sys.stdout.write("two\n")
            sys.stderr.write("three\n")
            queue.put("four")
            sys.stderr.write("five\nsi")
            sys.stderr.write("x\n")

        assert shown(reader, until="six") == ["one two", "three", "four", "five", "six"]
        assert (sys.stdout, sys.stderr) == (stream, errors)


def test_a_stream_that_is_no_terminal_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe()
    with terminal() as (reader, stream), os.fdopen(os.dup(pipe.writer), "w") as piped:
        monkeypatch.setattr(sys, "stdout", piped)
        monkeypatch.setattr(sys, "stderr", stream)
        with queued_output() as queue:
            assert queue is not None
            assert sys.stdout is piped
            sys.stderr.write("said\n")
        monkeypatch.setattr(sys, "stderr", piped)
        with queued_output() as none:
            assert none is None

        assert shown(reader, until="said") == ["said"]


def test_a_pipe_that_nobody_reads_keeps_nobody_waiting_and_says_what_it_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe()
    with os.fdopen(pipe.writer, "w", closefd=False) as piped:
        monkeypatch.setattr(sys, "stderr", piped)
        with queued_output(lambda count: f"missed {count}") as queue:
            writing = threading.Thread(target=_write_far_too_much, daemon=True)
            writing.start()
            writing.join(FAR_TOO_LONG_S)
            was_kept_waiting = writing.is_alive()
            reading = threading.Thread(target=_read_until_end, args=(pipe.reader, seen := list[bytes]()))
            reading.start()

        assert (was_kept_waiting, queue) == (False, None)
        os.close(pipe.writer)
        reading.join()
    lines = b"".join(seen).decode().splitlines()
    missed = [int(line.split()[1]) for line in lines if line.startswith("missed")]
    kept = [int(line.split()[0]) for line in lines if not line.startswith("missed")]
    assert missed
    assert sum(missed) == FAR_TOO_MANY - len(kept)
    assert kept == sorted(kept)


FAR_TOO_MANY = 3_000


def _write_far_too_much() -> None:
    for number in range(FAR_TOO_MANY):
        sys.stderr.write(f"{number} {'x' * 200}\n")


def _read_until_end(file: int, seen: list[bytes]) -> None:
    while data := os.read(file, 65_536):
        seen.append(data)
    os.close(file)


def test_a_pipe_that_was_told_not_to_wait_gets_all_the_same() -> None:
    pipe = Pipe()
    os.set_blocking(pipe.writer, False)
    queue = LineQueue(pipe.writer)
    queue.start()
    for _ in range(500):
        queue.put("x" * 500)
    reading = threading.Thread(target=_read_until_end, args=(pipe.reader, seen := list[bytes]()))
    reading.start()

    queue.close()
    os.close(pipe.writer)
    reading.join()

    assert sum(map(len, seen)) == 500 * 501


def test_a_regular_file_is_written_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "log").open("w") as log:
        monkeypatch.setattr(sys, "stderr", log)
        with queued_output():
            assert sys.stderr is log


def test_a_write_to_a_terminal_that_stands_still_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal() as (reader, stream):
        monkeypatch.setattr(sys, "stdout", stream)
        termios.tcflow(stream.fileno(), termios.TCOOFF)
        with queued_output():
            writing = threading.Thread(target=sys.stdout.write, args=("said\n",), daemon=True)
            writing.start()
            writing.join(FAR_TOO_LONG_S)
            was_kept_waiting = writing.is_alive()
            termios.tcflow(stream.fileno(), termios.TCOON)

            assert not was_kept_waiting

        assert shown(reader, until="said") == ["said"]
