"""Fifty agents fight for overlapping paths: never two holders of what only one may hold, and every loser is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.contest import enter, fight, ill_told, read_history, violations
from tests.served import Served

AGENTS = 50
SHORT_S = 2.5
LONG_S = 30.0


class Careless(Served):
    """A server that decides outside its unit of work."""

    def command(self) -> list[str]:
        return [sys.executable, "-P", str(Path(__file__).with_name("contest_entry.py")), "serve"]


def judge(server: Served, seconds: float) -> None:
    record = fight(server, enter(server, AGENTS), seconds)

    history = read_history(server)

    assert violations(history, record) == []
    assert ill_told(history, record) == []
    numbers = [held.fencing for held in history]
    assert len(set(numbers)) == len(numbers)
    assert len(record.sure) > AGENTS, "hardly anything was granted"
    assert len(record.lost) > AGENTS, "hardly anybody lost"
    assert {held.fencing for held in record.sure} <= set(numbers)


def test_fifty_agents_never_hold_together_what_only_one_may_hold(tmp_path: Path) -> None:
    with Served(tmp_path / "store") as server:
        judge(server, SHORT_S)


@pytest.mark.slow
def test_nor_do_they_in_half_a_minute(tmp_path: Path) -> None:
    with Served(tmp_path / "store") as server:
        judge(server, LONG_S)


@pytest.mark.slow
def test_the_judgement_sees_a_server_that_decides_outside_its_unit_of_work(tmp_path: Path) -> None:
    with Careless(tmp_path / "store") as server:
        record = fight(server, enter(server, AGENTS), SHORT_S)

        assert violations(read_history(server), record) != []
