"""The ports that doors have to themselves, each a socket more of the same process."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.addresses import bound_url
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.server.transport.listener import open_listener


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPort:
    """A port as the setting that names it has it."""

    door: Door
    port: int
    setting: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorPorts:
    """What is bound for doors: the sockets, and whose each port is."""

    sockets: Sequence[socket.socket] = ()
    doors: Mapping[int, Door]
    urls: Mapping[str, Door]


PortsOf = Callable[[Settings], Sequence[WantedPort]]


def _postal_ports(settings: Settings) -> list[WantedPort]:
    if not (settings.postal_enabled and settings.postal_port):
        return []
    return [WantedPort(door=Door.POSTAL, port=settings.postal_port, setting="POSTAL_PORT")]


def _mailbox_ports(settings: Settings) -> list[WantedPort]:
    ports = settings.claude_mailbox_ports if settings.claude_mailbox_enabled else ()
    return [WantedPort(door=Door.CLAUDE_MAILBOX, port=port, setting="CLAUDE_MAILBOX_PORTS") for port in ports]


PORTS_OF: Sequence[PortsOf] = (_postal_ports, _mailbox_ports)
"""Of each door that can have ports to itself: those that the settings name, none while it is off."""


def wanted_ports(settings: Settings, ports_of: Sequence[PortsOf] = PORTS_OF) -> list[WantedPort]:
    """Those of the doors that are switched on."""
    return [port for ports in ports_of for port in ports(settings)]


@contextmanager
def opened_ports(host: str, wanted: Sequence[WantedPort]) -> Iterator[DoorPorts]:
    """Bound on FACADES_HOST, and listening. Raises PortTaken, CannotListen: then none is."""
    with ExitStack() as stack:
        sockets, doors, urls = [], {}, {}
        for one in wanted:
            listener = stack.enter_context(open_listener(host, one.port, settings=("FACADES_HOST", one.setting)))
            port = listener.getsockname()[1]
            sockets.append(listener)
            doors[port] = one.door
            urls[bound_url(host, port)] = one.door
        yield DoorPorts(sockets=sockets, doors=doors, urls=urls)
