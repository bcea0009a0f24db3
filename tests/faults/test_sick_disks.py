"""A real server while a disk hangs or cannot be read: whose trouble that is, and how it ends."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.faults.sick import SickDisk, sick_disk
from tests.served import Connection, Json, Served, pause

pytestmark = pytest.mark.slow

BLUE = "BlueLake"
WITHIN_S = 60.0
CALLS_INTO_THE_DEAD = 12
"""More than the threads of asyncio's own pool here, and than ours."""


def move_in(connection: Connection, project: Path) -> str:
    project.mkdir(parents=True, exist_ok=True)
    connection.call("ensure_project", human_key=str(project))
    connection.call("register_agent", project_key=str(project), name=BLUE, program="tests", model="none")
    return str(project)


def reserve(connection: Connection, project: str, path: str) -> Json:
    answer = connection.rpc("file_reservation_paths", {"project_key": project, "agent_name": BLUE, "paths": [path]})
    return answer.value


@contextmanager
def in_threads(server: Served, project: str, count: int) -> Iterator[list[Json]]:
    """So many callers that reserve in the dead project; their answers, None when the server hung up."""
    answers: list[Json] = []

    def call(number: int) -> None:
        try:
            with server.connect() as connection:
                answers.append(reserve(connection, project, f"src/{number}"))
        except (OSError, http.client.HTTPException):
            answers.append(None)

    threads = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    yield answers
    for thread in threads:
        thread.join(WITHIN_S)


def until_metric(connection: Connection, name: str) -> None:
    """Until this figure is more than nothing."""
    deadline = time.monotonic() + WITHIN_S
    while not metric(connection, name):
        assert time.monotonic() < deadline, name
        pause()


def metric(connection: Connection, name: str) -> float:
    connection._http.request("GET", "/metrics")
    text = connection._http.getresponse().read().decode()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(f"mcp_agent_mail_{name}"))


@contextmanager
def served(tmp_path: Path, disk: SickDisk, **env: str) -> Iterator[Served]:
    server = Served(tmp_path / "store", port=None, **disk.environment(), **env)
    try:
        with server:
            yield server
    finally:
        disk.heal()


def error_of(value: Any) -> str:
    return str(value["error"]["type"])


def test_a_dead_mount_is_the_trouble_of_its_projects_alone(tmp_path: Path) -> None:
    disk = sick_disk(tmp_path, tmp_path / "dead")
    with served(tmp_path, disk) as server, server.connect() as connection:
        dead = move_in(connection, disk.below / "app")
        live = move_in(connection, tmp_path / "live")
        disk.hang()

        with in_threads(server, dead, CALLS_INTO_THE_DEAD) as answers:
            granted = reserve(connection, live, "src/a.py")["granted"]
            new = connection.call("ensure_project", human_key=str(tmp_path / "other"))
            unknown = connection.rpc("ensure_project", {"human_key": str(disk.below / "new")}).value
            by_path = connection.rpc("list_agents", {"project_key": str(disk.below / "nobody's")}).value
            known = connection.call("ensure_project", human_key=dead)
        again = reserve(connection, dead, "src/again")
        sent = connection.call(
            "send_message", project_key=dead, sender_name=BLUE, to=[BLUE], subject="Here", body_md="still"
        )
        hint = again["error"]["hint"]
        disk.heal()
        deadline = time.monotonic() + WITHIN_S
        while "error" in (healed := reserve(connection, dead, "src/healed")):
            assert time.monotonic() < deadline, healed
            pause()

    assert len(granted) == 1
    assert new["human_key"] == str(tmp_path / "other")
    assert [error_of(unknown), error_of(by_path)] == ["UNAVAILABLE", "UNAVAILABLE"]
    assert known["human_key"] == dead
    assert [error_of(answer) for answer in answers] == ["UNAVAILABLE"] * CALLS_INTO_THE_DEAD
    assert "`ls`" in hint
    assert sent["count"] == 1
    assert len(healed["granted"]) == 1


def test_many_dead_projects_do_not_stop_the_next_one(tmp_path: Path) -> None:
    disk = sick_disk(tmp_path, tmp_path / "dead")
    with served(tmp_path, disk) as server, server.connect() as connection:
        dead = [move_in(connection, disk.below / f"app{number}") for number in range(10)]
        live = move_in(connection, tmp_path / "live")
        disk.hang()
        callers = [threading.Thread(target=_reserve_alone, args=(server, one), daemon=True) for one in dead]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(WITHIN_S)

        silent = metric(connection, "silent_directories")
        granted = reserve(connection, live, "src/a.py")["granted"]

    assert silent > 8
    assert len(granted) == 1


def _reserve_alone(server: Served, project: str) -> None:
    with server.connect() as connection:
        assert error_of(reserve(connection, project, "src/a.py")) == "UNAVAILABLE"


def test_a_stop_does_not_wait_for_looks_that_hang(tmp_path: Path) -> None:
    disk = sick_disk(tmp_path, tmp_path / "dead")
    with served(tmp_path, disk) as server:
        with server.connect() as connection:
            dead = move_in(connection, disk.below / "app")
            disk.hang()
        with in_threads(server, dead, CALLS_INTO_THE_DEAD), server.connect() as connection:
            reserve(connection, dead, "src/a.py")
            process = server.process
            assert process is not None

            server.stop()

    assert process.returncode == 0
    assert "Traceback" not in server.log.read_text()


def test_archiving_goes_on_after_reads_of_the_store_have_failed(tmp_path: Path) -> None:
    disk = sick_disk(tmp_path, tmp_path / "store")
    with served(tmp_path, disk, ARCHIVE_COMMIT_INTERVAL_MS="5000") as server, server.connect() as connection:
        project = move_in(connection, tmp_path / "app")
        server.await_drained()
        connection.call("send_message", **_mail(project))
        disk.fail_reads()
        # The archiver commits it some seconds later; the server marks that, and then reads how far behind it is.
        deadline = time.monotonic() + WITHIN_S
        while "archiver failed" not in server.log.read_text():
            assert time.monotonic() < deadline, server.log.read_text()[-2000:]
            pause()

        disk.heal()

        connection.call("send_message", **_mail(project))
        server.await_drained()
        health = connection.call("health_check")

    assert health["failing"] == []
    assert health["status"] == "ok"


def _mail(project: str) -> dict[str, Json]:
    return {"project_key": project, "sender_name": BLUE, "to": [BLUE], "subject": "Here", "body_md": "text"}
