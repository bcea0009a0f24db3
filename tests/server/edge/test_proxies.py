"""Whose request it is: proxies that are trusted say it, and nobody else."""

from __future__ import annotations

import pytest

from mcp_agent_mail.server.edge.proxies import MAX_HOPS, NO_PROXIES, Proxies

TRUSTED = Proxies(("10.0.0.0/8", "2001:db8::/32"))


def client(peer: str | None, *forwarded: str, proxies: Proxies = TRUSTED) -> str | None:
    headers = [(b"host", b"mail"), *((b"x-forwarded-for", one.encode()) for one in forwarded)]
    return proxies.client(peer, headers)


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("10.0.0.1", ["192.0.2.7"], "192.0.2.7"),
        ("10.0.0.1", ["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
        ("10.0.0.1", ["198.51.100.1, 192.0.2.7, 10.9.9.9"], "192.0.2.7"),
        ("10.0.0.1", ["198.51.100.1", "192.0.2.7", "10.9.9.9"], "192.0.2.7"),
        ("10.0.0.1", ["10.2.2.2, 10.3.3.3"], "10.2.2.2"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", ["192.0.2.7, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["192.0.2.7, unknown, 10.9.9.9"], "10.9.9.9"),
        ("10.0.0.1", ["192.0.2.7:4711"], "192.0.2.7"),
        ("10.0.0.1", ["[2001:db9::7]:4711"], "2001:db9::7"),
        ("10.0.0.1", ["[2001:db9::7]"], "2001:db9::7"),
        ("10.0.0.1", ["2001:DB9:0::7"], "2001:db9::7"),
        ("::ffff:10.0.0.1", ["192.0.2.7"], "192.0.2.7"),
        ("2001:db8::1", ["192.0.2.7, 2001:db8::2"], "192.0.2.7"),
        ("192.0.2.9", ["198.51.100.1"], "192.0.2.9"),
        ("not-an-address", ["198.51.100.1"], "not-an-address"),
        (None, ["198.51.100.1"], None),
    ],
)
def test_the_first_from_the_right_that_is_no_trusted_proxy_asks(
    peer: str | None, forwarded: list[str], found: str | None
) -> None:
    assert client(peer, *forwarded) == found


def test_without_trusted_proxies_the_peer_asks_whatever_is_said() -> None:
    assert client("127.0.0.1", "192.0.2.7", proxies=NO_PROXIES) == "127.0.0.1"


def test_a_long_way_is_followed_to_a_bound() -> None:
    hops = [f"10.1.0.{number}" for number in range(100)]

    assert client("10.0.0.1", ", ".join(hops)) == hops[-MAX_HOPS]
