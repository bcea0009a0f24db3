"""`make postal-burst`: what is doubled, lost or strange is counted as that, and a short burst has none of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.doors.burst import Burst, Crowd, figures, parse
from benchmarks.wire import Refused
from tests.served import Served


def test_a_message_is_doubled_lost_or_strange_or_none_of_it() -> None:
    burst = Burst(
        sent={"a", "b", "c"},
        taken=Counter({"a": 1, "b": 3, "x": 1}),
        requests=20,
        looks=8,
        wall_s=2.0,
        sends_ms=[1.0, 2.0, 3.0],
        takes_ms=[4.0],
    )

    assert (burst.doubled, burst.lost, burst.strange, burst.per_second) == (2, 1, 1, 6.0)
    told = {figure.name: (figure.median, figure.verdict) for figure in figures([burst])}
    assert list(told.items())[:4] == [
        ("sends and takes, 8 send and 4 take", (6, "missed")),
        ("messages taken twice", (2, "missed")),
        ("messages sent and not taken", (1, "missed")),
        ("messages taken and not sent", (1, "missed")),
    ]


def test_a_short_burst_at_a_real_server_takes_each_message_once(tmp_path: Path) -> None:
    with Served(tmp_path / "store", HOME=str(tmp_path), POSTAL_ENABLED="true") as served:
        burst = Crowd(served.port, 0.5).run()

    assert (burst.doubled, burst.lost, burst.strange) == (0, 0, 0)
    assert len(burst.sent) == sum(burst.taken.values()) >= 8
    assert burst.requests > len(burst.sent) + len(burst.taken)


def test_a_call_that_fails_ends_the_burst(tmp_path: Path) -> None:
    with Served(tmp_path / "store", HOME=str(tmp_path)) as served, pytest.raises(Refused):
        Crowd(served.port, 5.0).run()


def test_a_burst_is_of_half_a_minute_unless_said_otherwise() -> None:
    assert (parse([]).seconds, parse([]).bursts) == (30.0, 1)
