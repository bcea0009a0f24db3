"""The guard while its server is stopped, or does not answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.guarded_project import GuardedProject, wait_until
from tests.served import Served


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[GuardedProject]:
    with Served(tmp_path / "store") as server:
        yield GuardedProject(server, (tmp_path / "code").resolve())


def holds(guarded: GuardedProject) -> bool:
    """Whether the snapshot on disk tells of a lease by now."""
    return any(b"RedStone" in file.read_bytes() and b"src/**" in file.read_bytes() for file in snapshots(guarded))


def snapshots(guarded: GuardedProject) -> list[Path]:
    return list((guarded.server.root / "projects").glob("*.leases.json"))


def test_what_happens_while_the_server_is_down_is_in_its_log_when_it_is_up_again(guarded: GuardedProject) -> None:
    guarded.hold("src/**")
    guarded.server.await_drained()
    wait_until(lambda: holds(guarded))
    guarded.server.stop()

    refused = guarded.commit("src/app.py")
    passed = guarded.run("git", "commit", "-qm", "change", AGENT_MAIL_BYPASS="1")
    offline = guarded.log()
    guarded.server.start()
    wait_until(lambda: not guarded.spooled())

    assert (refused.returncode, passed.returncode) == (1, 0), (refused, passed)
    assert "a snapshot of the leases" in refused.stderr
    assert "no server is running" in refused.stderr
    assert [(event["action"], event["is_spooled"]) for event in offline] == [("bypassed", True), ("refused", True)]
    assert [event["action"] for event in guarded.log()] == ["bypassed", "refused"]


def test_a_server_that_does_not_answer_costs_a_third_of_a_second_and_the_snapshot_decides(
    guarded: GuardedProject,
) -> None:
    guarded.hold("src/**")
    wait_until(lambda: holds(guarded))
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"

        done = guarded.commit("src/app.py", AGENT_MAIL_URL=url)

    assert done.returncode == 1
    assert "did not answer within 300 ms" in done.stderr
    assert len(guarded.spooled()) == 1, "nor is it asked again to record this"
