"""Small JSON answers, written straight to ASGI."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.types import Send

_JSON = b"application/json"
_WITH_STATUS = {
    401: ((b"www-authenticate", b'Bearer realm="mcp-agent-mail"'),),
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
