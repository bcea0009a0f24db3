"""The server called as an entry says: an MCP handshake and the list of tools."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mcp_agent_mail.clients.setup.read_back import NotReadBack, ReadEntry

_PROTOCOL = "2025-11-25"
_TIMEOUT_S = 10.0
_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_NO_TOKEN = "it needs a token. Set AGENT_MAIL_TOKEN to one of that server's, here and where clients start"
_WRONG_TOKEN = (
    "AGENT_MAIL_TOKEN is not valid there. If it is another server's, set AGENT_MAIL_URL to that, and run am setup again"
)
_WANTED = ("register_agent", "send_message", "fetch_inbox")


def list_tools(entry: ReadEntry) -> int:
    """How many tools the entry leads to, ours among them. Raises NotReadBack, with what was answered instead."""
    try:
        parts = urlsplit(entry.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)
    except (ValueError, http.client.HTTPException) as unfit:
        raise NotReadBack(f"{entry.url} is no address: {str(unfit)[:200]}") from unfit
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        hello = {
            "protocolVersion": _PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "am setup", "version": "1"},
        }
        session = _post(connection, path, entry.headers, {"id": 0, "method": "initialize", "params": hello})[1]
        headers = {**entry.headers, "MCP-Protocol-Version": _PROTOCOL, **session}
        _post(connection, path, headers, {"method": "notifications/initialized"})
        answer = _post(connection, path, headers, {"id": 1, "method": "tools/list"})[0]
        if session:
            connection.request("DELETE", path, headers=headers)
            connection.getresponse().read(_MAX_ANSWER_BYTES)
        names = {tool["name"] for tool in answer["result"]["tools"]}
    except (OSError, http.client.HTTPException) as failed:
        raise NotReadBack(f"{entry.url} does not answer: {str(failed)[:200]}") from failed
    except (LookupError, TypeError, ValueError, RecursionError) as failed:
        raise NotReadBack(f"what answers at {entry.url} is no MCP server of ours") from failed
    finally:
        connection.close()
    if missing := [name for name in _WANTED if name not in names]:
        raise NotReadBack(f"{entry.url} offers no {missing[0]}")
    return len(names)


# Any: the answer is plain JSON.
def _post(
    connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str], message: Mapping[str, Any]
) -> tuple[Any, dict[str, str]]:
    """The answer, and the header of the session that it opened."""
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    connection.request("POST", path, json.dumps({"jsonrpc": "2.0", **message}), sent)
    response = connection.getresponse()
    content = response.read(_MAX_ANSWER_BYTES)
    if response.status == http.client.UNAUTHORIZED:
        has_token = bool(headers.get("Authorization", "").removeprefix("Bearer").strip())
        raise NotReadBack(f"it answers HTTP 401: {_WRONG_TOKEN if has_token else _NO_TOKEN}")
    if response.status not in (http.client.OK, http.client.ACCEPTED):
        raise NotReadBack(f"it answers HTTP {response.status}: {content[:200].decode('utf-8', 'replace')}")
    session = response.getheader("Mcp-Session-Id")
    if content.startswith((b"event:", b"data:")):
        content = next((line[5:] for line in content.splitlines() if line.startswith(b"data:")), b"")
    return json.loads(content) if content.strip() else None, {"Mcp-Session-Id": session} if session else {}
