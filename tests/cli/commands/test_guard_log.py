"""`am guard log`: from the server, from the store, and from what waits in the spool."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.cli.command_line import am
from tests.served import Served, pause

PROJECT = "/code/app"


def _event(number: int, **more: object) -> dict[str, object]:
    return {
        "event_key": f"{number:032x}",
        "ts": f"2026-01-0{number}T00:00:00+00:00",
        "project": PROJECT,
        "action": "refused",
        "hook": "pre-commit",
        "agent": "BlueLake",
        "repository": "/code/app",
        "detail": {
            "paths": [{"path": "src/\x1b[31mapp.py", "holder": "RedStone"}],
            "path_count": 3,
            "source": "the server",
            "note": "",
        },
        **more,
    }


def _spool(store: Path, *events: dict[str, object]) -> None:
    folder = store / "guard-spool"
    folder.mkdir(parents=True, exist_ok=True)
    for event in events:
        (folder / f"{event['event_key']}.json").write_text(json.dumps(event))


def test_what_waits_in_the_spool_is_listed_before_a_server_ever_ran(tmp_path: Path) -> None:
    _spool(
        tmp_path / ".mcp_agent_mail",
        _event(1),
        _event(2, project="/code/other"),
        _event(3, action="bypassed"),
        _event(4, action="nonsense"),
    )
    (tmp_path / ".mcp_agent_mail" / "guard-spool" / "junk.json").write_text("{")

    listed = am("guard", "log", "--project", PROJECT, home=tmp_path)
    of_all = am("guard", "log", "--all", "--json", "--limit", "2", home=tmp_path)

    assert [line.split("\t")[1] for line in listed.stdout.splitlines()] == ["bypassed", "refused"], listed
    assert "src/\\x1b[31mapp.py (RedStone), and 2 more" in listed.stdout
    events = json.loads(of_all.stdout)["events"]
    assert [(event["ts"][:10], event["is_spooled"]) for event in events] == [("2026-01-03", True), ("2026-01-02", True)]


def test_with_neither_server_nor_store_nor_spool_it_says_so(tmp_path: Path) -> None:
    assert am("guard", "log", "--project", PROJECT, home=tmp_path, HTTP_PORT="1").returncode == 69


def test_the_spool_is_brought_in_at_the_start_and_read_from_server_and_store(tmp_path: Path) -> None:
    with Served(tmp_path / "store") as server:
        with server.connect() as connection:
            connection.call("ensure_project", human_key=PROJECT)
        server.stop()
        _spool(tmp_path / "store", _event(1), _event(2, project="/code/unknown"), _event(4, action="nonsense"))
        server.start()
        running = json.loads(server.am("guard", "log", "--project", PROJECT, "--json").stdout)["events"]
        while list((tmp_path / "store" / "guard-spool").iterdir()):
            pause()
    stopped = json.loads(server.am("guard", "log", "--all", "--json").stdout)["events"]

    assert [event["ts"][:10] for event in running] == ["2026-01-01"], "there, or on its way"
    assert [(event["ts"][:10], event["is_spooled"]) for event in stopped] == [
        ("2026-01-02", False),
        ("2026-01-01", False),
    ]


def test_what_a_server_has_taken_in_but_not_taken_away_yet_is_listed_once(tmp_path: Path) -> None:
    with Served(tmp_path / "store") as server:
        with server.connect() as connection:
            connection.call("ensure_project", human_key=PROJECT)
        server.stop()
        _spool(tmp_path / "store", _event(1))
        server.start()
        while list((tmp_path / "store" / "guard-spool").iterdir()):
            pause()
        # The server looks again in a minute: until then these lie beside what it has stored.
        _spool(tmp_path / "store", _event(1), _event(2), _event(4, action="nonsense"))
        listed = json.loads(server.am("guard", "log", "--project", PROJECT, "--json").stdout)["events"]

    assert [(event["ts"][:10], event["is_spooled"]) for event in listed] == [
        ("2026-01-02", True),
        ("2026-01-01", False),
    ]


def test_in_a_guarded_repository_the_project_is_the_one_recorded_there(tmp_path: Path) -> None:
    code = tmp_path / "elsewhere"
    code.mkdir()
    for arguments in (["init", "-q"], ["config", "agent-mail.project", PROJECT]):
        subprocess.run(["git", *arguments], cwd=code, check=True)
    _spool(tmp_path / ".mcp_agent_mail", _event(1), _event(2, project=str(code)))

    listed = am("guard", "log", "--json", home=tmp_path, cwd=code)

    assert [event["project"] for event in json.loads(listed.stdout)["events"]] == [PROJECT]
