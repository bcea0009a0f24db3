from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.server.door_ports import WantedPort, opened_ports, wanted_ports
from mcp_agent_mail.server.transport.listener import PortTaken
from tests.server.whole_app import settings_of

WANTED = WantedPort(door=Door.POSTAL, port=0, setting="POSTAL_PORT")


def test_ports_are_those_of_every_door(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)

    assert wanted_ports(settings, [lambda _: [WANTED], lambda _: [], lambda _: [WANTED]]) == [WANTED, WANTED]
    assert wanted_ports(settings, []) == []


def test_each_port_is_a_listening_socket_that_is_closed_in_the_end() -> None:
    with opened_ports("127.0.0.1", [WANTED, WANTED]) as ports:
        assert list(ports.doors.values()) == [Door.POSTAL, Door.POSTAL]
        assert list(ports.urls) == [f"http://127.0.0.1:{port}" for port in ports.doors]
        for port in ports.doors:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_a_taken_port_of_a_door_names_its_owner_and_its_setting() -> None:
    wanted = WantedPort(door=Door.POSTAL, port=0, setting="POSTAL_PORT")
    with opened_ports("127.0.0.1", [wanted]) as ports:
        (port,) = ports.doors
        taken = WantedPort(door=Door.POSTAL, port=port, setting="POSTAL_PORT")
        with pytest.raises(PortTaken) as refused, opened_ports("127.0.0.1", [wanted, taken]):
            raise AssertionError
    assert "POSTAL_PORT" in refused.value.hint
    assert f"127.0.0.1:{port} is taken" in refused.value.message
