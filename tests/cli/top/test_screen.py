"""The terminal is put back at every end, on a real one."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.command_line import environment
from tests.cli.top.terminal_session import ENTER, LEAVE, TerminalSession

PROGRAM = """
import os, sys
from mcp_agent_mail.cli.top.screen import Ended, open_screen
try:
    with open_screen() as screen:
        screen.show(["a frame"])
        {then}
except Ended as ended:
    sys.exit(100 + ended.number)
"""
FOREVER = "while True: screen.rest(60)"


def session(then: str, home: Path) -> TerminalSession:
    return TerminalSession("-c", PROGRAM.format(then=then), environment=environment(home), cwd=home)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_a_signal_ends_it(number: signal.Signals, tmp_path: Path) -> None:
    with session(FOREVER, tmp_path) as running:
        running.until(b"a frame")
        running.send(number)

        assert running.ended() == 100 + number
        assert running.is_restored()


def test_signals_that_come_while_it_ends_do_not_keep_it_from_that(tmp_path: Path) -> None:
    many = "[os.kill(os.getpid(), number) for number in (15, 15, 1, 2)]"
    with session(many, tmp_path) as running:
        code = running.ended()

        assert code in (102, 115, 101)
        assert running.is_restored()


def test_ctrl_c_on_its_keyboard_ends_it(tmp_path: Path) -> None:
    with session(FOREVER, tmp_path) as running:
        running.until(b"a frame")
        running.type(b"\x03")

        assert running.ended() == 100 + signal.SIGINT
        assert running.is_restored()


def test_an_exception_is_told_on_the_first_screen(tmp_path: Path) -> None:
    with session("raise RuntimeError('a fault of ours')", tmp_path) as running:
        assert running.ended() == 1

        assert running.is_restored()
        assert b"a fault of ours" in running.seen[running.seen.rfind(LEAVE) :]


def test_a_terminal_that_goes_away_ends_it(tmp_path: Path) -> None:
    with session("while True: screen.show(['x' * 80] * 20); screen.rest(0.05)", tmp_path) as running:
        running.until(b"xxx")
        running.hang_up()

        assert running.ended() == 100 + signal.SIGHUP


def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(tmp_path: Path) -> None:
    with session(FOREVER, tmp_path) as running:
        running.until(b"a frame")
        running.send(signal.SIGTSTP)
        # The kernel stops nobody of an orphaned process group by SIGTSTP: it goes on at once.
        running.until(LEAVE, ENTER, b"a frame")
        running.send(signal.SIGTERM)

        assert running.ended() == 100 + signal.SIGTERM
        assert running.is_restored()


def test_a_frame_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    with session("screen.show(['one', 'two']); screen.show(['next'])", tmp_path) as running:
        assert running.ended() == 0

    seen = running.seen.replace(b"\r", b"")
    assert b"\x1b[Hone\x1b[K\ntwo\x1b[K\x1b[J\x1b[Hnext\x1b[K\x1b[J" in seen
