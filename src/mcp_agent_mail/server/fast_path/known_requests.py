"""Which requests can be answered from themselves alone: those that the SDK would hand to our tables as they are.

Whatever is unusual about a request is left to the SDK, which refuses or serves it: its own models and checks decide
what is usual. Nothing is answered here that it would refuse.
"""

from __future__ import annotations

from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp_types.methods import validate_client_request
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.transport.message_ids import is_told_back

TOOL_CALL, READ, PING = "tools/call", "resources/read", "ping"
_KEYS = {
    TOOL_CALL: frozenset({"name", "arguments", "_meta"}),
    READ: frozenset({"uri", "_meta"}),
    PING: frozenset({"_meta"}),
}
_ENVELOPE = frozenset({"jsonrpc", "id", "method", "params"})
_JSON_TYPES = frozenset({b"application/json", b"application/*", b"*/*"})


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRequest:
    """`params` are as its model in MCP takes them."""

    id: str | int
    method: str
    params: JsonObject
    is_modern: bool


def known_request(headers: Headers, message: JsonObject, *, is_modern: bool) -> KnownRequest | None:
    """The request, or None for what is the SDK's to answer. None of the headers came twice."""
    if not _accepts_json(headers) or not _is_json(headers) or not _is_ours(message):
        return None
    method, params = message["method"], message.get("params", {})
    if not isinstance(params, dict) or not params.keys() <= _KEYS[method] or not _has_arguments(method, params):
        return None
    version = LATEST_HANDSHAKE_VERSION
    if is_modern:
        route = _modern_route(headers, message)
        if route is None:
            return None
        version = route.protocol_version
    try:
        validate_client_request(method, version, params)
    except (KeyError, ValidationError):  # Not of this version, or nothing that it takes.
        return None
    return KnownRequest(id=message["id"], method=method, params=params, is_modern=is_modern)


def _is_ours(message: JsonObject) -> bool:
    """A request of a method that is answered here."""
    if not message.keys() <= _ENVELOPE or message.get("jsonrpc") != "2.0":
        return False
    method = message.get("method")
    return isinstance(method, str) and method in _KEYS and is_told_back(message.get("id"))


def _has_arguments(method: str, params: JsonObject) -> bool:
    """Of a call: an object, or none at all."""
    return method != TOOL_CALL or isinstance(params.get("arguments", {}), dict)


def _accepts_json(headers: Headers) -> bool:
    accepted = headers.get(b"accept", b"*/*").split(b",")
    return any(one.partition(b";")[0].strip().lower() in _JSON_TYPES for one in accepted)


def _is_json(headers: Headers) -> bool:
    """As the SDK reads it, who minds the case of its letters."""
    kinds = headers.get(b"content-type", b"").partition(b";")[0].split(b",")
    return any(kind.strip() == b"application/json" for kind in kinds)


def _modern_route(headers: Headers, message: JsonObject) -> InboundModernRoute | None:
    """Of a stateless request whose headers and envelope agree."""
    texts = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
    route = classify_inbound_request(message, headers=texts)
    return route if isinstance(route, InboundModernRoute) else None
