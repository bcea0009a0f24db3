"""Rows of the facts about postal that a process shows: its start, its end, and the specification's own commands."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

from tests.facades.postal.rows import shows
from tests.served import Served
from tests.server.test_asgi import uvicorn

CURL_SENDS = r"""
curl -X POST http://localhost:8000/agents/alice/mcp/ \
  -H "Content-Type: application/json" \
  -d '{"tool": "send_to_agent", "args": {"name":"bob","msg":"ping"}}'
"""
CURL_CHECKS = r"""
curl -X POST http://localhost:8000/agents/bob/mcp/ \
  -H "Content-Type: application/json" \
  -d '{"tool": "check_mail", "args": {}}'
"""
"""As the specification prints them."""


def _curl(command: str, port: int) -> Any:
    done = subprocess.run(
        ["sh", "-c", command.replace("curl ", "curl -sS ").replace(":8000/", f":{port}/")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


@shows("start", "B8", "B9")
def test_uvicorn_starts_it_with_nothing_there_and_the_two_curl_lines_do_what_they_say(tmp_path: Path) -> None:
    with uvicorn(tmp_path) as server:
        sent = _curl(CURL_SENDS, server.port)
        message = _curl(CURL_CHECKS, server.port)
        server.end()

    assert (message["id"], message["content"], message["from"]) == (sent, "ping", "alice")
    assert {line.partition(":")[0] for line in server.log.read_text().splitlines()} == {"INFO"}
    assert (tmp_path / "store" / "mail.sqlite3").is_file()


def _ask(served: Served, agent: str, tool: str, **arguments: Any) -> Any:
    body = json.dumps({"tool": tool, "args": arguments}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{served.port}/agents/{agent}/mcp", body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


@shows("PM-22", "B10")
def test_unread_mail_survives_a_restart_and_a_kill_and_what_was_taken_stays_taken(tmp_path: Path) -> None:
    with Served(tmp_path / "store", HOME=str(tmp_path), POSTAL_ENABLED="true") as served:
        for text in ("one", "two", "three", "four"):
            _ask(served, "alice", "send_to_agent", name="bob", msg=text)
        served.stop()
        served.start()
        first = _ask(served, "bob", "check_mail")
        _ask(served, "alice", "send_to_agent", name="carol", msg="one unit of work later the first is marked")
        served.kill()
        served.start()
        rest = [_ask(served, "bob", "check_mail") for _ in range(4)]

    assert first["content"] == "one"
    assert [one and one["content"] for one in rest] == ["two", "three", "four", None]


@shows("B4")
def test_what_was_taken_says_when_it_was_created_and_how_long_it_waited_is_a_figure(tmp_path: Path) -> None:
    with Served(tmp_path / "store", HOME=str(tmp_path), POSTAL_ENABLED="true") as served:
        _ask(served, "alice", "send_to_agent", name="bob", msg="ping")
        message = _ask(served, "bob", "check_mail")
        with urllib.request.urlopen(f"http://127.0.0.1:{served.port}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()

    assert list(message)[-1] == "created"
    assert 'agent_mail_door_wait_seconds_bucket{door="postal",le="+Inf"} 1.0' in lines
    assert 'agent_mail_door_wait_seconds_count{door="postal"} 1.0' in lines
