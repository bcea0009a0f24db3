"""The listening socket: bound before anything slow is imported, so that a taken port is told at once."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

from mcp_agent_mail.core.errors import Unavailable

BACKLOG = 2048
_OWN = ("HTTP_HOST", "HTTP_PORT")


class PortTaken(Unavailable):
    """Someone else listens there."""


class CannotListen(Unavailable):
    """The address is not this machine's, or the port needs rights we do not have."""


def open_listener(host: str, port: int, *, settings: tuple[str, str] = _OWN) -> socket.socket:
    """A listening socket; port 0 takes any free one. `settings` are those that hold host and port. Raises PortTaken,
    CannotListen.
    """
    family, _, protocol, _, address = _resolved(host, port, settings[0])
    # Only where the socket says that it is TCP does asyncio switch Nagle's wait off for what it accepts.
    listener = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # Two sockets may bind one port before either listens (SO_REUSEADDR): listen now, so that the second fails.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise _taken(host, port, settings[1]) from error
        raise CannotListen(
            f"Cannot listen on {host}:{port}: {error.strerror}.", hint=f"Choose another {settings[0]} or {settings[1]}."
        ) from error
    listener.setblocking(False)
    return listener


def _resolved(
    host: str, port: int, setting: str
) -> tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        # Python encodes the name before it asks, and says so in an error of its own for a part that is empty or long.
        why = error.strerror if isinstance(error, OSError) else "It is no host name"
        raise CannotListen(
            f"Cannot listen on {host}: {why}.", hint=f"Set {setting} to an address of this machine."
        ) from error
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    return found[0]  # type: ignore[return-value]  # (ip, port) or (ip, port, flow, scope); bytes only on odd builds


_USE_IT = "If it is an agent-mail server, use that one (am status). Else stop it, or take another --port."


def _taken(host: str, port: int, setting: str) -> PortTaken:
    owner = port_owner(port)
    by_whom = f" by process {owner[0]} ({owner[1]})" if owner else ""
    return PortTaken(
        f"{host}:{port} is taken{by_whom}.",
        hint=_USE_IT if setting in _OWN else f"Stop it, or take another port: {setting}.",
        data={"port": port, "pid": owner[0] if owner else None},
    )


def port_owner(port: int) -> tuple[int, str] | None:
    """(pid, command) of the process that listens on `port`, where the kernel lets us see it (Linux, own processes)."""
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not inodes:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(entry.readlink()) in inodes for entry in (process / "fd").iterdir()):
                command = (process / "cmdline").read_bytes().split(b"\0")
                return int(process.name), " ".join(part.decode(errors="replace") for part in command[:4]).strip()
        except OSError:
            continue
    return None


_LISTEN = "0A"


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes
