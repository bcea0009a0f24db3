"""The lock files of a store, with whoever holds them now."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.features.introspection.locks import KnownLock, look_at

MADE = Micros(1_800_000_000 * SECOND)


def lock(path: Path, pid: int | None = None, *, is_made: bool = True) -> KnownLock:
    if is_made:
        path.touch()
        os.utime(path, ns=(MADE * 1_000, MADE * 1_000))
    return KnownLock(path=path, category="store", owner_pid=lambda: pid)


def test_a_lock_without_a_file_is_left_out(tmp_path: Path) -> None:
    assert look_at([lock(tmp_path / "none", is_made=False)], lambda: MADE) == []


def test_a_free_lock_has_no_owner_and_the_age_of_its_file(tmp_path: Path) -> None:
    (state,) = look_at([lock(tmp_path / "free")], lambda: Micros(MADE + 2 * SECOND))

    assert (state.owner_pid, state.owner_alive) == (None, False)
    assert (state.created_ts, state.age_s) == (MADE, 2.0)


def test_a_file_from_a_time_to_come_has_no_age(tmp_path: Path) -> None:
    (state,) = look_at([lock(tmp_path / "free")], lambda: Micros(MADE - SECOND))

    assert state.age_s == 0.0


def test_an_owner_is_alive_while_its_process_is_there(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    locks = [lock(tmp_path / "own", os.getpid()), lock(tmp_path / "dead", ended.pid), lock(tmp_path / "first", 1)]

    states = look_at(locks, lambda: MADE)

    assert [(state.owner_pid, state.owner_alive) for state in states] == [
        (os.getpid(), True),
        (ended.pid, False),
        (1, True),
    ]
