"""What our kernel knows of what a client's kernel has got. Where it cannot be asked, nothing is known to be read."""

from __future__ import annotations

import select
import socket
import sys
from fcntl import ioctl
from termios import TIOCOUTQ

_TCP_CLOSE = 7
"""Linux: first byte of TCP_INFO of a connection that is gone, which a client's reset does to it."""
_SO_NWRITE = 0x1024
_TCP_CONNECTION_INFO = 0x106
_TCPS_CLOSED = 0
"""Darwin: bytes of the send buffer, and the first byte of what is known of a connection that is gone
(<sys/socket.h>, <netinet/tcp.h>, <netinet/tcp_fsm.h>).
"""


def has_acknowledged(connection: socket.socket | None) -> bool:
    """Whether the client's kernel has all that was written, and the connection stands; True where there is no socket
    to ask. Its request carries the acknowledgement. The error of a connection that was reset is left to be read.
    """
    if connection is None:
        return True
    try:
        return not _unacknowledged_bytes(connection) and not _is_gone(connection)
    except OSError:
        return False


def has_taken_all(connection: socket.socket | None) -> bool:
    """Whether a client that has ended its side in order had got all that was written by then. One that had left when
    the last was written has reset the connection, which the end that is read first does not say.
    """
    if connection is None:
        return False
    try:
        return not _unacknowledged_bytes(connection) and not connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    except OSError:
        return False


def unacknowledged_bytes(connection: socket.socket | None) -> int:
    """How much of what was written the client's kernel has not got, as far as is known; 0 of what is gone."""
    if connection is None:
        return 0
    try:
        return _unacknowledged_bytes(connection)
    except OSError:
        return 0


def has_sent(connection: socket.socket | None) -> bool:
    """Whether bytes, or the end, of what the client sent wait to be read."""
    if connection is None:
        return False
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def _unacknowledged_bytes(connection: socket.socket) -> int:
    if sys.platform == "darwin":
        return connection.getsockopt(socket.SOL_SOCKET, _SO_NWRITE)
    return int.from_bytes(ioctl(connection.fileno(), TIOCOUTQ, bytes(4)), sys.byteorder)


def _is_gone(connection: socket.socket) -> bool:
    if sys.platform == "darwin":
        return connection.getsockopt(socket.IPPROTO_TCP, _TCP_CONNECTION_INFO, 1)[0] == _TCPS_CLOSED
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _TCP_CLOSE
