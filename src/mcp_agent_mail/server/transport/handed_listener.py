"""The listening socket that whoever starts us has open already, handed over as systemd does it: `sd_listen_fds(3)`."""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping

from mcp_agent_mail.server.transport.listener import CannotListen

FIRST_FD = 3
"""By the protocol the first descriptor that is handed over; there may be no more than this one."""
_VARIABLES = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID")
_ONE = "Hand over one TCP socket that listens: in a systemd socket unit, one ListenStream= with a port."


class UnfitPort(CannotListen):
    """What was handed over is not one TCP socket that listens."""


def take_handed_listener(environ: MutableMapping[str, str], pid: int) -> socket.socket | None:
    """The socket that was handed to the process `pid`, which is this one; None where none was, or another was meant.

    The variables that tell of it leave `environ`, and children inherit neither them nor the socket. Raises UnfitPort.
    """
    told = {name: environ.pop(name) for name in _VARIABLES if name in environ}
    if told.get("LISTEN_PID") != str(pid):
        return None
    count = told.get("LISTEN_FDS", "0")
    if count == "0":
        return None
    if count != "1":
        raise UnfitPort(f"LISTEN_FDS={count[:20]!r}: it takes one socket, no more.", hint=_ONE)
    return _listener_at(FIRST_FD)


def address_of(listener: socket.socket) -> tuple[str, int]:
    """What it is bound to, whatever settings say."""
    host, port = listener.getsockname()[:2]
    return host, port


def _listener_at(descriptor: int) -> socket.socket:
    try:
        os.set_inheritable(descriptor, False)
        handed = socket.socket(fileno=descriptor)
    except OSError as error:
        raise UnfitPort(
            f"Descriptor {descriptor}, which was handed over, is no socket: {error.strerror}.", hint=_ONE
        ) from error
    if (fault := _fault_of(handed)) is not None:
        handed.close()
        raise UnfitPort(f"The socket that was handed over {fault}.", hint=_ONE)
    handed.setblocking(False)
    return handed


def _fault_of(handed: socket.socket) -> str | None:
    if handed.family not in {socket.AF_INET, socket.AF_INET6}:
        return f"is of the family {_named(handed.family)}, which has no port"
    if handed.type != socket.SOCK_STREAM:
        return f"is of the type {_named(handed.type)}, and not TCP"
    if not handed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return "does not listen"
    return None


def _named(kind: int) -> str:
    return kind.name if isinstance(kind, socket.AddressFamily | socket.SocketKind) else str(kind)
