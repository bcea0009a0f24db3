"""`GET /metrics`, read with Prometheus' own parser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.concurrency.call_places import CallPlaces, TooManyCalls
from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.server.assembly import _metrics
from mcp_agent_mail.server.dispatch import Calls, RequestFacts
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimits
from tests.server.hosted import toy_edge
from tests.server.served_mail import serving
from tests.server.whole_app import OPERATOR, asking, open_services, open_whole_app, settings_of

PROJECT = "/code/measured"
TOKEN = "a-token-of-the-whole-server"  # of this test's server alone
PENDING = ("archive_pending_events",)


class Page:
    """The page over services, without the gate and the application before it."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self._page = _metrics(services, Calls(services.tools, services.resources), toy_edge(), None)

    async def ask(
        self, method: str = "GET", *, token: str | None = None, has_server_token: bool = False
    ) -> httpx.Response:
        credentials = Credentials(via="rpc", bearer_token=token)
        facts = RequestFacts(credentials=credentials, request_id="1", opener="server" if has_server_token else None)

        async with asking(self._page.answer, facts) as client:
            return await client.request(method, "/metrics")

    async def figures(self) -> dict[tuple[str, ...], float]:
        return figures((await self.ask()).text)

    async def call(self, tool: str, **arguments: object) -> None:
        await self.services.tools.run(tool, arguments, Credentials(via="rpc"))


def figures(text: str) -> dict[tuple[str, ...], float]:
    """By the name, without what all of ours begin with, and the values of its labels in the labels' order."""
    return {
        (sample.name.removeprefix("mcp_agent_mail_"), *(value for _, value in sorted(sample.labels.items()))): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Page]:
    async with open_services(settings_of(tmp_path)) as (services, _):
        yield Page(services)


