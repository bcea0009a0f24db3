"""Small JSON answers, written straight to ASGI."""

from __future__ import annotations

import math
from typing import Any

import orjson
from starlette.types import Message, Send

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.server.edge.admitted import HttpRefusal

_JSON = b"application/json"
_REFUSALS, _SERVER_ERRORS = 400, 500
_INVALID_REQUEST, _INTERNAL_ERROR = -32600, -32603
"""Of JSON-RPC: what is refused has not reached any method; the server's own trouble begins at 500."""
_WITH_STATUS = {
    # The rest of the body is not read.
    413: ((b"connection", b"close"),),
}


async def send_json(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    await _send(send, status, _JSON, body, headers)


async def send_text(send: Send, status: int, media_type: str, text: str) -> None:
    await _send(send, status, f"{media_type}; charset=utf-8".encode(), text.encode(), ())


async def _send(
    send: Send, status: int, media_type: bytes, body: bytes, headers: tuple[tuple[bytes, bytes], ...]
) -> None:
    own = [(b"content-type", media_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})


async def send_value(send: Send, status: int, value: Any, *headers: tuple[bytes, bytes]) -> None:
    """Answer with `value`, which is any JSON."""
    await send_json(send, status, orjson.dumps(value), *headers)


async def send_detail(send: Send, status: int, detail: str) -> None:
    """Answer with a refusal below the tools, `{"detail": ...}`."""
    await send_value(send, status, {"detail": detail}, *_WITH_STATUS.get(status, ()))


async def send_refusal(send: Send, refusal: HttpRefusal) -> None:
    """Answer with it; where the same request can succeed later, with when."""
    if refusal.retry_after_s is None:
        await send_value(send, refusal.status, {"detail": refusal.detail}, *refusal.headers)
        return
    value = {"detail": refusal.detail, "retry_after_s": refusal.retry_after_s}
    await send_value(send, refusal.status, value, *refusal.headers, retry_after(refusal.retry_after_s))


def retry_after(seconds: float) -> tuple[bytes, bytes]:
    """The header that tells clients when: in whole seconds, so that waiting them out is enough."""
    return (b"retry-after", str(max(1, math.ceil(seconds))).encode())


async def send_limited(send: Send, error: AgentMailError) -> None:
    """Answer a request that came too often."""
    await send_refusal(send, HttpRefusal(status=429, detail=error.text, retry_after_s=error.data["retry_after_s"]))


def refusal_for_mcp(status: int, value: dict[str, Any]) -> dict[str, Any]:
    """The body of a refusal as MCP clients read it, who show nothing but JSON-RPC errors: `value`, which has `detail`,
    with such an error beside it. What else `value` says stands in the error's data, too.
    """
    code = _INVALID_REQUEST if status < _SERVER_ERRORS else _INTERNAL_ERROR
    data = {"status": status, **{key: one for key, one in value.items() if key != "detail"}}
    error = {"code": code, "message": value["detail"], "data": data}
    return {"jsonrpc": "2.0", "id": None, "error": error, **value}


def refusing_over_mcp(send: Send) -> Send:
    """Every refusal below the tools has a JSON-RPC error in it, whoever answers with it: same status and headers."""
    held: list[Message] = []

    async def send_refusing(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= _REFUSALS:
            held.append(message)
            return
        if held:
            start = held.pop()
            body = None if message.get("more_body", False) else _worded_body(start, message.get("body", b""))
            if body is not None:
                start = {**start, "headers": [_measured(pair, body) for pair in start.get("headers", ())]}
                message = {**message, "body": body}
            await send(start)
        await send(message)

    return send_refusing


def _worded_body(start: Message, body: bytes) -> bytes | None:
    """None for what is not one of our refusals, or has a JSON-RPC error in it already."""
    if (b"content-type", _JSON) not in start.get("headers", ()):
        return None
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:  # An answer without a body.
        return None
    if not isinstance(value, dict) or "detail" not in value or "jsonrpc" in value:
        return None
    return orjson.dumps(refusal_for_mcp(start["status"], value))


def _measured(pair: tuple[bytes, bytes], body: bytes) -> tuple[bytes, bytes]:
    return (pair[0], str(len(body)).encode()) if pair[0] == b"content-length" else pair


def without_body(send: Send) -> Send:
    """As HEAD is answered: the length is said, and nothing written."""

    async def send_head(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return send_head
