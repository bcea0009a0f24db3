"""Whether a port that the server is to listen on is another program's: asked of what answers there."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from mcp_agent_mail.core import running_server as wire
from mcp_agent_mail.core.errors import Conflict

_WITHIN_S = 2.0


class ForeignPort(Conflict):
    """Another program listens there."""


def require_no_stranger(host: str, ports: Sequence[int]) -> None:
    """Raise ForeignPort for the first port where something listens that does not say by `/health` that it is ours. A
    free port, and one of a server of ours, is well.
    """
    for port in ports:
        if port and is_taken(host, port) and not is_ours(host, port):
            raise ForeignPort(
                f"Port {port} is another program's: what answers there is no agent-mail server.",
                hint="Stop it, choose other ports, or install with --skip-port-check.",
                data={"host": host, "port": port},
            )


def is_taken(host: str, port: int) -> bool:
    """Whether something listens there."""
    try:
        with socket.create_connection((_near(host), port), timeout=_WITHIN_S):
            return True
    except OSError:
        return False


def is_ours(host: str, port: int) -> bool:
    """By the port of a door's `/health`, or the server's own `/health/liveness`."""
    near = _near(host)
    server = wire.RunningServer(f"http://{f'[{near}]' if ':' in near else near}:{port}", {})
    for path, key, said in (("/health", "status", "ok"), ("/health/liveness", "status", "alive")):
        try:
            status, answer = server.exchange("GET", path, None, wire.Deadline(_WITHIN_S))
        except wire.NoAnswer:
            return False
        if status == 200 and isinstance(answer, dict) and answer.get(key) == said:
            return "dbPath" in answer or said == "alive"
    return False


def _near(host: str) -> str:
    """The address that this machine reaches it by."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # what a server may be bound to
