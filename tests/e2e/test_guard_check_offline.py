"""The guard while its server is stopped, or does not answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.guard_room import Room, wait_until
from tests.served import Served


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with Served(tmp_path / "store") as server:
        yield Room(server, (tmp_path / "code").resolve())


def holds(room: Room) -> bool:
    """Whether the snapshot on disk tells of a lease by now."""
    return any(b"RedStone" in file.read_bytes() and b"src/**" in file.read_bytes() for file in snapshots(room))


def snapshots(room: Room) -> list[Path]:
    return list((room.server.root / "projects").glob("*.leases.json"))


def test_what_happens_while_the_server_is_down_is_in_its_log_when_it_is_up_again(room: Room) -> None:
    room.hold("src/**")
    room.server.await_drained()
    wait_until(lambda: holds(room))
    room.server.stop()

    refused = room.commit("src/app.py")
    passed = room.run("git", "commit", "-qm", "change", AGENT_MAIL_BYPASS="1")
    offline = room.log()
    room.server.start()
    wait_until(lambda: not room.spooled())

    assert (refused.returncode, passed.returncode) == (1, 0), (refused, passed)
    assert "a snapshot of the leases" in refused.stderr
    assert "no server is running" in refused.stderr
    assert [(event["action"], event["is_spooled"]) for event in offline] == [("bypassed", True), ("refused", True)]
    assert [event["action"] for event in room.log()] == ["bypassed", "refused"]


def test_a_server_that_does_not_answer_costs_a_third_of_a_second_and_the_snapshot_decides(room: Room) -> None:
    room.hold("src/**")
    wait_until(lambda: holds(room))
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"

        done = room.commit("src/app.py", AGENT_MAIL_URL=url)

    assert done.returncode == 1
    assert "did not answer within 300 ms" in done.stderr
    assert len(room.spooled()) == 1, "nor is it asked again to record this"
