"""A client that hopes for a person at the log: escapes and unseen characters in everything that a request names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.served import Connection, Served

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b\u202e\u061c\U000e0041\u200b\r\nINFO forged: line"
ENCODED = "%1b%5d0;owned%07%1b%5b2J%c2%9b%e2%80%ae%d8%9c%f3%a0%81%81%e2%80%8b%0d%0aINFO forged: line".replace(
    " ", "%20"
)
RAW = "\x1b\x07\x9b\u202e\u061c\U000e0041\u200b\r"
TALKATIVE: Any = {  # the names and values of settings, as keyword arguments
    "TOOLS_LOG_ENABLED": "true",
    "HTTP_REQUEST_LOG_ENABLED": "true",
    "DATABASE_ECHO": "true",
    "INSTRUMENTATION_ENABLED": "true",
    "INSTRUMENTATION_SLOW_QUERY_MS": "1",
    "LOG_LEVEL": "DEBUG",
}


def _call_with_escapes_everywhere(client: Connection) -> None:
    headers = {"Content-Type": "application/json", "X-Tool-Profile": "\x9b2J", "X-Request-Id": "\x9b2J"}
    for path in (f"/rpc/{ENCODED}", f"/{ENCODED}", f"/mcp/{ENCODED}?format={ENCODED}", f"/health/{ENCODED}"):
        client.request("POST", path, b"{}", headers)
    client.rpc(ENCODED, {})
    client.rpc("ensure_project", {"human_key": f"/{ESCAPE}"})
    client.rpc("whois", {"project_key": ESCAPE, "agent_name": ESCAPE, ESCAPE: 1})
    client.rpc("read_resource", {"uri": f"resource://{ESCAPE}?{ESCAPE}"})
    client.open_session()
    client.mcp("tools/call", name=ESCAPE, arguments={ESCAPE: ESCAPE})
    client.mcp("resources/read", uri=f"resource://inbox/{ESCAPE}?project={ESCAPE}")
    client.mcp("prompts/get", name=ESCAPE)
    client.mcp(ESCAPE)


@pytest.mark.parametrize("json_enabled", ["false", "true"])
def test_no_escape_of_a_client_reaches_the_log(json_enabled: str, tmp_path: Path) -> None:
    with Served(tmp_path / "home", LOG_JSON_ENABLED=json_enabled, **TALKATIVE) as server:
        with Connection(server.port) as client:
            _call_with_escapes_everywhere(client)
        server.stop()
        log = server.log.read_bytes().decode("utf-8", "backslashreplace")

    assert "owned" in log
    assert [character for character in RAW if character in log] == []
    forged = [line for line in log.splitlines() if line.startswith("INFO forged")]
    assert forged == []
    if json_enabled == "true":
        told = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
        assert any("owned" in json.dumps(one) for one in told)
        assert all(isinstance(one, dict) for one in told)
