"""Which host a request is for, when its target is a whole URL."""

from __future__ import annotations

import pytest

from mcp_agent_mail.server.transport.request_target import names_another_host

LOCAL = (b"host", b"localhost:80")
OTHER = (b"accept", b"*/*")


@pytest.mark.parametrize(
    "target",
    [
        b"http://evil.example/mcp",
        b"http://evil.example:80",
        b"https://evil.example?a=//localhost:80",
        b"http:///mcp",
        b"http://user@localhost:80/mcp",
        b"http://localhost/mcp",
        b"http://localhost:80#/mcp",
    ],
)
def test_a_whole_url_that_names_another_host_than_the_header_is_told(target: bytes) -> None:
    assert names_another_host(target, [OTHER, LOCAL])


@pytest.mark.parametrize(
    "target", [b"http://localhost:80/mcp", b"HTTP://LocalHost:80", b"http://localhost:80?a=http://evil.example"]
)
def test_one_that_names_the_same_is_not(target: bytes) -> None:
    assert not names_another_host(target, [OTHER, LOCAL])
    assert not names_another_host(target, [(b"host", b"LOCALHOST:80 ")])


@pytest.mark.parametrize("headers", [[OTHER], [LOCAL, (b"host", b"evil.example")]])
def test_a_whole_url_without_a_header_or_with_two_that_differ_is_told(headers: list[tuple[bytes, bytes]]) -> None:
    assert names_another_host(b"http://localhost:80/mcp", headers)


@pytest.mark.parametrize("target", [b"/mcp", b"/rpc/a?next=http://evil.example", b"/a://b", b"?a://b", b"*"])
def test_a_path_names_no_host_whatever_stands_in_it(target: bytes) -> None:
    assert not names_another_host(target, [LOCAL])
