"""Servers with doors open, or with none, and the proof that they are."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

from benchmarks.processes import Server, free_port
from benchmarks.stand import Stand
from benchmarks.wire import Refused, Rpc

_WITHIN_S = 30.0


def postal(project: str) -> dict[str, str]:
    """The settings of the door `postal` alone, whose mail lies in the project."""
    return {"POSTAL_ENABLED": "true", "FACADES_PROJECT": project}


def start_with_doors(stand: Stand, root: Path, **env: str) -> Server:
    """Every door there is, and the profile of claims, open. Raises Refused where one is not served."""
    ports = {"postal": free_port(), "claude-mailbox": free_port()}
    opened = {
        "POSTAL_ENABLED": "true",
        "POSTAL_PORT": str(ports["postal"]),
        "AGENTMAIL_ENABLED": "true",
        "CLAUDE_MAILBOX_ENABLED": "true",
        "CLAUDE_MAILBOX_PORTS": str(ports["claude-mailbox"]),
        "CLAIMS_ENABLED": "true",
    }
    server = stand.ours(root, Rpc(), **opened, **env)
    _require(server.port, "/agents/probe/mcp", {"tool": "check_mail", "args": {}})
    _require(ports["postal"], "/agents/probe/mcp", {"tool": "check_mail", "args": {}})
    _require(server.port, "/agentmail/names", {"project": str(root.parent), "name": "probe"})
    _require(ports["claude-mailbox"], "/health")
    listing = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO}
    _require(server.port, "/mcp?profile=claims", listing)
    return server


_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}


def _require(port: int, path: str, body: dict[str, object] | None = None) -> None:
    request = urllib.request.Request(  # our own server
        f"http://127.0.0.1:{port}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Accept": "application/json, text/event-stream"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_WITHIN_S) as answer:  # our own server
            answer.read()
    except (urllib.error.URLError, ConnectionError) as error:
        told = error.read()[:400] if isinstance(error, urllib.error.HTTPError) else b""
        raise Refused(f"a door that was to be open is shut: {path} at port {port}: {error} {told!r}") from error
