"""`kill -9` at random instants under concurrent clients: nothing that was acknowledged is ever lost."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.checks import faults_after
from tests.crash.clients import Agent, set_up
from tests.crash.record import Record
from tests.served import Served, children_of

CLIENTS = 8
AT_LEAST_S = 0.2
AT_MOST_S = 2.0
ROUNDS = 10
KILLS_OF_THE_ARCHIVER = 5  # each pause before a new one is twice as long
ROUNDS_IN_EVERY_TEST_RUN = 2
SEED = 20_261_121


def work_until_killed(server: Served, record: Record, seed: int) -> None:
    """Let the agents work for a random while, then kill the server without a word."""
    agents = [Agent(server, record, number, seed) for number in range(CLIENTS)]
    for agent in agents:
        agent.start()
    threading.Event().wait(random.Random(seed).uniform(AT_LEAST_S, AT_MOST_S))
    server.kill()
    for agent in agents:
        agent.join()


def rounds(server: Served, record: Record, count: int) -> None:
    for number in range(count):
        before = len(record.sent)
        work_until_killed(server, record, SEED + number)
        server.start()
        server.await_drained()
        faults = faults_after(server, record)
        assert faults == [], f"round {number}: {faults[:20]}"
        assert len(record.sent) > before, "the clients got something done"
        print(f"round {number + 1}: {len(record.sent)} sends acknowledged so far, none lost")  # noqa: T201  # for a person


def test_two_kills_of_the_server_lose_nothing(tmp_path: Path) -> None:
    record = Record()
    with Served(tmp_path / "store") as server:
        set_up(server, record)

        rounds(server, record, ROUNDS_IN_EVERY_TEST_RUN)


@pytest.mark.crash
def test_ten_kills_of_the_server_lose_nothing(tmp_path: Path) -> None:
    record = Record()
    with Served(tmp_path / "store") as server:
        set_up(server, record)

        rounds(server, record, ROUNDS)


@pytest.mark.crash
def test_killing_the_archiver_again_and_again_loses_nothing_and_the_server_starts_a_new_one(tmp_path: Path) -> None:
    record = Record()
    with Served(tmp_path / "store") as server:
        set_up(server, record)
        agents = [Agent(server, record, number, SEED) for number in range(CLIENTS)]
        for agent in agents:
            agent.start()

        killed = kill_archivers(server.pid, KILLS_OF_THE_ARCHIVER)

        for agent in agents:
            agent.leave()
            agent.join()
        server.await_drained()
        assert len(killed) == KILLS_OF_THE_ARCHIVER
        assert faults_after(server, record) == []


def kill_archivers(server_pid: int, count: int) -> list[int]:
    """Kill the server's child `count` times, a new one each time."""
    chance = random.Random(SEED)
    killed: list[int] = []
    while len(killed) < count:
        threading.Event().wait(chance.uniform(0.1, 0.8))
        for child in children_of(server_pid):
            if child not in killed:
                os.kill(child, signal.SIGKILL)
                killed.append(child)
    return killed


@pytest.mark.crash
def test_killing_server_and_archiver_together_loses_nothing(tmp_path: Path) -> None:
    record = Record()
    with Served(tmp_path / "store") as server:
        set_up(server, record)
        for number in range(3):
            children = children_of(server.pid)
            work_until_killed(server, record, SEED + 100 + number)
            for child in children:
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            server.start()
            server.await_drained()

            assert faults_after(server, record) == []


@pytest.mark.crash
def test_with_the_replay_of_the_outbox_taken_out_the_check_fails(tmp_path: Path) -> None:
    """The proof of the proof: events that were pending at the kill are forgotten, as without a replay."""
    record = Record()
    with Served(tmp_path / "store", ARCHIVE_COMMIT_INTERVAL_MS="60000") as server:
        set_up(server, record)
        work_until_killed(server, record, SEED)
        assert forget_pending_events(server.database) > 0
        server.start()
        server.await_drained()

        faults = faults_after(server, record)

    assert [fault for fault in faults if "is not in Git" in fault] != []
    assert [fault for fault in faults if fault.startswith("am doctor verify gives")] != []


def forget_pending_events(database: Path) -> int:
    with closing(sqlite3.connect(database)) as db, db:
        return db.execute("DELETE FROM outbox WHERE commit_id IS NULL").rowcount
