"""`GET /metrics` of a running server, read with Prometheus' own parser."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.served import Connection, Served

PROJECT = "/code/measured"
TOKEN = "a-token-of-the-whole-server"  # of this test's server alone


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("metrics") / "store", HTTP_BEARER_TOKEN=TOKEN) as running:
        yield running


def scrape(server: Served, token: str, method: str = "GET") -> tuple[int, str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request(method, "/metrics", headers={"Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, response.headers["content-type"], text


def samples(text: str) -> dict[tuple[str, str, str], float]:
    return {
        (
            sample.name,
            sample.labels.get("tool", ""),
            sample.labels.get("outcome") or sample.labels.get("le", ""),
        ): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_calls_are_counted_by_tool_and_outcome_and_timed(server: Served) -> None:
    with Connection(server.port, {"Authorization": f"Bearer {TOKEN}"}) as connection:
        connection.call("ensure_project", human_key=PROJECT)
        connection.rpc("whois", {"project_key": PROJECT, "agent_name": "Nobody"})

    status, media_type, text = scrape(server, TOKEN)

    found = samples(text)
    assert (status, media_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert found["mcp_agent_mail_tool_calls_total", "ensure_project", "ok"] == 1
    assert found["mcp_agent_mail_tool_calls_total", "whois", "error"] == 1
    assert found["mcp_agent_mail_tool_duration_seconds_bucket", "whois", "+Inf"] == 1
    assert found["mcp_agent_mail_tool_duration_seconds_count", "whois", ""] == 1
    assert ("mcp_agent_mail_archive_pending_events", "", "") in found
    assert found["process_resident_memory_bytes", "", ""] > 0


def test_no_project_or_agent_stands_in_it(server: Served) -> None:
    assert "measured" not in scrape(server, TOKEN)[2]
    assert "Nobody" not in scrape(server, TOKEN)[2]


def test_without_the_servers_token_nothing_is_told(server: Served) -> None:
    status, _, text = scrape(server, "wrong")

    assert (status, "tool_calls" in text) == (401, False)


def test_the_operators_token_opens_it(server: Served) -> None:
    operator = (server.root / "operator.token").read_text().strip()

    assert scrape(server, operator)[0] == 200


def test_other_methods_are_refused(server: Served) -> None:
    assert scrape(server, TOKEN, "POST")[0] == 405


def test_under_strict_it_needs_proof_where_the_server_has_no_token(tmp_path: Path) -> None:
    with Served(tmp_path / "store", AGENT_AUTH="strict") as server:
        with server.connect() as anyone:
            anyone.call("ensure_project", human_key=PROJECT)
            agent = anyone.call("register_agent", project_key=PROJECT, program="p", model="m", name="BlueLake")
            refused = anyone.request("GET", "/metrics")
        operator = (server.root / "operator.token").read_text().strip()
        opened = [scrape(server, token)[0] for token in (operator, agent["registration_token"])]

    assert (refused.status, refused.error_type) == (401, "AUTHENTICATION_REQUIRED")
    assert opened == [200, 200]
