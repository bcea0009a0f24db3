"""The whole server: started twice at once, stopped under load, on a disk that is full."""

from __future__ import annotations

import http.client
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.crash.checks import faults_after
from tests.crash.clients import Agent, set_up
from tests.crash.record import Record
from tests.faults.disks import fill_disk, small_disk
from tests.served import STOP_WITHIN_S, Answer, Connection, Served, pause

CLIENTS = 8
SEED = 20_261_121
STORE_IN_USE = 75
PROJECT = "/code/app"


def spawn(server: Served) -> subprocess.Popen[str]:
    """A server process nobody waits for."""
    return subprocess.Popen(
        [*server.command(), "--host", "127.0.0.1", "--port", str(server.port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=server.root.parent,
        env=server.environment(),
    )


def await_end(processes: list[subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """The first of them that ends."""
    deadline = time.monotonic() + STOP_WITHIN_S
    while True:
        for process in processes:
            if process.poll() is not None:
                return process
        assert time.monotonic() < deadline, "both of them run"
        pause()


def test_of_two_servers_started_at_once_one_serves_and_the_other_says_who_does(tmp_path: Path) -> None:
    root = tmp_path / "store"
    root.mkdir()
    processes = [spawn(Served(root)) for _ in range(2)]

    loser = await_end(processes)
    (winner,) = [process for process in processes if process is not loser]
    _, said = loser.communicate()
    assert winner.stdout is not None
    announced = winner.stdout.readline()
    winner.send_signal(signal.SIGTERM)
    winner.communicate(timeout=STOP_WITHIN_S)

    assert loser.returncode == STORE_IN_USE
    assert f"is in use by process {winner.pid}" in said
    assert "another STORAGE_ROOT is another store" in said
    assert re.search(r"serves http://127\.0\.0\.1:\d+", announced)
    assert winner.returncode == 0


def test_a_stop_under_load_keeps_what_was_acknowledged_and_brings_all_of_it_into_git(tmp_path: Path) -> None:
    record = Record()
    with Served(tmp_path / "store", ALLOW_ABSOLUTE_ATTACHMENT_PATHS="true") as server:
        set_up(server, record)
        agents = [Agent(server, record, number, SEED) for number in range(CLIENTS)]
        for agent in agents:
            agent.start()
        deadline = time.monotonic() + STOP_WITHIN_S
        while len(record.sent) < 100:
            assert time.monotonic() < deadline, "no load"
            pause()

        assert server.process is not None
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(STOP_WITHIN_S)
        for agent in agents:
            agent.join()
        without_server = server.am("doctor", "verify", "--json")
        server.start()
        faults = faults_after(server, record)

    assert code == 0
    assert '"pending_events": 0' in without_server.stdout
    assert without_server.returncode == 0, without_server.stdout
    assert faults == []


def test_on_a_full_disk_sends_are_refused_reads_answer_and_both_catch_up_once_there_is_room(tmp_path: Path) -> None:
    """Database and archives on one small disk of their own."""
    with small_disk(tmp_path / "disk", size_kib=6_144) as disk:
        (disk / "store").mkdir(mode=0o700)
        with Served(disk / "store", LOG_LEVEL="ERROR", STORE_MIN_FREE_BYTES="0") as server:
            server.log = tmp_path / "server.log"
            with server.connect() as connection:
                kept = [register_and_send(connection)]
                server.await_drained()
                ballast = fill_disk(disk)

                refused, sent = send_until_refused(connection)
                inbox = inbox_of(connection)
                alive = connection.request("GET", "/health/liveness").status
                ballast.unlink()
                after = send(connection, "After")

                assert refused.status == http.client.SERVICE_UNAVAILABLE
                assert refused.error["type"] == "UNAVAILABLE"
                assert refused.error["hint"].startswith("Free some space on the disk of the store.")
                assert inbox == [*kept, *sent]
                assert alive == http.client.OK
                assert after.status == http.client.OK
                server.await_drained()
                assert inbox_of(connection) == [*kept, *sent, id_of(after)]
            verified = server.am("doctor", "verify")
            assert verified.returncode == 0, verified.stdout


def test_a_disk_that_fills_up_stops_sends_by_itself_health_says_why_and_room_lets_them_go_on(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=24 * 1024) as disk:
        (disk / "store").mkdir(mode=0o700)
        with (
            Served(disk / "store", LOG_LEVEL="ERROR", STORE_MIN_FREE_BYTES="8MiB") as server,
            server.connect() as connection,
        ):
            kept = register_and_send(connection)
            ballast = disk / "ballast"
            ballast.write_bytes(b"x" * (shutil.disk_usage(disk).free - 6 * 2**20))
            full = await_health(connection, lambda health: health["store"]["last_error"] is not None)

            refused = send(connection, "Refused")
            mark = {"project_key": PROJECT, "agent_name": "RedStone", "message_id": kept}
            marked = connection.rpc("mark_message_read", mark)
            ready = connection.request("GET", "/health/readiness").status
            status = server.am("status")
            ballast.unlink()
            await_health(connection, lambda health: health["status"] == "ok")
            after = send(connection, "After")

            assert refused.status == http.client.SERVICE_UNAVAILABLE
            assert (refused.error["type"], refused.error["recoverable"]) == ("UNAVAILABLE", True)
            assert full["status"] == "degraded"
            assert full["store"]["last_error"] == f"{refused.error['message']} {refused.error['hint']}"
            assert refused.error["message"] in " ".join(status.stdout.split())
            assert (marked.status, ready) == (http.client.OK, http.client.OK)
            assert inbox_of(connection) == [kept, id_of(after)]


def await_health(connection: Connection, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Once the server says that it is so; it looks every few seconds."""
    deadline = time.monotonic() + STOP_WITHIN_S
    while not is_so(health := connection.call("health_check")):
        assert time.monotonic() < deadline, health
        pause()
    found: dict[str, Any] = health
    return found


def register_and_send(connection: Connection) -> int:
    connection.call("ensure_project", human_key=PROJECT)
    for name in ("BlueLake", "RedStone"):
        connection.call("register_agent", project_key=PROJECT, name=name, program="tests", model="none")
    return id_of(send(connection, "Before"))


def send(connection: Connection, subject: str, body: str = "body") -> Answer:
    letter = {"project_key": PROJECT, "sender_name": "BlueLake", "to": ["RedStone"], "subject": subject}
    return connection.rpc("send_message", {**letter, "body_md": body})


def id_of(answer: Answer) -> int:
    assert answer.status == http.client.OK, answer.value
    number: int = answer.value["deliveries"][0]["payload"]["id"]
    return number


def send_until_refused(connection: Connection) -> tuple[Answer, list[int]]:
    """The log may have room for some yet: the refusal, and the ids of those that were acknowledged before it."""
    sent: list[int] = []
    while (answer := send(connection, "Large", "z" * 200_000)).status == http.client.OK:
        sent.append(id_of(answer))
        assert len(sent) < 100, "the disk is never full"
    return answer, sent


def inbox_of(connection: Connection) -> list[int]:
    page = connection.call("fetch_inbox", project_key=PROJECT, agent_name="RedStone", after_id=0, limit=1000)
    return [item["id"] for item in page]
