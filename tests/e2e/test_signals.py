"""Signal files beside a real server: they follow mail, and after a kill they are made true again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.served import Connection, Served, pause

PROJECT = "/code/app"
WITHIN_S = 20.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "store", NOTIFICATIONS_ENABLED="true", NOTIFICATIONS_DEBOUNCE_MS="20") as served:
        with served.connect() as connection:
            connection.call("ensure_project", human_key=PROJECT)
            for name in ("BlueLake", "RedStone", "GreenField"):
                connection.call(
                    "register_agent", project_key=PROJECT, program="tests", model="none", name=name, task_description=""
                )
        yield served


def send(connection: Connection, *to: str) -> int:
    sent = connection.call(
        "send_message", project_key=PROJECT, sender_name="BlueLake", to=[], bcc=list(to), subject="Plan", body_md="b"
    )
    return int(sent["deliveries"][0]["payload"]["id"])


def read(connection: Connection, agent: str, message_id: int) -> None:
    connection.call("mark_message_read", project_key=PROJECT, agent_name=agent, message_id=message_id)


def names(server: Served) -> list[str]:
    return sorted(path.stem for path in (server.root / "signals").glob("projects/*/agents/*.signal"))


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < deadline, f"not so within {WITHIN_S} s"
        pause()


def test_signals_follow_mail_and_the_worker_shows_in_health_and_status(server: Served) -> None:
    with server.connect() as connection:
        message_id = send(connection, "RedStone", "GreenField")
        until(lambda: names(server) == ["GreenField", "RedStone"])
        read(connection, "RedStone", message_id)
        until(lambda: names(server) == ["GreenField"])

        workers = connection.call("health_check")["workers"]

    assert workers["signals"]["last_error"] is None
    assert workers["signals"]["changed"] >= 3
    assert {name: worker["enabled"] for name, worker in workers.items()} == {
        "acknowledgements": True,
        "retention": False,
        "signals": True,
        "webhooks": False,
    }
    assert "signals\ton, " in server.am("status").stdout


def test_after_a_kill_the_next_start_makes_the_files_true(server: Served) -> None:
    with server.connect() as connection:
        message_id = send(connection, "RedStone")
    until(lambda: names(server) == ["RedStone"])
    server.kill()
    (signal,) = (server.root / "signals").glob("projects/*/agents/RedStone.signal")
    signal.rename(signal.with_name("GreenField.signal"))

    server.start()

    until(lambda: names(server) == ["RedStone"])
    assert json.loads(signal.read_bytes())["message"]["id"] == message_id


def test_a_folder_that_cannot_be_written_fails_no_send_and_shows_in_health(server: Served) -> None:
    signals = server.root / "signals"
    signals.write_text("in the way")
    with server.connect() as connection:
        send(connection, "RedStone")
        until(lambda: connection.call("health_check")["workers"]["signals"]["failed"] == 1)
        signals.unlink()

        until(lambda: names(server) == ["RedStone"])

        assert connection.call("health_check")["workers"]["signals"]["last_error"] is None
