"""HTTP_OTEL_ENABLED: a span for every tool call and resource read, sent to a collector by OTLP over HTTP.

A span says which tool or resource, how it ended and how long it took; never an argument, a result or a
URI with its keys filled in. Spans wait in a bounded queue and leave in batches from a thread of the SDK;
what a full queue, or a collector that is away, cannot take is dropped and no call waits for it.
Imported where spans are on only: the SDK is the extra `otel`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mcp_agent_mail import __version__
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Json

MAX_WAITING = 2_048
BATCH = 512
BATCH_EVERY_S = 2.0
EXPORT_WITHIN_S = 2.0
CLOSE_WITHIN_S = 2.0

_OK = "ok"
_CANCELLED = "cancelled"
_PROPAGATOR = TraceContextTextMapPropagator()


class CallTracer:
    """Makes the spans. Their parent is the caller's, where the request names one."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("mcp_agent_mail", __version__)

    async def run(
        self, method: str, target: str, running: Awaitable[Json], *, via: str, trace: Mapping[str, str] | None
    ) -> Json:
        """`running`'s result, with a span `METHOD TARGET` around it."""
        span = self._tracer.start_span(
            f"{method} {target}",
            context=_PROPAGATOR.extract(trace) if trace else None,
            kind=SpanKind.SERVER,
            attributes={"mcp.method.name": method, _target_key(method): target, "mcp_agent_mail.via": via},
        )
        outcome = _CANCELLED
        try:
            result = await running
            outcome = _OK
        except AgentMailError as error:
            outcome = error.code
            raise
        else:
            return result
        finally:
            _end(span, outcome)


def _target_key(method: str) -> str:
    return "gen_ai.tool.name" if method == "tools/call" else "mcp.resource.template"


def _end(span: Span, outcome: str) -> None:
    span.set_attribute("mcp_agent_mail.outcome", outcome)
    if outcome != _OK:
        span.set_attribute("error.type", outcome)
        span.set_status(Status(StatusCode.ERROR))
    span.end()


@asynccontextmanager
async def opened_tracer(*, service_name: str, endpoint: str) -> AsyncIterator[CallTracer]:
    """Spans for `endpoint`/v1/traces. The end waits at most CLOSE_WITHIN_S for what has not been sent."""
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=EXPORT_WITHIN_S)
    provider = TracerProvider(
        resource=Resource.create({"service.name": service_name, "service.version": __version__}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(
        BatchSpanProcessor(
            exporter,
            max_queue_size=MAX_WAITING,
            max_export_batch_size=BATCH,
            schedule_delay_millis=BATCH_EVERY_S * 1_000,
        )
    )
    try:
        yield CallTracer(provider)
    finally:
        # A daemon: a collector that does not answer cannot keep the process from ending.
        closing = threading.Thread(target=provider.shutdown, name="spans-closing", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, CLOSE_WITHIN_S)
