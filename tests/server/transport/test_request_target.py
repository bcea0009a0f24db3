"""Which host a request is for, when its target is a whole URL."""

from __future__ import annotations

import pytest

from mcp_agent_mail.server.transport.request_target import take_host

LOCAL = (b"host", b"localhost")
OTHER = (b"accept", b"*/*")


@pytest.mark.parametrize(
    ("target", "host"),
    [
        (b"http://evil.example/mcp", b"evil.example"),
        (b"http://evil.example:80", b"evil.example:80"),
        (b"https://evil.example?a=/b", b"evil.example"),
        (b"http:///mcp", b""),
        (b"http://user@localhost/mcp", b"user@localhost"),
    ],
)
def test_a_whole_url_names_the_host_in_place_of_the_header(target: bytes, host: bytes) -> None:
    headers = [OTHER, LOCAL]

    take_host(target, headers)

    assert headers == [OTHER, (b"host", host)]


def test_a_whole_url_names_the_host_where_there_is_no_header() -> None:
    headers = [OTHER]

    take_host(b"http://evil.example/mcp", headers)

    assert headers == [OTHER, (b"host", b"evil.example")]


@pytest.mark.parametrize("target", [b"/mcp", b"/rpc/a?next=http://evil.example", b"/a://b", b"?a://b", b"*"])
def test_a_path_names_no_host_whatever_stands_in_it(target: bytes) -> None:
    headers = [LOCAL]

    take_host(target, headers)

    assert headers == [LOCAL]


def test_two_hosts_stay_two_so_that_they_are_refused() -> None:
    headers = [LOCAL, LOCAL]

    take_host(b"http://evil.example/", headers)

    assert headers == [LOCAL, LOCAL]
