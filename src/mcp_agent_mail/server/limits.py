"""Bounds of a request body, kept before anything parses it."""

from __future__ import annotations

from starlette.types import Message, Receive

from mcp_agent_mail.server.identity import Headers

MAX_BODY_BYTES = 4 * 1024 * 1024


class BodyTooLarge(Exception):
    """The body is over the limit; answer 413."""


class ClientLeft(Exception):
    """The client closed the connection before its body was complete: nobody is left to answer."""


def declared_too_large(headers: Headers) -> bool:
    length = headers.get(b"content-length")
    return length is not None and length.isdigit() and int(length) > MAX_BODY_BYTES


async def read_body(receive: Receive) -> bytes:
    """The whole body. Raises BodyTooLarge, ClientLeft."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge
        return body
    received = bytearray()
    while message["type"] == "http.request":
        received += message.get("body", b"")
        if len(received) > MAX_BODY_BYTES:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return bytes(received)
        message = await receive()
    raise ClientLeft


def replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives `body` once more, then goes on with the connection's own."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return pending.pop() if pending else await receive()

    return next_message
