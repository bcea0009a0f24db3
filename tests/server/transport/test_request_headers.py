"""What is read of headers before anybody judges a request."""

from __future__ import annotations

import pytest

from mcp_agent_mail.server.transport.request_headers import is_mcp_clients, trim_values


def test_blanks_around_a_value_are_no_part_of_it() -> None:
    scope = {"headers": [(b"host", b"a \t"), (b"accept", b"b")]}

    trim_values(scope)

    assert scope == {"headers": [(b"host", b"a"), (b"accept", b"b")]}


@pytest.mark.parametrize(
    ("method", "accept", "is_clients"),
    [
        ("POST", b"application/json, text/event-stream", True),
        ("GET", b"text/event-stream", False),
        ("POST", b"application/json", False),
        ("POST", b"", False),
    ],
)
def test_who_posts_for_an_event_stream_is_a_client_of_mcp(method: str, accept: bytes, is_clients: bool) -> None:
    assert is_mcp_clients({"method": method}, {b"accept": accept}) is is_clients
