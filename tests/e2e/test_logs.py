"""The logs of a server at its most talkative: the id of the request in every line of it, and never mail or a token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.bad_input_samples import (
    ENDED_RESERVATION,
    PROJECT,
    REPOSITORY,
    TOKENS,
    TOOLS,
    VALID,
    fill_in,
)
from tests.served import Connection, Served, git

MARK = "ZEBRA-7Q4"
SERVER_TOKEN = f"server-token-{MARK}"
AGENT_TOKEN = f"amt_{MARK}{'x' * 30}"
TALKATIVE = {
    "LOG_LEVEL": "DEBUG",
    "LOG_JSON_ENABLED": "true",
    "TOOLS_LOG_ENABLED": "true",
    "HTTP_REQUEST_LOG_ENABLED": "true",
    "DATABASE_ECHO": "true",
    "HTTP_BEARER_TOKEN": SERVER_TOKEN,
}
WRITTEN = (
    "subject",
    "body_md",
    "query",
    "task_description",
    "note",
    "reason",
    "file_reservation_reason",
    "welcome_subject",
    "welcome_body",
)


def marked(tool: str) -> dict[str, Any]:
    """Arguments that succeed, with the mark in every text an agent may write."""
    texts = {name: f"text {MARK}" for name in TOOLS[tool]["params"] if name in WRITTEN}
    return {**VALID[tool], **texts}


def refused(tool: str) -> Iterator[dict[str, Any]]:
    """One call per parameter, each with the mark where it is wrong, or a wrong token, or an unknown parameter."""
    for name, param in TOOLS[tool]["params"].items():
        if name in TOKENS:
            yield {**marked(tool), name: AGENT_TOKEN}
        elif param["type"] == "list[str]":
            yield {**marked(tool), name: [f"{MARK}@nowhere", MARK]}
        elif name not in ("human_key", "body_md", "subject", "query"):
            yield {**marked(tool), name: f"{MARK} \0 {MARK}"}
    yield {**marked(tool), "unknown": MARK}


def work(connection: Connection, places: dict[str, Any]) -> int:
    """Every tool through both doors, with success and with failure; how many requests that were."""
    connection.call("ensure_project", human_key=PROJECT)
    for name in ("BlueLake", "RedStone"):
        connection.call("register_agent", project_key=PROJECT, name=name, program="tests", model="none")
    connection.rpc("send_message", marked("send_message"))
    requests = 4
    for tool in TOOLS:
        for said in (marked(tool), *refused(tool)):
            arguments = fill_in(said, places)
            connection.rpc(tool, arguments)
            connection.tool(tool, **arguments)
            requests += 2
        connection.rpc(tool, fill_in(marked(tool), places), **{"X-Agent-Token": AGENT_TOKEN})
        requests += 1
    connection.rpc("read_resource", {"uri": f"resource://inbox/BlueLake?project={PROJECT}&token={MARK}"})
    connection.request(
        "POST", "/rpc/send_message", f'{{"body_md": "{MARK}'.encode(), {"Content-Type": "application/json"}
    )
    connection.request("POST", "/rpc/fetch_inbox", b"{}", {"Authorization": f"Bearer wrong-{MARK}"})
    return requests + 3


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, list[dict[str, Any]], str]:
    """How many requests there were, the lines they left, and everything the server printed."""
    root: Path = tmp_path_factory.mktemp("talk") / "store"
    code = root.with_name("code")
    code.mkdir()
    git(code, "init", "--quiet")
    with Served(root, port=None, **TALKATIVE) as server:
        with server.connect(Authorization=f"Bearer {SERVER_TOKEN}") as connection:
            connection.open_session()
            requests = work(connection, {REPOSITORY: str(code), ENDED_RESERVATION: 1})
        secrets = (root / "operator.token").read_text().strip()
    text = server.log.read_text()
    assert secrets not in text
    return requests, [json.loads(line) for line in text.splitlines() if line.startswith("{")], text


def test_no_line_holds_mail_or_a_token(talk: tuple[int, list[dict[str, Any]], str]) -> None:
    _, _, text = talk

    assert [line for line in text.splitlines() if MARK in line] == []


def test_every_request_leaves_a_line_with_an_id_of_its_own(talk: tuple[int, list[dict[str, Any]], str]) -> None:
    requests, lines, _ = talk

    ids = [line["request_id"] for line in lines if line["logger"] == "mcp_agent_mail.http"]

    assert len(ids) > requests
    assert len(set(ids)) == len(ids)


def test_what_a_call_does_carries_the_id_of_its_request(talk: tuple[int, list[dict[str, Any]], str]) -> None:
    """Through both doors, and in the SQL that the writer's thread and the readers run for it."""
    _, lines, _ = talk
    of_requests = {line["request_id"] for line in lines if line["logger"] == "mcp_agent_mail.http"}

    calls = [line for line in lines if line["message"].startswith("tool ")]
    sql = [line for line in lines if line["logger"] == "mcp_agent_mail.store.sql"]
    sends = {line["request_id"] for line in calls if line["message"] == "tool send_message" and line["outcome"] == "ok"}
    inserts = {line.get("request_id") for line in sql if line["message"].startswith("INSERT INTO messages (")}
    searches = [
        line.get("request_id") for line in sql if "messages_fts" in line["message"] and "MATCH" in line["message"]
    ]

    assert {call["via"] for call in calls} == {"rpc", "mcp"}
    assert len({call["request_id"] for call in calls}) == len(calls)
    assert {call["request_id"] for call in calls} <= of_requests
    assert sends
    assert sends <= inserts
    assert searches
    assert set(searches) <= of_requests
