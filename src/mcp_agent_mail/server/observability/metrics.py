"""`GET /metrics`: the server's figures for Prometheus.

Labels are names of tools and of our own functions, never of agents or projects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from mcp_agent_mail import __version__
from mcp_agent_mail.core.concurrency.call_places import PlaceFigures
from mcp_agent_mail.core.concurrency.keeper import KeeperFigures
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import call_as
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.readership import may_count_all_mail, require_reader
from mcp_agent_mail.features.archiving.service import ArchiveStatus
from mcp_agent_mail.features.doors.wait_figures import BOUNDS_S as WAIT_BOUNDS_S
from mcp_agent_mail.features.doors.wait_figures import WaitFigures
from mcp_agent_mail.features.health.results import WaitingFigures
from mcp_agent_mail.features.introspection.recording import Recording
from mcp_agent_mail.features.introspection.usage import BOUNDS_S, ToolFigures
from mcp_agent_mail.notify.webhooks import WebhookFigures
from mcp_agent_mail.server.dispatch import RequestFacts
from mcp_agent_mail.server.edge.edge import EdgeFigures
from mcp_agent_mail.server.rendering.responses import send_text, send_value
from mcp_agent_mail.server.rendering.wire import error_object, http_status
from mcp_agent_mail.server.transport.connection_limits import ConnectionFigures, LimitReached
from mcp_agent_mail.store.engine.instrumentation import QueryFigures

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

PATH = "/metrics"
_MEDIA_TYPE = "text/plain; version=0.0.4"
_PREFIX = "mcp_agent_mail"
_EVERY = 2
"""Of the buckets in memory every second one is shown: powers of two from 50 microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideFigures:
    """What works beside the requests, the looks at projects' directories, who waits for mail, how long mail waited at
    doors, what webhooks were told, where there are some, what calls and connections there are, and who was refused.
    `feed_tail` is None for whoever is not told it, and so are `connections` where another server than ours has them.
    """

    keepers: list[KeeperFigures]
    silent_directories: int
    lost_threads: int
    waiting: WaitingFigures
    feed_tail: int | None
    webhooks: WebhookFigures | None
    calls: PlaceFigures
    edge: EdgeFigures
    connections: ConnectionFigures | None
    door_waits: Mapping[Door, WaitFigures] = field(default_factory=dict)
    owed: int = 0
    """Outcomes of answers that are not stored yet."""


class MetricsPage:
    def __init__(
        self,
        recording: Recording,
        archive: Callable[[], Awaitable[ArchiveStatus]],
        beside: Callable[[], BesideFigures],
        current_caller: Callable[[], Awaitable[Caller]],
    ) -> None:
        self._recording = recording
        self._archive = archive
        self._beside = beside
        self._current_caller = current_caller
        self._registry: CollectorRegistry | None = None
        self._status: ArchiveStatus | None = None
        self._counts_all_mail = False

    async def answer(self, _scope: Scope, facts: RequestFacts, _receive: Receive, send: Send) -> None:
        """The figures as Prometheus' text. For whoever shows a token that opens this server, or may read the figures:
        others get their refusal as a JSON error.
        """
        try:
            counts_all_mail = facts.opener is not None or may_count_all_mail(await self._reader(facts))
        except AgentMailError as refused:
            await send_value(send, http_status(refused), error_object(refused))
            return
        if self._registry is None:
            # The library takes 0.14 s to import: only who scrapes pays, and nobody waits on the event loop.
            self._registry = await asyncio.to_thread(self._make_registry)
        status = await self._archive()
        # Scrapes may overlap up to here; nothing is awaited between this and the text.
        self._status, self._counts_all_mail = status, counts_all_mail
        await send_text(send, 200, _MEDIA_TYPE, self._render(self._registry))

    async def _reader(self, facts: RequestFacts) -> Caller:
        """Raises as `resource://tooling/metrics` is refused; a token that opens the server opens this page beside."""

        async def require() -> Caller:
            caller = await self._current_caller()
            require_reader(caller, "Reading the figures")
            return caller

        reader: Caller = await call_as(facts.credentials, require, {})
        return reader

    def _make_registry(self) -> CollectorRegistry:
        from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector  # noqa: PLC0415

        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        registry.register(_Figures(self._recording, self._read_status, self._read_beside))
        return registry

    def _read_status(self) -> ArchiveStatus:
        """As `answer` has just read it: the library's collectors cannot await."""
        assert self._status is not None, "read before each scrape is rendered"
        return self._status

    def _read_beside(self) -> BesideFigures:
        """As whoever asks is told it: `health_check` keeps to the same rule."""
        beside = self._beside()
        return beside if self._counts_all_mail else replace(beside, feed_tail=None)

    def _render(self, registry: CollectorRegistry) -> str:
        from prometheus_client import generate_latest  # noqa: PLC0415

        return generate_latest(registry).decode()


