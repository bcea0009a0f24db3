"""The listening socket: bound and listening at once, or a refusal that says what to do."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from mcp_agent_mail.server.transport.listener import (
    CannotListen,
    PortTaken,
    open_listener,
    port_owner,
)

HAS_PROC = Path("/proc/net/tcp").exists()


def test_a_free_port_is_found_and_clients_get_through_at_once() -> None:
    with open_listener("127.0.0.1", 0) as listener:
        with socket.create_connection(listener.getsockname()) as client:
            peer = client.getpeername()

        assert peer == listener.getsockname()
        assert listener.getblocking() is False


def test_a_port_that_somebody_listens_on_is_told_with_its_process() -> None:
    with open_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]

        with pytest.raises(PortTaken) as refused:
            open_listener("127.0.0.1", port)

    assert refused.value.data == {"port": port, "pid": os.getpid() if HAS_PROC else None}
    assert f"127.0.0.1:{port} is taken" in refused.value.message
    assert (f"by process {os.getpid()} (" in refused.value.message) is HAS_PROC
    assert "am status" in refused.value.hint


def test_a_port_that_is_bound_and_not_listened_on_has_no_known_owner() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]

        with pytest.raises(PortTaken) as refused:
            open_listener("127.0.0.1", port)

    assert refused.value.data == {"port": port, "pid": None}
    assert refused.value.message == f"127.0.0.1:{port} is taken."


def test_a_port_of_a_server_that_has_just_ended_is_free_again() -> None:
    with open_listener("127.0.0.1", 0) as listener:
        address = listener.getsockname()
        with socket.create_connection(address):
            listener.setblocking(True)
            accepted, _ = listener.accept()
            # The side that closes first keeps the connection in TIME_WAIT.
            accepted.close()

    with open_listener(*address) as again:
        assert again.getsockname() == address


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("192.0.2.1", os.strerror(errno.EADDRNOTAVAIL)),
        ("fe80::1%no-such-link", "not known"),
        ("mail..example", "It is no host name"),
        ("a" * 64, "It is no host name"),
    ],
)
def test_an_address_that_is_not_this_machines_is_told_with_the_reason(host: str, why: str) -> None:
    with pytest.raises(CannotListen) as refused:
        open_listener(host, 0)

    assert f"Cannot listen on {host}" in refused.value.message
    assert why in refused.value.message
    assert "HTTP_HOST" in refused.value.hint


def test_a_name_of_both_families_is_bound_by_its_ipv4_address() -> None:
    with open_listener("localhost", 0) as listener:
        assert listener.family == socket.AF_INET


@pytest.mark.skipif(not HAS_PROC, reason="The owner is read from /proc.")
def test_the_owner_of_a_port_is_who_listens_there() -> None:
    with open_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            owner = port_owner(port)
            of_a_client = port_owner(client.getsockname()[1])

    assert owner is not None
    assert owner[0] == os.getpid()
    assert "python" in owner[1]
    assert of_a_client is None
    assert port_owner(port) is None
