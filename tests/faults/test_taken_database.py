"""The database is deleted or replaced below a whole server: what people, agents and probes are told."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.served import STOP_WITHIN_S, Answer, Served, children_of, pause
from tests.web.visits import APP, open_visits, shown_text


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_nothing_is_said_to_be_sent_that_would_be_lost(tmp_path: Path, is_replaced: bool) -> None:
    async with open_visits(tmp_path) as visits:
        kept = await visits.send(subject="Before")
        database = visits.app.store.path
        content = database.read_bytes()
        for end in ("", "-wal", "-shm"):
            database.with_name(database.name + end).unlink()
        if is_replaced:
            database.write_bytes(content)

        letter = {"project_key": APP, "sender_name": "BlueLake", "to": ["RedStone"], "subject": "x", "body_md": "x"}
        sent = await visits.app.client.post("/rpc/send_message", json=letter)
        ready = await visits.app.client.get("/health/readiness")
        health = await visits.app.call("health_check")
        page = await visits.get("/mail")

    assert (sent.status_code, sent.json()["error"]["type"]) == (503, "UNAVAILABLE")
    assert "deleted, moved or replaced" in sent.json()["error"]["message"]
    assert (ready.status_code, ready.json()["status"]) == (503, "unavailable")
    assert "deleted, moved or replaced" in ready.json()["reason"]
    assert str(tmp_path) not in ready.text
    assert (health["status"], "deleted, moved or replaced" in str(health)) == ("error", True)
    assert "Before" in shown_text(page), kept


def search(server: Served, word: str) -> list[str]:
    with server.connect() as agent:
        found = agent.call("search_messages", project_key=APP, query=word)
    return [str(one["subject"]) for one in found["result"]]


def send(server: Served, subject: str) -> Answer:
    letter = {"project_key": APP, "sender_name": "BlueLake", "to": ["RedStone"], "subject": subject, "body_md": "x"}
    with server.connect() as agent:
        return agent.rpc("send_message", letter)


def people(server: Served) -> None:
    with server.connect() as agent:
        agent.call("ensure_project", human_key=APP)
        for name in ("BlueLake", "RedStone"):
            agent.call("register_agent", project_key=APP, program="test", model="test", name=name)


def test_searches_are_right_again_once_the_very_file_is_back(tmp_path: Path) -> None:
    copy, away = tmp_path / "copy.sqlite3", tmp_path / "away.sqlite3"
    with Served(tmp_path / "store") as server:
        people(server)
        send(server, "coupon")
        with closing(sqlite3.connect(server.database)) as reading, closing(sqlite3.connect(copy)) as taken:
            reading.backup(taken)
        send(server, "zebra")
        server.stop()
        server.start()

        server.database.rename(away)
        shutil.copy(copy, server.database)
        with server.connect() as agent:
            meanwhile = agent.rpc("search_messages", {"project_key": APP, "query": "zebra"})
        away.replace(server.database)
        sent = send(server, "yak")
        found = {word: search(server, word) for word in ("coupon", "zebra", "yak")}

    assert (meanwhile.status, "deleted, moved or replaced" in meanwhile.error["message"]) == (503, True)
    assert sent.status == 200
    assert found == {word: [word] for word in ("coupon", "zebra", "yak")}


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_stop_and_a_start_keep_all_mail_where_the_log_alone_is_gone(tmp_path: Path, end: str) -> None:
    subjects = [f"zebra {number}" for number in range(40)]
    with Served(tmp_path / "store") as server:
        people(server)
        for subject in subjects:
            send(server, subject)
        log = server.database.with_name(f"{server.database.name}{end}")
        size = log.stat().st_size
        log.unlink()
        refused = [one for one in (send(server, "lost") for _ in range(3)) if one.status != 200]
        server.stop()
        server.start()

        with server.connect() as agent:
            inbox = agent.call("fetch_inbox", project_key=APP, agent_name="RedStone", limit=100)
        kept = [str(one["subject"]) for one in inbox if one["subject"] != "lost"]
        again = send(server, "lost")
        checked = server.am("doctor", "check")

    assert size > 0
    assert [one.status for one in refused] == [503] * len(refused) != []
    hint = str(refused[0].error)
    assert ("SIGTERM" in hint, "am doctor check" in hint, "rebuild" in hint) == (True, True, False)
    assert sorted(kept) == sorted(subjects)
    assert again.status == 200
    assert checked.returncode == 0, checked.stdout


def test_an_archiver_that_is_started_meanwhile_does_not_go_on_with_the_other_file(tmp_path: Path) -> None:
    away = tmp_path / "away.sqlite3"
    with Served(tmp_path / "store") as server:
        people(server)
        server.await_drained()
        server.database.rename(away)
        shutil.copy(away, server.database)

        for pid in children_of(server.pid):
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + STOP_WITHIN_S
        with server.connect() as agent:
            while "deleted, moved or replaced" not in str(agent.call("health_check")["archive"]["last_error"]):
                assert time.monotonic() < deadline, "an archiver works on the other file"
                pause()
        away.replace(server.database)
        send(server, "yak")

        server.await_drained()
