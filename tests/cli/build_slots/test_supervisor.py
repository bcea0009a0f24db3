from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.cli.build_slots.supervisor import PASSED_ON, SIGNALLED, Supervisor

NEVER = float(2**31)
LOOPS = "while :; do sleep 0.02; done"


def run(
    supervisor: Supervisor,
    *command: str,
    next_at: Callable[[], float] = lambda: NEVER,
    work: Callable[[], None] = lambda: None,
) -> int:
    return supervisor.run(command, os.environ, next_at=next_at, work=work)


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", SIGNALLED + 9), ("kill -TERM $$", SIGNALLED + 15)]
)
def test_the_exit_code_is_the_commands(script: str, code: int) -> None:
    with Supervisor() as supervisor:
        assert run(supervisor, "sh", "-c", script) == code
        assert supervisor.caught is None


def test_a_command_that_cannot_start_is_the_operating_systems_error(tmp_path: Path) -> None:
    with Supervisor() as supervisor, pytest.raises(FileNotFoundError):
        run(supervisor, str(tmp_path / "nothing"))


@pytest.mark.parametrize("name", ["HUP", "TERM", "USR1"])
def test_a_signal_goes_on_to_the_command_which_decides(name: str) -> None:
    with Supervisor() as supervisor:
        code = run(supervisor, "sh", "-c", f'trap "exit 3" {name}; kill -{name} $PPID; {LOOPS}')

    assert code == 3
    assert supervisor.caught == getattr(signal, f"SIG{name}")


def test_a_signal_before_the_command_is_kept_and_passed_on_then() -> None:
    with Supervisor() as supervisor:
        os.kill(os.getpid(), signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGTERM)
        caught = supervisor.caught
        code = run(supervisor, "sh", "-c", LOOPS)

    assert caught == signal.SIGUSR1
    assert code in (SIGNALLED + signal.SIGUSR1, SIGNALLED + signal.SIGTERM)


def test_a_pause_ends_with_its_time_or_with_a_signal() -> None:
    with Supervisor() as supervisor:
        is_over = supervisor.pause(0.001)
        os.kill(os.getpid(), signal.SIGTERM)
        is_interrupted = not supervisor.pause(3_600)

    assert (is_over, is_interrupted) == (True, True)


def test_handlers_are_put_back_and_what_was_ignored_stays_so() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        before = [signal.getsignal(number) for number in PASSED_ON]
        with Supervisor():
            inside = signal.getsignal(signal.SIGHUP)
            differ = [signal.getsignal(number) is not old for number, old in zip(PASSED_ON, before, strict=True)]
        after = [signal.getsignal(number) for number in PASSED_ON]
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    assert inside is signal.SIG_IGN
    assert differ == [number is not signal.SIGHUP for number in PASSED_ON]
    assert after == before


def test_work_is_done_beside_the_command_whenever_it_is_due() -> None:
    done: list[float] = []
    reading, writing = os.pipe()

    def work() -> None:
        done.append(time.monotonic())
        if len(done) == 3:
            os.write(writing, b"enough\n")

    with Supervisor() as supervisor:
        os.set_inheritable(reading, True)
        command = [sys.executable, "-c", f"import os; os.read({reading}, 1)"]
        code = run(supervisor, *command, next_at=lambda: 0.0 if len(done) < 3 else NEVER, work=work)

    os.close(reading)
    os.close(writing)
    assert (code, len(done)) == (0, 3)
