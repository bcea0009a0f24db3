"""Which versions of MCP are served, by what a request's header says."""

from __future__ import annotations

from mcp_types import PROTOCOL_VERSION_META_KEY, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    KNOWN_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from mcp_agent_mail.core.errors import listed
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.transport.message_ids import is_told_back

VERSION_HEADER = b"mcp-protocol-version"
_HANDSHAKE = frozenset(version.encode() for version in HANDSHAKE_PROTOCOL_VERSIONS)
_KNOWN = frozenset(version.encode() for version in KNOWN_PROTOCOL_VERSIONS)
_LONGEST = 100
_SERVED = (
    f"Served are {listed(HANDSHAKE_PROTOCOL_VERSIONS, 'and')}, and {listed(MODERN_PROTOCOL_VERSIONS, 'and')} with its "
    f"envelope in params._meta. Send MCP-Protocol-Version: {LATEST_HANDSHAKE_VERSION}, or no such header."
)


def is_modern(headers: Headers) -> bool:
    """Whether a request is of the stateless era: its header names a version that has no handshake."""
    version = headers.get(VERSION_HEADER)
    return version is not None and version not in _HANDSHAKE


def unserved_version(headers: Headers, message: JsonObject) -> JsonObject | None:
    """The answer to a message whose header names a version that is not served, whatever else it lacks; None for all
    others. An envelope that names another version than the header is the SDK's to refuse.
    """
    version = headers.get(VERSION_HEADER)
    if version is None or version in _KNOWN:
        return None
    requested, enveloped = version.decode("latin-1"), _envelope_version(message)
    if enveloped not in (None, requested):
        return None
    # Of its own era alone, as `server/discover` tells them.
    supported = KNOWN_PROTOCOL_VERSIONS if enveloped is None else MODERN_PROTOCOL_VERSIONS
    message_id = message.get("id")
    error = {
        "code": UNSUPPORTED_PROTOCOL_VERSION,
        "message": f"MCP {requested:.{_LONGEST}} is not served. {_SERVED}",
        "data": {"supported": [*supported], "requested": requested[:_LONGEST]},
    }
    return {
        "jsonrpc": "2.0",
        "id": message_id if is_told_back(message_id) else None,
        "error": error,
    }


def _envelope_version(message: JsonObject) -> object:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
