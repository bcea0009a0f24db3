"""The terminal is put back at every end, on a real one."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from mcp_agent_mail.cli.top.screen import _ENDING
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
FOREVER_UNTIL_Q = "assert screen.rest(60)"
SHELL = """
import os, signal, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
before = termios.tcgetattr(0)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
def waited():
    _, status = os.waitpid(child, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    modes = "as before" if termios.tcgetattr(0) == before else "changed"
    how = "stopped" if os.WIFSTOPPED(status) else f"ended {os.waitstatus_to_exitcode(status)}"
    print(how, modes, flush=True)
waited()
os.tcsetpgrp(0, child)
os.kill(child, signal.SIGCONT)
waited()
"""


def session(then: str, home: Path) -> TerminalSession:
    return TerminalSession("-c", PROGRAM.format(then=then), environment=environment(home), cwd=home)


@pytest.mark.parametrize("number", _ENDING, ids=lambda one: one.name)
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


@pytest.mark.parametrize(("key", "number"), [(b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT)])
def test_a_signal_from_its_keyboard_ends_it(key: bytes, number: signal.Signals, tmp_path: Path) -> None:
    with session(FOREVER, tmp_path) as running:
        running.until(b"a frame")
        running.type(key)

        assert running.ended() == 100 + number
        assert running.is_restored()


def test_q_is_told_without_enter_and_without_an_echo_and_other_keys_are_passed_over(tmp_path: Path) -> None:
    with session("print('left' if screen.rest(60) else 'stayed', file=sys.stderr)", tmp_path) as running:
        running.until(b"a frame")
        running.type(b"xQ\r\n\x1b[A")
        running.type(b"q")

        assert running.ended() == 0
        assert running.is_restored()
        shown = running.seen[running.seen.index(b"a frame") :]
        assert b"left" in shown
        assert b"xQ" not in shown


def test_the_keys_of_who_reads_no_terminal_never_come(tmp_path: Path) -> None:
    program = "import os; os.dup2(os.open(os.devnull, os.O_RDONLY), 0)\n" + PROGRAM
    then = "sys.exit(7 if screen.rest(0.1) else 8)"
    with TerminalSession("-c", program.format(then=then), environment=environment(tmp_path), cwd=tmp_path) as running:
        assert running.ended() == 8
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


def test_a_shell_that_it_was_stopped_in_has_its_modes_and_goes_on_with_it(tmp_path: Path) -> None:
    """A child in a process group of its own, as a shell has it: the kernel does stop it."""
    with TerminalSession(
        "-c", SHELL, PROGRAM.format(then=FOREVER_UNTIL_Q), environment=environment(tmp_path), cwd=tmp_path
    ) as running:
        running.until(b"a frame")
        running.type(b"\x1a")
        running.until(LEAVE, b"stopped as before", ENTER, b"a frame")
        running.type(b"q")
        running.until(b"ended 0 as before")

        assert running.ended() == 0
        assert running.is_restored()


def test_a_frame_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    with session("screen.show(['one', 'two']); screen.show(['next'])", tmp_path) as running:
        assert running.ended() == 0

    seen = running.seen.replace(b"\r", b"")
    assert b"\x1b[Hone\x1b[K\ntwo\x1b[K\x1b[J\x1b[Hnext\x1b[K\x1b[J" in seen
