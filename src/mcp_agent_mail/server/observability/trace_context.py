"""The span that a request names as its parent: W3C headers, or the same keys in an MCP message's `_meta`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.server.dispatch import RequestFacts
from mcp_agent_mail.server.identity import Headers

_KEYS = ("traceparent", "tracestate")
_LONGEST = 512


def read_trace(headers: Headers) -> Mapping[str, str] | None:
    """None when the request names no span. Whether what it names is well formed is the tracer's to say."""
    return _trace({key: headers.get(key.encode(), b"").decode("latin-1") for key in _KEYS})


def with_meta(facts: RequestFacts, params: Mapping[str, Json]) -> RequestFacts:
    """The facts of one MCP message: its `_meta` stands nearer to the call than the headers."""
    meta = params.get("_meta")
    trace = _trace(meta) if isinstance(meta, dict) else None
    return facts if trace is None else replace(facts, trace=trace)


def _trace(named: Mapping[str, Json]) -> Mapping[str, str] | None:
    texts = {key: text for key in _KEYS if isinstance(text := named.get(key), str) and 0 < len(text) <= _LONGEST}
    return texts if "traceparent" in texts else None
