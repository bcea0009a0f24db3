"""Spans of a running server, sent by the real SDK to a collector."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.served import Served
from tests.server.observability.collector import Collector, SeenSpan

pytestmark = pytest.mark.extras

PROJECT = "/code/traced"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
OTHER_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OTHER = f"00-{OTHER_TRACE}-00f067aa0ba902b7-01"


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[SeenSpan], bytes]]:
    """What a server sent that was called in every way, and then stopped."""
    with Collector() as collector:
        root = tmp_path_factory.mktemp("spans") / "store"
        with Served(root, port=None, **switched_on(collector)) as server, server.connect() as connection:
            connection.rpc("ensure_project", {"human_key": PROJECT}, traceparent=TRACEPARENT)
            connection.rpc("whois", {"project_key": PROJECT, "agent_name": "Nobody"}, traceparent="nonsense")
            connection.rpc("no_such_tool_of_ours", {})
            connection.rpc("read_resource", {"uri": f"resource://project/{PROJECT}?token=Secret"})
            connection.rpc("read_resource", {"uri": "resource://nowhere/Secret"})
            connection.open_session()
            connection.mcp(
                "tools/call",
                name="register_agent",
                arguments={"project_key": PROJECT, "program": "tests", "model": "none", "name": "BlueLake"},
                _meta={"traceparent": OTHER},
            )
        yield collector.rest(), collector.raw
        assert set(collector.paths) == {"/v1/traces"}


def switched_on(collector: Collector) -> dict[str, str]:
    return {
        "HTTP_OTEL_ENABLED": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_SERVICE_NAME": "mail of the tests",
    }


def named(spans: tuple[list[SeenSpan], bytes], name: str) -> SeenSpan:
    (span,) = [span for span in spans[0] if span.name == name]
    return span


def test_a_tool_call_is_a_span_below_its_callers(spans: tuple[list[SeenSpan], bytes]) -> None:
    span = named(spans, "tools/call ensure_project")

    assert (span.trace_id, span.parent_id, span.is_error) == (TRACE, PARENT, False)
    assert span.attributes == {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "ensure_project",
        "mcp_agent_mail.via": "rpc",
        "mcp_agent_mail.outcome": "ok",
    }
    assert span.service["service.name"] == "mail of the tests"


def test_an_mcp_message_names_its_parent_itself(spans: tuple[list[SeenSpan], bytes]) -> None:
    span = named(spans, "tools/call register_agent")

    assert (span.trace_id, span.attributes["mcp_agent_mail.via"]) == (OTHER_TRACE, "mcp")


def test_a_refusal_is_an_error_with_its_code_and_a_broken_parent_is_none(spans: tuple[list[SeenSpan], bytes]) -> None:
    span = named(spans, "tools/call whois")

    assert (span.is_error, span.parent_id) == (True, "")
    assert span.attributes["error.type"] == span.attributes["mcp_agent_mail.outcome"] == "NOT_FOUND"


def test_a_resource_read_is_named_by_its_template(spans: tuple[list[SeenSpan], bytes]) -> None:
    (read, unknown) = sorted(
        (span for span in spans[0] if span.name.startswith("resources/read")), key=lambda span: span.is_error
    )

    assert read.attributes["mcp.resource.template"].startswith("resource://project/{")
    assert unknown.name == "resources/read (unknown)"


def test_an_unknown_tools_name_is_not_taken_over(spans: tuple[list[SeenSpan], bytes]) -> None:
    assert named(spans, "tools/call (unknown)").is_error


def test_no_argument_is_sent(spans: tuple[list[SeenSpan], bytes]) -> None:
    _, raw = spans

    assert raw
    assert [word for word in (PROJECT, "Nobody", "BlueLake", "Secret", "no_such_tool") if word.encode() in raw] == []


def test_spans_leave_while_the_server_runs(tmp_path: Path) -> None:
    with Collector() as collector, Served(tmp_path / "store", port=None, **switched_on(collector)) as server:
        with server.connect() as connection:
            connection.call("health_check")

        assert collector.take().name == "tools/call health_check"


def test_a_collector_that_is_away_holds_up_neither_calls_nor_the_stop(tmp_path: Path) -> None:
    with Collector(status=503) as collector:
        env = {**switched_on(collector), "SHUTDOWN_TIMEOUT_SECONDS": "20"}
        with Served(tmp_path / "store", port=None, **env) as server, server.connect() as connection:
            for _ in range(50):
                connection.call("health_check")
            server.stop()

    assert collector.paths
