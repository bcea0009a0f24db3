"""Which entries of a session's file are runs that are still at work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import pytest

from mcp_agent_mail.clients.hook.run_entries import is_alive, is_entry, is_within, seconds


@pytest.mark.parametrize("entry", [[1, 2.0, 3], [1.0, 2.0], [1, 2], ["1", 2.0], {}, None, 3])
def test_what_another_wrote_is_no_entry(entry: Any) -> None:
    assert is_entry([1, 2.0])
    assert not is_entry(entry)


@pytest.mark.parametrize(
    ("pid", "age_s", "is_it"),
    [(None, 4.9, True), (None, 5.1, False), (None, 60.0, False), (None, -60.0, False), (2**40, 1.0, False)],
)
def test_a_run_is_at_work_while_its_process_lives_and_for_some_seconds(
    pid: int | None, age_s: float, is_it: bool
) -> None:
    assert is_alive([pid or os.getpid(), 1_000.0], 1_000.0 + age_s) == is_it


def test_a_run_whose_process_has_ended_is_not_at_work() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    assert not is_alive([ended.pid, 1_000.0], 1_000.0)


@pytest.mark.parametrize(("ago_s", "is_it"), [(0.0, True), (9.0, True), (11.0, False), (-9.0, False)])
def test_a_short_time_ago_is_no_time_to_come(ago_s: float, is_it: bool) -> None:
    assert is_within(time.time() - ago_s, 10.0) == is_it


@pytest.mark.parametrize(("values", "found"), [([], 0.0), (["x"], 0.0), ([3], 3.0), ([2.5, 9], 2.5)])
def test_a_time_is_the_first_number_or_none(values: list[Any], found: float) -> None:
    assert seconds(values) == found