class _Figures:
    """What Prometheus' library asks for at each scrape."""

    def __init__(
        self, recording: Recording, archive: Callable[[], ArchiveStatus], beside: Callable[[], BesideFigures]
    ) -> None:
        self._recording = recording
        self._archive = archive
        self._beside = beside

    def describe(self) -> list[Metric]:
        """Nothing: registering must not look at the store."""
        return []

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import InfoMetricFamily  # noqa: PLC0415

        info = InfoMetricFamily(f"{_PREFIX}_build", "The version that runs.")
        info.add_metric([], {"version": __version__})
        yield info
        yield from _of_tools(self._recording.usage.tools())
        if self._recording.queries is not None:
            yield from _of_queries(self._recording.queries)
        beside = self._beside()
        yield from _of_tasks(beside)
        yield from _of_waiting(beside)
        yield from _of_calls(beside.calls)
        yield from _of_edge(beside.edge)
        if beside.connections is not None:
            yield from _of_connections(beside.connections)
        yield _of_doors(beside.door_waits)
        if beside.webhooks is not None:
            yield from _of_webhooks(beside.webhooks)
        yield from _of_archive(self._archive())


def _of_tools(tools: dict[str, ToolFigures]) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily  # noqa: PLC0415

    calls = CounterMetricFamily(
        f"{_PREFIX}_tool_calls", "Calls of a tool by how they ended.", labels=["tool", "outcome"]
    )
    durations = HistogramMetricFamily(f"{_PREFIX}_tool_duration_seconds", "How long calls took.", labels=["tool"])
    for name, figures in tools.items():
        calls.add_metric([name, "ok"], figures.calls - figures.errors)
        calls.add_metric([name, "error"], figures.errors)
        durations.add_metric([name], _buckets(figures), figures.total_s)
    yield calls
    yield durations


def _buckets(figures: ToolFigures) -> list[tuple[str, float]]:
    """Cumulative counts by upper bound, as Prometheus wants them."""
    buckets: list[tuple[str, float]] = []
    seen = 0
    for index, bound in enumerate(BOUNDS_S):
        seen += figures.counts[index]
        if index % _EVERY == 0:
            buckets.append((f"{bound:.6g}", seen))
    return [*buckets, ("+Inf", figures.calls)]


def _of_queries(queries: QueryFigures) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily  # noqa: PLC0415

    labels = ["kind", "function"]
    runs = CounterMetricFamily(f"{_PREFIX}_store_runs", "Reads and units of work.", labels=labels)
    statements = CounterMetricFamily(f"{_PREFIX}_store_statements", "SQL statements that they ran.", labels=labels)
    seconds = CounterMetricFamily(f"{_PREFIX}_store_seconds", "How long they took in all.", labels=labels)
    slow = CounterMetricFamily(
        f"{_PREFIX}_store_slow", "How many took INSTRUMENTATION_SLOW_QUERY_MS or longer.", labels=labels
    )
    for figures in queries.functions():
        of = [figures.kind, figures.function]
        runs.add_metric(of, figures.runs)
        statements.add_metric(of, figures.statements)
        seconds.add_metric(of, figures.total_s)
        slow.add_metric(of, figures.slow)
    yield from (runs, statements, seconds, slow)


def _of_tasks(figures: BesideFigures) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415

    failing = GaugeMetricFamily(f"{_PREFIX}_task_failing", "1 while a task beside the requests fails.", labels=["task"])
    restarts = CounterMetricFamily(
        f"{_PREFIX}_task_restarts", "How often a task beside the requests was started again.", labels=["task"]
    )
    for one in figures.keepers:
        failing.add_metric([one.task], 0 if one.error is None else 1)
        restarts.add_metric([one.task], one.restarts)
    silent = GaugeMetricFamily(f"{_PREFIX}_silent_directories", "Projects' directories that do not answer just now.")
    silent.add_metric([], figures.silent_directories)
    lost = GaugeMetricFamily(f"{_PREFIX}_lost_threads", "Threads that hang in a look at such a directory.")
    lost.add_metric([], figures.lost_threads)
    yield from (failing, restarts, silent, lost)


def _of_waiting(figures: BesideFigures) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415

    waits = GaugeMetricFamily(f"{_PREFIX}_waits", "Calls that wait for mail just now.")
    waits.add_metric([], figures.waiting.waits)
    streams = GaugeMetricFamily(f"{_PREFIX}_event_streams", "Streams of events that are open.")
    streams.add_metric([], figures.waiting.streams)
    owed = GaugeMetricFamily(f"{_PREFIX}_outcomes_owed", "Outcomes of answers that the store has not taken yet.")
    owed.add_metric([], figures.owed)
    yield from (waits, streams, owed)
    if figures.feed_tail is not None:
        tail = GaugeMetricFamily(f"{_PREFIX}_feed_tail", "The last cursor that was given out.")
        tail.add_metric([], figures.feed_tail)
        yield tail


