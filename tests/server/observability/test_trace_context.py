"""Which span a request names as its parent."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.server.dispatch import RequestFacts
from mcp_agent_mail.server.observability.trace_context import read_trace, with_meta

HEADER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
META = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
FACTS = RequestFacts(credentials=Credentials(via="mcp"), request_id="1", opener=None, trace={"traceparent": HEADER})


def test_headers_name_a_parent_and_its_state() -> None:
    headers = {b"traceparent": HEADER.encode(), b"tracestate": b"vendor=1", b"accept": b"*/*"}

    assert read_trace(headers) == {"traceparent": HEADER, "tracestate": "vendor=1"}


@pytest.mark.parametrize("headers", [{}, {b"tracestate": b"vendor=1"}, {b"traceparent": b"x" * 513}])
def test_headers_without_a_parent_name_none(headers: dict[bytes, bytes]) -> None:
    assert read_trace(headers) is None


def test_a_messages_own_parent_beats_the_headers() -> None:
    assert with_meta(FACTS, {"_meta": {"traceparent": META}}).trace == {"traceparent": META}


@pytest.mark.parametrize("params", [{}, {"_meta": None}, {"_meta": []}, {"_meta": {"traceparent": 7}}, {"_meta": {}}])
def test_without_one_the_headers_count(params: dict[str, object]) -> None:
    assert with_meta(FACTS, params).trace == {"traceparent": HEADER}
