"""Addresses as text: which are this machine's own, and by which URL clients reach what is bound to them."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.settings.addresses import base_url, bound_url, is_loopback


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1"])
def test_this_machine_is_known_by_its_addresses_and_one_name(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["localhost.example", "192.0.2.1", "0.0.0.0", "::", "fd00::7", "[::1]", "", "127.1"])
def test_any_other_name_and_what_is_no_address_is_not_this_machine(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("host", "bound", "base"),
    [
        ("127.0.0.3", "http://127.0.0.3:9", "http://127.0.0.3:9"),
        ("mail.example", "http://mail.example:9", "http://mail.example:9"),
        ("0.0.0.0", "http://0.0.0.0:9", "http://127.0.0.1:9"),
        ("::", "http://[::]:9", "http://[::1]:9"),
        ("fd00::7", "http://[fd00::7]:9", "http://[fd00::7]:9"),
    ],
)
def test_clients_reach_a_server_on_every_address_by_loopback(host: str, bound: str, base: str) -> None:
    assert (bound_url(host, 9), base_url(host, 9)) == (bound, base)