def _of_calls(figures: PlaceFigures) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415

    at_work = GaugeMetricFamily(f"{_PREFIX}_calls_at_work", "Calls that run just now, without those that wait.")
    at_work.add_metric([], figures.at_work)
    most = GaugeMetricFamily(f"{_PREFIX}_calls_at_work_max", "The most of them at once since the start.")
    most.add_metric([], figures.most)
    refused = CounterMetricFamily(f"{_PREFIX}_calls_refused", "Calls for which there was no place (HTTP_MAX_CALLS).")
    refused.add_metric([], figures.refused)
    yield from (at_work, most, refused)


def _of_edge(figures: EdgeFigures) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415

    refused = CounterMetricFamily(
        f"{_PREFIX}_requests_refused", "Requests that were not let in, by what they were answered.", labels=["status"]
    )
    for status, count in figures.refused.items():
        refused.add_metric([str(status)], count)
    limited = CounterMetricFamily(
        f"{_PREFIX}_rate_limited", "Requests that came too often, by what they count as.", labels=["class"]
    )
    for rate_class, count in figures.limited.items():
        limited.add_metric([rate_class.value], count)
    buckets = GaugeMetricFamily(f"{_PREFIX}_rate_buckets", "Tokens and addresses whose rates are watched just now.")
    buckets.add_metric([], figures.buckets)
    yield from (refused, limited, buckets)


def _of_connections(figures: ConnectionFigures) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415

    connections = GaugeMetricFamily(
        f"{_PREFIX}_connections", "Connections by what they are at; all of them are `open`.", labels=["state"]
    )
    by_state = {
        "open": figures.open,
        "idle": figures.idle,
        "unfinished": figures.unfinished,
        "untaken": figures.untaken,
    }
    for state, count in by_state.items():
        connections.add_metric([state], count)
    limit = GaugeMetricFamily(f"{_PREFIX}_connections_limit", "How many may be open.")
    limit.add_metric([], figures.limit)
    turned_away = CounterMetricFamily(
        f"{_PREFIX}_turned_away", "How often a bound on what clients take up was reached.", labels=["bound"]
    )
    for bound in LimitReached:
        turned_away.add_metric([bound.name.lower()], figures.turned_away.get(bound, 0))
    yield from (connections, limit, turned_away)


def _of_doors(waits: Mapping[Door, WaitFigures]) -> Metric:
    """By a name without our prefix: it is what users of those systems were promised."""
    from prometheus_client.core import HistogramMetricFamily  # noqa: PLC0415

    waited = HistogramMetricFamily(
        "agent_mail_door_wait_seconds", "From when a message was created until a door's caller had it.", labels=["door"]
    )
    for door, figures in waits.items():
        counts = list(accumulate(figures.counts))
        buckets = [*((f"{bound:g}", count) for bound, count in zip(WAIT_BOUNDS_S, counts, strict=False))]
        waited.add_metric([door.value], [*buckets, ("+Inf", counts[-1])], figures.total_s)
    return waited


def _of_webhooks(figures: WebhookFigures) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415

    calls = CounterMetricFamily(f"{_PREFIX}_webhook_calls", "Calls of webhooks by how they ended.", labels=["outcome"])
    for outcome, count in (("ok", figures.told), ("failed", figures.failed), ("dropped", figures.dropped)):
        calls.add_metric([outcome], count)
    waiting = GaugeMetricFamily(f"{_PREFIX}_webhook_calls_waiting", "Calls of webhooks that are still to be made.")
    waiting.add_metric([], figures.waiting)
    yield from (calls, waiting)


def _of_archive(status: ArchiveStatus) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415

    pending = GaugeMetricFamily(f"{_PREFIX}_archive_pending_events", "Events that are not in Git yet.")
    pending.add_metric([], status.backlog.pending_events)
    oldest = GaugeMetricFamily(f"{_PREFIX}_archive_oldest_pending_seconds", "Age of the oldest of them.")
    oldest.add_metric([], status.backlog.oldest_pending_s)
    problems = GaugeMetricFamily(f"{_PREFIX}_archive_problems", "Archives, or the archiver, that fail just now.")
    problems.add_metric([], len(status.problems))
    restarts = CounterMetricFamily(f"{_PREFIX}_archiver_restarts", "How often the archiver was started again.")
    restarts.add_metric([], status.restarts)
    lag = GaugeMetricFamily(f"{_PREFIX}_archive_lag_seconds", "From event to commit, of late.", labels=["quantile"])
    for quantile, seconds in (("0.5", status.lag_p50_s), ("0.99", status.lag_p99_s)):
        if seconds is not None:
            lag.add_metric([quantile], seconds)
    yield from (pending, oldest, problems, restarts, lag)
