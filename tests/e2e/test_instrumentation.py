"""A server that counts its queries and tells of its tools now and then."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.served import Connection, Served

PROJECT = "/code/counted"
MARK = "Zebra7Q4"
SEND = "features.messaging.service.MessagingService.send."
SETTINGS = {
    "INSTRUMENTATION_ENABLED": "true",
    "INSTRUMENTATION_SLOW_QUERY_MS": "1",
    "TOOL_METRICS_EMIT_ENABLED": "true",
    "TOOL_METRICS_EMIT_INTERVAL_SECONDS": "3600",
    "LOG_JSON_ENABLED": "true",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("counted") / "store", port=None, **SETTINGS) as running:
        with running.connect() as connection:
            connection.call("ensure_project", human_key=PROJECT)
            for name in ("BlueLake", "RedStone"):
                connection.call("register_agent", project_key=PROJECT, name=name, program="tests", model="none")
            connection.call(
                "send_message",
                project_key=PROJECT,
                sender_name="BlueLake",
                to=["RedStone"],
                subject=MARK,
                body_md=MARK * 20_000,
            )
            connection.call("search_messages", project_key=PROJECT, query=MARK)
        yield running


@pytest.fixture
def connection(server: Served) -> Iterator[Connection]:
    with server.connect() as opened:
        yield opened


def queries(connection: Connection) -> dict[str, Any]:
    value: dict[str, Any] = connection.call("read_resource", uri="resource://tooling/metrics")["queries"]
    return value


def logged(server: Served, logger: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    return [line for line in lines if line["logger"] == logger]


def test_reads_units_and_long_reads_are_counted_by_function(connection: Connection) -> None:
    found = queries(connection)

    by_kind = {
        kind: [one for one in found["functions"] if one["kind"] == kind] for kind in ("read", "unit", "long_read")
    }
    assert (found["enabled"], found["slow_query_ms"]) == (True, 1)
    assert all(by_kind.values()), found
    (send,) = [one for one in by_kind["unit"] if one["function"].startswith(SEND)]
    assert (send["runs"], send["statements"] >= 3, send["most_statements"]) == (1, True, send["statements"])
    assert 0 < send["longest_ms"] <= send["total_ms"]
    assert [one["total_ms"] for one in found["functions"]] == sorted(
        (one["total_ms"] for one in found["functions"]), reverse=True
    )


def test_prometheus_sees_the_same(connection: Connection, server: Served) -> None:
    runs = {(one["kind"], one["function"]): one["runs"] for one in queries(connection)["functions"]}
    sent = next((kind, function) for kind, function in runs if function.startswith(SEND))

    text = connection_text(server)

    assert f'mcp_agent_mail_store_runs_total{{function="{sent[1]}",kind="unit"}} 1.0' in text
    assert f'mcp_agent_mail_store_statements_total{{function="{sent[1]}",kind="unit"}}' in text
    assert MARK not in text


def connection_text(server: Served) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def test_what_was_slow_is_in_the_log_with_its_request_and_without_mail(server: Served) -> None:
    slow = logged(server, "mcp_agent_mail.store.slow")

    assert slow, "a message of 160,000 characters is stored and indexed in less than a millisecond?"
    assert {line["message"] for line in slow} == {"slow query"}
    assert all(line["ms"] >= 1 and line["function"] and line["statements"] >= 0 for line in slow)
    assert any("request_id" in line for line in slow)
    assert MARK not in server.log.read_text()


def test_the_figures_of_tools_are_logged_at_the_latest_with_the_stop(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Served(tmp_path_factory.mktemp("told") / "store", port=None, **SETTINGS) as server:
        with server.connect() as connection:
            connection.call("ensure_project", human_key=PROJECT)
        server.stop()

        told = {line["tool"]: (line["calls"], line["errors"]) for line in logged(server, "mcp_agent_mail.tool_metrics")}

    assert told["ensure_project"] == (1, 0)


def test_a_server_that_does_not_count_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Served(tmp_path_factory.mktemp("plain") / "store") as server, server.connect() as connection:
        assert queries(connection) == {"enabled": False, "slow_query_ms": None, "functions": []}
        assert "mcp_agent_mail_store_" not in connection_text(server)
