"""A backup beside busy writers is one instant of the store: everything acknowledged before it is in it."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.served import Served, pause

WRITERS = 20
_AT_LEAST = 100
"""Messages that are acknowledged before the backup begins."""
PROJECTS = ("/code/app", "/code/lib")


@dataclass
class Writer:
    """One agent that sends mail, one message after the other. `acknowledged`: their ids, in order."""

    server: Served
    number: int
    acknowledged: list[int] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    def run(self, until: threading.Event) -> None:
        project, name = PROJECTS[self.number % len(PROJECTS)], f"Writer-{self.number}"
        try:
            with self.server.connect() as connection:
                mail = {"project_key": project, "sender_name": name, "to": [name], "body_md": "text"}
                while not until.is_set():
                    subject = f"{self.number}: {len(self.acknowledged)}"
                    sent = connection.call("send_message", subject=subject, **mail)
                    self.acknowledged.append(sent["deliveries"][0]["payload"]["id"])
        except (AssertionError, OSError, HTTPException) as failure:
            self.failures.append(failure)


@contextmanager
def _writing(server: Served) -> Iterator[list[Writer]]:
    writers, until = [Writer(server, number) for number in range(WRITERS)], threading.Event()
    with server.connect() as connection:
        for project in PROJECTS:
            connection.call("ensure_project", human_key=project)
        for writer in writers:
            connection.call(
                "register_agent",
                project_key=PROJECTS[writer.number % len(PROJECTS)],
                name=f"Writer-{writer.number}",
                program="tests",
                model="none",
            )
    threads = [threading.Thread(target=writer.run, args=[until]) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        yield writers
    finally:
        until.set()
        for thread in threads:
            thread.join()


def _subjects(database: Path) -> set[str]:
    with closing(sqlite3.connect(database)) as connection:
        return {subject for (subject,) in connection.execute("SELECT subject FROM messages")}


@pytest.mark.restore
def test_a_backup_beside_twenty_writers_is_one_instant(tmp_path: Path) -> None:
    with Served(tmp_path / "store") as server:
        with _writing(server) as writers:
            while sum(len(writer.acknowledged) for writer in writers) < _AT_LEAST and not any(
                writer.failures for writer in writers
            ):
                pause()
            before = [len(writer.acknowledged) for writer in writers]
            made = server.am("doctor", "backup", "--to", str(tmp_path / "backups"), "--json")
            after = [len(writer.acknowledged) for writer in writers]
        assert [failure for writer in writers for failure in writer.failures] == []
        assert made.returncode == 0, made.stderr
    report = json.loads(made.stdout)
    elsewhere = Served(tmp_path / "elsewhere")
    restored = elsewhere.am("doctor", "restore", report["path"], "--json")
    verified = elsewhere.am("doctor", "verify", "--json")

    assert report["verified"]
    assert sum(after) > sum(before)
    assert (restored.returncode, verified.returncode) == (0, 0), restored.stderr + verified.stdout
    found = _subjects(tmp_path / "elsewhere" / "mail.sqlite3")
    for writer in writers:
        held = [number for number in range(len(writer.acknowledged) + 1) if f"{writer.number}: {number}" in found]
        # What was acknowledged before is there, and nothing without what the same writer sent earlier.
        assert held == list(range(len(held)))
        assert len(held) >= before[writer.number]
    assert len(found) == report["messages"]