async def test_calls_are_counted_by_tool_and_outcome_and_no_project_or_agent_stands_there(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path, HTTP_BEARER_TOKEN=TOKEN) as app:
        await app.call("ensure_project", bearer(TOKEN), human_key=PROJECT)
        nobody = {"project_key": PROJECT, "agent_name": "Nobody"}
        await app.client.post("/rpc/whois", json=nobody, headers=bearer(TOKEN))
        answer = await app.client.get("/metrics", headers=bearer(TOKEN))
        as_operator = await app.client.get("/metrics", headers=bearer(OPERATOR))
        refused = [await app.client.get("/metrics", headers=headers) for headers in ({}, bearer("wrong"))]

    found = figures(answer.text)
    media_type = answer.headers["content-type"]
    assert (answer.status_code, media_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert (found["tool_calls_total", "ok", "ensure_project"], found["tool_calls_total", "error", "whois"]) == (1, 1)
    assert found["tool_calls_total", "ok", "whois"] == 0
    assert found["tool_duration_seconds_count", "whois"] == 1
    assert found["process_resident_memory_bytes",] > 0
    assert [word for word in ("measured", "Nobody") if word in answer.text] == []
    assert as_operator.status_code == 200
    assert [(one.status_code, "tool_calls" in one.text) for one in refused] == [(401, False)] * 2


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_of_the_buckets_in_memory_every_second_is_shown_and_each_holds_the_ones_below(page: Page) -> None:
    for took_s in (0.000_05, 0.000_15, 0.000_3, 3_600.0):
        page.services.recording.usage.note("whois", took_s, failed=False, project=None)

    found = await page.figures()

    buckets = {key[1]: value for key, value in found.items() if key[0] == "tool_duration_seconds_bucket"}
    assert list(buckets)[:4] == ["5e-05", "0.0001", "0.0002", "0.0004"]
    assert [buckets[bound] for bound in ("5e-05", "0.0001", "0.0002", "0.0004", "+Inf")] == [1, 1, 2, 3, 4]
    assert found["tool_duration_seconds_sum", "whois"] == pytest.approx(3_600.000_5)


async def test_the_archive_tells_what_waits_and_no_lag_before_there_was_one(page: Page) -> None:
    before = await page.figures()
    await page.call("ensure_project", human_key=PROJECT)
    page.services.archiving._lags.add(Micros(0), Micros(2 * SECOND))
    after = await page.figures()

    assert (before[PENDING], after[PENDING]) == (0, 3), "the project, Human and System"
    assert (after["archive_problems",], after["archiver_restarts_total",]) == (0, 0)
    assert [key for key in before if key[0] == "archive_lag_seconds"] == []
    assert [after["archive_lag_seconds", quantile] for quantile in ("0.5", "0.99")] == [2, 2]


async def test_what_became_of_calls_of_webhooks_is_told_where_there_are_some(tmp_path: Path) -> None:
    webhook = {"WEBHOOK_URLS": "https://mail.example/secret-path", "WEBHOOK_SECRET": "k" * 32}
    async with open_services(settings_of(tmp_path, **webhook)) as (services, _):
        told = await Page(services).ask()
    async with open_services(settings_of(tmp_path)) as (services, _):
        silent = await Page(services).ask()

    found = figures(told.text)
    assert [found["webhook_calls_total", outcome] for outcome in ("ok", "failed", "dropped")] == [0, 0, 0]
    assert found["webhook_calls_waiting",] == 0
    assert "mail.example" not in told.text
    assert "webhook_calls" not in silent.text


async def test_a_task_beside_the_requests_that_fails_is_told_by_its_name(page: Page) -> None:
    async def work() -> None:
        pass

    failing, working = (Keeper(name, work) for name in ("in-trouble", "at-work"))
    failing.failed(OSError("no room"))
    page.services.also_kept += [failing, working]

    answer = await page.ask()

    found = figures(answer.text)
    assert (found["task_failing", "in-trouble"], found["task_failing", "at-work"]) == (1, 0)
    assert found["task_restarts_total", "in-trouble"] == 0
    assert (found["silent_directories",], found["lost_threads",]) == (0, 0)
    assert "no room" not in answer.text


@pytest.mark.parametrize("is_counted", [True, False])
async def test_the_stores_work_is_told_by_function_where_it_is_counted(tmp_path: Path, is_counted: bool) -> None:
    settings = settings_of(tmp_path, INSTRUMENTATION_ENABLED=str(is_counted), INSTRUMENTATION_SLOW_QUERY_MS="60000")
    async with open_services(settings) as (services, _):
        page = Page(services)
        await page.call("ensure_project", human_key=PROJECT)
        found = await page.figures()

    runs = {key[2] for key in found if key[0] == "store_runs_total"}
    slow = {value for key, value in found.items() if key[0] == "store_slow_total"}
    assert runs == ({"read", "unit"} if is_counted else set())
    assert slow == ({0} if is_counted else set())


async def test_under_strict_it_needs_proof_and_the_servers_token_is_one(tmp_path: Path) -> None:
    async with open_services(settings_of(tmp_path, AGENT_AUTH="strict")) as (services, _):
        page = Page(services)
        await page.call("ensure_project", human_key=PROJECT)
        profile = {"project_key": PROJECT, "program": "p", "model": "m", "name": "BlueLake"}
        agent = await services.tools.run("register_agent", profile, Credentials(via="rpc"))
        refused = await page.ask()
        opened = [await page.ask(token=token) for token in (OPERATOR, agent["registration_token"])]
        with_servers = await page.ask(has_server_token=True)

    assert (refused.status_code, refused.json()["error"]["type"]) == (401, "AUTHENTICATION_REQUIRED")
    assert [answer.status_code for answer in (*opened, with_servers)] == [200, 200, 200]


@pytest.mark.parametrize("auth", ["open", "strict"])
async def test_how_far_the_numbers_of_all_mail_are_is_told_to_the_proven_and_the_servers_token_alone(
    tmp_path: Path, auth: str
) -> None:
    async with open_services(settings_of(tmp_path, AGENT_AUTH=auth)) as (services, _):
        page = Page(services)
        await page.call("ensure_project", human_key=PROJECT)
        profile = {"project_key": PROJECT, "program": "p", "model": "m", "name": "BlueLake"}
        agent = await services.tools.run("register_agent", profile, Credentials(via="rpc"))
        told = [
            await page.ask(token=OPERATOR),
            await page.ask(),
            await page.ask(token=agent["registration_token"]),
            await page.ask(token="wrong"),
            await page.ask(has_server_token=True),
            await page.ask(),
        ]

    operator, unproven, proven, wrong, with_servers, again = ("_feed_tail" in one.text for one in told)
    assert (operator, proven, with_servers) == (True, True, True)
    assert (unproven, wrong, again) == (False, False, False)
    assert ["_waits" in one.text for one in told] == [True, auth == "open", True, False, True, auth == "open"]


async def test_what_connections_are_at_and_what_turned_clients_away_is_told(tmp_path: Path) -> None:
    async with serving(tmp_path, ConnectionLimits(connections=500)) as served:
        host, _, port = str(served.client.base_url).rpartition("://")[2].rpartition(":")
        _, unfinished = await asyncio.open_connection(host, int(port.strip("/")))
        reader, refused = await asyncio.open_connection(host, int(port.strip("/")))
        refused.write(b"GET /" + b"a" * 10_000)
        await reader.read()
        found = figures((await served.client.get("/metrics")).text)
        unfinished.close()
        refused.close()

    assert found["connections", "unfinished"] == 1
    assert found["connections", "open"] >= 2
    assert (found["connections", "idle"], found["connections", "untaken"]) == (0, 0)
    assert found["connections_limit",] == 500
    assert (found["turned_away_total", "head"], found["turned_away_total", "time"]) == (1, 0)


async def test_calls_at_work_and_those_there_was_no_place_for_are_told(tmp_path: Path) -> None:
    async with open_services(settings_of(tmp_path)) as (services, _):
        calls = Calls(services.tools, services.resources, places=CallPlaces(1))
        facts = RequestFacts(credentials=Credentials(via="rpc"), request_id="1", opener="server")
        with calls.places.at_work():
            with pytest.raises(TooManyCalls):
                await calls.run_tool("health_check", {}, facts)
            async with asking(_metrics(services, calls, toy_edge(), None).answer, facts) as client:
                found = figures((await client.get("/metrics")).text)

    assert (found["calls_at_work",], found["calls_at_work_max",], found["calls_refused_total",]) == (1, 1, 1)
    assert not any(name[0] == "connections" for name in found), "who has the connections tells of them"


async def test_who_was_not_let_in_and_who_came_too_often_is_told(tmp_path: Path) -> None:
    limits = {"HTTP_RATE_LIMIT_ENABLED": "true", "HTTP_RATE_LIMIT_TOOLS_PER_MINUTE": "1"}
    async with open_whole_app(tmp_path, HTTP_BEARER_TOKEN="a-long-and-good-token", **limits) as whole:
        right, wrong = ({"Authorization": f"Bearer {token}"} for token in ("a-long-and-good-token", "another"))
        ask = whole.client.post
        refused = [await ask("/rpc/health_check", json={}, headers=wrong) for _ in range(2)]
        asked = [await ask("/rpc/health_check", json={}, headers=right) for _ in range(3)]
        found = figures((await whole.client.get("/metrics", headers=right)).text)

    assert [one.status_code for one in (*refused, *asked)] == [401, 401, 200, 429, 429]
    assert (found["requests_refused_total", "401"], found["rate_limited_total", "tools"]) == (2, 2)
    assert found["rate_buckets",] == 3  # wrong tokens of this address, the token's tool calls, its other requests
