"""Bounds of a request body, kept before anything parses it."""

from __future__ import annotations

from starlette.types import Message, Receive

from mcp_agent_mail.server.identity import Headers

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_VALUES = 20_000
"""Of a body, keys not counted: 4 MiB of `[]` or `{"":{}}` keep a parser for seconds. The guard asks of 5,000."""


class BodyTooLarge(Exception):
    """The body is over the limit; answer 413."""


class TooManyValues(Exception):
    """The body has more JSON values than any request of ours; answer 413."""


class ClientLeft(Exception):
    """The client closed the connection before its body was complete: nobody is left to answer."""


def declared_too_large(headers: Headers, at_most: int = MAX_BODY_BYTES) -> bool:
    """Whether the body is said to be over the limit, however many digits say it. What is no number is the parser's."""
    length = headers.get(b"content-length", b"")
    if not length.isdigit():
        return False
    digits = length.lstrip(b"0")
    # Python reads no number of thousands of digits: which servers pass on, where an application embeds this one.
    return len(digits) > len(str(at_most)) or int(digits or b"0") > at_most


async def read_body(receive: Receive) -> bytes:
    """The whole body, which JSON may be in. Raises BodyTooLarge, TooManyValues, ClientLeft."""
    body = await read_bounded(receive, MAX_BODY_BYTES)
    _require_few_values(body)
    return body


async def read_bounded(receive: Receive, at_most: int) -> bytes:
    """The whole body, of `at_most` bytes. Raises BodyTooLarge as soon as it is longer, and ClientLeft."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > at_most:
            raise BodyTooLarge
        return body
    received = bytearray()
    while message["type"] == "http.request":
        received += message.get("body", b"")
        if len(received) > at_most:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return bytes(received)
        message = await receive()
    raise ClientLeft


def _require_few_values(body: bytes) -> None:
    """Counts what stands between JSON's values, in the bytes: no parser of the SDK's has a bound of its own."""
    if len(body) <= 2 * MAX_VALUES or _separators(body) < MAX_VALUES:
        return
    # Texts may hold as many as they like. A quote that a text holds goes first, with what else is escaped.
    bare = body.replace(rb"\\", b"").replace(rb"\"", b"")
    if bare.count(b'"') > 4 * MAX_VALUES or _separators(b"".join(bare.split(b'"')[::2])) >= MAX_VALUES:
        raise TooManyValues


def _separators(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives `body` once more, then goes on with the connection's own."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return pending.pop() if pending else await receive()

    return next_message
