"""The proof of the proof: with a guard taken out, the examination of the kill rounds must fail."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.checks import faults_after, verify_here
from tests.crash.clients import set_up
from tests.crash.deaths import Scene, die_at_random
from tests.crash.launched import LaunchedServer
from tests.crash.record import Record

SEED = 20_261_121
KILLS = 10
INTERVAL_MS = 500
STORE_IN_USE = 75


def faults_without_replay(root: Path, number: int) -> list[str] | None:
    """After a kill, a start that knows nothing of what was pending, and the examination; None if nothing was."""
    record = Record()
    with LaunchedServer(root, commit_interval_ms=INTERVAL_MS) as server:
        set_up(server, record)
        server.await_drained()
        die_at_random(Scene(server, record, random.Random(SEED + number), SEED + number))
        forgotten = forget_pending_events(server.database)
        server.start()
        server.await_drained()
        faults = faults_after(server, record, idle_within_s=0, verify=verify_here)
        return (
            [fault for fault in faults if "is not in Git" in fault or fault.startswith("verify")] if forgotten else None
        )


def forget_pending_events(database: Path) -> int:
    with closing(sqlite3.connect(database)) as db, db:
        return db.execute("DELETE FROM outbox WHERE commit_id IS NULL").rowcount


@pytest.mark.crash
def test_with_the_replay_of_the_outbox_taken_out_what_was_pending_at_a_kill_is_missed(tmp_path: Path) -> None:
    found = [faults_without_replay(tmp_path / f"store-{number}", number) for number in range(KILLS)]

    pending = [faults for faults in found if faults is not None]
    seen = [faults for faults in pending if faults]
    said = f"{len(seen)} of {len(pending)} kills with pending events are seen"
    print(f"without the replay of the outbox: {said}")  # noqa: T201  # for a person
    assert pending
    assert len(seen) == len(pending)


@pytest.mark.crash
def test_with_the_lock_of_the_store_taken_out_a_second_server_does_harm(tmp_path: Path) -> None:
    harm = harm_of_a_second_server(tmp_path / "store", without="store-lock")

    print(f"without the lock of the store, two servers: {'; '.join(harm)}")  # noqa: T201  # for a person
    assert harm == [
        "the first refuses its operator",
        "the first cannot be found once the second has stopped",
    ]


def test_with_the_lock_of_the_store_a_second_server_does_none(tmp_path: Path) -> None:
    assert harm_of_a_second_server(tmp_path / "store", without="") == ["the second does not start: 75"]


def harm_of_a_second_server(root: Path, *, without: str) -> list[str]:
    """One has served before the other begins; what happens to either."""
    record, harm = Record(), []
    with LaunchedServer(root, without=without) as first:
        set_up(first, record)
        first.await_drained()
        second = LaunchedServer(root, without=without)
        second.log = root.parent / "second.log"
        second.spawn()
        if not second.await_ready():
            return [f"the second does not start: {second.await_own_end()}"]
        scene = Scene(second, record, random.Random(SEED), SEED)
        with scene.clients():
            scene.work_on()
        token = (root / "operator.token").read_text().strip()
        with first.connect(Authorization=f"Bearer {token}") as operator:
            asked = {"project_key": "/crash/one", "agent_name": "BlueLake"}
            if operator.rpc("reissue_token", asked).error_type != "OK":
                harm.append("the first refuses its operator")
        second.stop()
        if "not running" in first.am("status").stdout:
            harm.append("the first cannot be found once the second has stopped")
    return harm
