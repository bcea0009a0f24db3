"""An agent reports what its guard did: it controls every byte of the report, and of files in the spool. It must not
say who did what and when in another's name, nor keep the log from being read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import am
from tests.served import Served

PROJECT = "/code/app"
SHAPE = {"paths", "path_count", "source", "note"}

FORGED: dict[str, Any] = {
    "id": 7,
    "ts": "1999-01-01T00:00:00Z",
    "action": "refused",
    "hook": "pre-push",
    "agent": "Victim",
    "project": "/code/victim",
    "repository": "/code/victim",
    "is_spooled": False,
    "note": "said so",
}

MISSHAPEN: list[Any] = [
    {"paths": ["a string"], "path_count": [], "note": {"a": 1}},
    {"paths": [[]], "path_count": "many", "source": ["x"]},
    {"paths": {"path": "x"}, "note": 7},
    {"paths": [{"path": ["x"], "holder": {"x": 1}, "reservation_id": "x"}]},
    {"ts": ["x"], "id": {}, "action": [1]},
]
ENORMOUS = {"path_count": 10**400}
"""No number on the wire; in a file it is one."""


def _event(number: int, detail: Any, **more: Any) -> dict[str, Any]:
    return {
        "event_key": f"{number:032x}",
        "ts": "2026-01-01T00:00:00Z",
        "project": PROJECT,
        "action": "warned",
        "hook": "check",
        "agent": "Mallory",
        "repository": "/code/app",
        "detail": detail,
        **more,
    }


def _spool(store: Path) -> Path:
    folder = store / "guard-spool"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "store") as served:
        yield served


def _report(server: Served, *events: dict[str, Any]) -> int:
    body = json.dumps({"events": list(events)}).encode()
    with server.connect() as connection:
        return connection.request("POST", "/guard/events", body, {"Content-Type": "application/json"}).status


def _log(server: Served) -> list[dict[str, Any]]:
    listed = am("guard", "log", "--all", "--json", home=server.root.parent, STORAGE_ROOT=str(server.root))
    assert listed.returncode == 0, listed
    events: list[dict[str, Any]] = json.loads(listed.stdout)["events"]
    return events


def test_a_report_does_not_say_who_did_what_and_when(server: Served) -> None:
    assert _report(server, _event(1, FORGED)) == 200

    (event,) = _log(server)

    assert (event["agent"], event["action"], event["hook"], event["ts"][:4]) == ("Mallory", "warned", "check", "2026")
    assert (event["project"], event["repository"], event["note"]) == (PROJECT, "/code/app", "said so")


def test_a_report_of_any_shape_leaves_the_log_readable(server: Served) -> None:
    reported = [_report(server, _event(number, detail)) for number, detail in enumerate(MISSHAPEN, start=1)]

    events = _log(server)
    shown = am("guard", "log", "--all", home=server.root.parent, STORAGE_ROOT=str(server.root))

    assert set(reported) == {200}
    assert len(events) == len(MISSHAPEN)
    assert all(set(event) >= SHAPE and isinstance(event["path_count"], int) for event in events)
    assert shown.returncode == 0, shown


def test_what_was_stored_by_an_older_version_is_shown_in_its_own_fields(tmp_path: Path) -> None:
    import sqlite3

    with Served(tmp_path / "store") as server:
        assert _report(server, _event(1, {}), _event(2, {})) == 200
    for number, detail in enumerate((json.dumps(FORGED), "[1, 2]"), start=1):
        with sqlite3.connect(tmp_path / "store" / "mail.sqlite3") as store:
            store.execute("UPDATE guard_events SET detail = ? WHERE id = ?", (detail, number))
        store.close()

    with server:
        events = _log(server)

    assert [event["agent"] for event in events] == ["Mallory", "Mallory"]
    assert {event["id"] for event in events} == {1, 2}


def test_the_spool_of_before_is_shown_whatever_lies_in_it(tmp_path: Path) -> None:
    folder = _spool(tmp_path / ".mcp_agent_mail")
    for number, detail in enumerate([FORGED, *MISSHAPEN, ENORMOUS], start=1):
        (folder / f"{number:032x}.json").write_text(json.dumps(_event(number, detail)))
    (folder / "deep.json").write_text("[" * 15_000)
    os.mkfifo(folder / "fifo.json")
    (folder / "zero.json").symlink_to("/dev/zero")

    listed = am("guard", "log", "--all", "--json", home=tmp_path)
    shown = am("guard", "log", "--all", home=tmp_path)

    assert (listed.returncode, shown.returncode) == (0, 0), listed
    events = json.loads(listed.stdout)["events"]
    assert {event["agent"] for event in events} == {"Mallory"}
    assert len(events) == 2 + len(MISSHAPEN)


def test_the_server_takes_in_the_spool_whatever_lies_in_it(tmp_path: Path) -> None:
    store = tmp_path / "store"
    folder = _spool(store)
    (folder / "deep.json").write_text("[" * 15_000)
    os.mkfifo(folder / "fifo.json")
    (folder / "zero.json").symlink_to("/dev/zero")
    (folder / f"{1:032x}.json").write_text(json.dumps(_event(1, FORGED)))

    with Served(store) as server:
        events = _log(server)

    assert [event["agent"] for event in events] == ["Mallory"]
    assert "Traceback" not in server.log.read_text()


@pytest.mark.parametrize("auth", ["strict", "open"])
def test_another_projects_token_reports_nothing_for_a_project(tmp_path: Path, auth: str) -> None:
    with Served(tmp_path / "store", AGENT_AUTH=auth) as server:
        tokens = [_member(server, project, name) for project, name in ((PROJECT, "Bob"), ("/code/other", "Mallory"))]

        bob, mallory = (
            _report_as(server, token, _event(number, {}), _event(number + 10, {}))
            for number, token in enumerate(tokens)
        )
        events = _log(server)

    assert (bob, mallory) == (200, 403)
    assert len(events) == 2


def test_under_strict_nobody_reports_for_a_project_that_is_none(tmp_path: Path) -> None:
    with Served(tmp_path / "store", AGENT_AUTH="strict") as server:
        token = _member(server, PROJECT, "Bob")

        refused = _report_as(server, token, _event(1, {}), _event(2, {}, project="/code/nowhere"))

        assert (refused, _log(server)) == (404, [])


def _member(server: Served, project: str, name: str) -> str:
    with server.connect() as anyone:
        anyone.call("ensure_project", human_key=project)
        made = anyone.call("register_agent", project_key=project, name=name, program="tests", model="none")
    return str(made["registration_token"])


def _report_as(server: Served, token: str, *events: dict[str, Any]) -> int:
    body = json.dumps({"events": list(events)}).encode()
    with server.connect(**{"X-Agent-Token": token}) as connection:
        return connection.request("POST", "/guard/events", body, {"Content-Type": "application/json"}).status
