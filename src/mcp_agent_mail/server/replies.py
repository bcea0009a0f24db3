"""Small JSON answers, written straight to ASGI."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.types import Send

_JSON = (b"content-type", b"application/json")


async def send_json(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [_JSON, length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def send_value(send: Send, status: int, value: Any, *headers: tuple[bytes, bytes]) -> None:
    """`value`: any JSON."""
    await send_json(send, status, orjson.dumps(value), *headers)


async def send_detail(send: Send, status: int, detail: str) -> None:
    """A refusal below the tools: `{"detail": ...}`."""
    extra = ((b"www-authenticate", b'Bearer realm="mcp-agent-mail"'),) if status == 401 else ()
    await send_value(send, status, {"detail": detail}, *extra)
