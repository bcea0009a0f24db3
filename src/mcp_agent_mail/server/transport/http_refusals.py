"""What is answered to a client that breaks a bound, or speaks no HTTP, before any application sees its request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import orjson
from starlette.types import Message
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from mcp_agent_mail.server.edge.browsers import ALWAYS
from mcp_agent_mail.server.rendering.responses import refusal_for_mcp
from mcp_agent_mail.server.transport.connection_limits import LimitReached
from mcp_agent_mail.server.transport.request_target import path_of

MAX_HEADERS = 100
MAX_HEADERS_BYTES = 32 * 1024
"""Of all names and values together."""
MAX_TARGET_BYTES = 8 * 1024
MAX_HEAD_BYTES = MAX_HEADERS_BYTES + MAX_TARGET_BYTES + 4 * MAX_HEADERS + 64
"""With what stands between: also of what a chunked body has between two pieces of content, and of its trailers."""


class Refusal(NamedTuple):
    """What a client is told, and the bound that the log names: None where it was noted already."""

    status: int
    detail: str
    bound: LimitReached | None


HEADERS_TOO_LARGE = Refusal(
    431, f"At most {MAX_HEADERS} headers of {MAX_HEADERS_BYTES} bytes together are read.", LimitReached.HEAD
)
TARGET_TOO_LONG = Refusal(414, f"At most {MAX_TARGET_BYTES} bytes of a target are read.", LimitReached.HEAD)
NO_ROOM = Refusal(503, "The server has no room for another request just now.", None)
TOO_MANY_AT_ONCE = NO_ROOM._replace(bound=LimitReached.PIPELINED)
UNKNOWN_CODING = Refusal(501, "Of transfer codings chunked alone is read, once.", LimitReached.MALFORMED)
OTHER_HOST = Refusal(400, "The target names another host than Host does.", LimitReached.MALFORMED)
NO_REQUEST = Refusal(400, "This is no HTTP/1.1 request.", LimitReached.MALFORMED)

_CUT_SHORT_BODY = orjson.dumps(
    {"detail": "The server stops, and this did not end before. Whether it was done shows once it is back."}
)
CUT_SHORT: tuple[Message, ...] = (
    {
        "type": "http.response.start",
        "status": 503,
        "headers": [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(_CUT_SHORT_BODY)),
            (b"connection", b"close"),
            (b"retry-after", b"1"),
        ],
    },
    {"type": "http.response.body", "body": _CUT_SHORT_BODY},
)
"""What is sent where a stop ends a call: in the place of its answer."""

_MAY_REPEAT = frozenset({408, 503})
"""Of a request that was not complete, or not begun."""


def refusal_answer(
    status: int,
    detail: str,
    default_headers: Iterable[tuple[bytes, bytes]],
    *,
    target: bytes = b"",
    speaks_mcp: Callable[[str], bool],
) -> bytes:
    """The whole answer, after which the connection is closed. `target` is what was asked for, as far as it was read;
    where its path `speaks_mcp` a refusal is an error of it.
    """
    may_repeat = status in _MAY_REPEAT
    value = {"detail": f"{detail} Nothing was done; send it again." if may_repeat else detail}
    is_mcp = speaks_mcp(path_of(target))
    body = orjson.dumps(refusal_for_mcp(status, value) if is_mcp else value)
    retry = b"retry-after: 1\r\n" if may_repeat else b""
    return (
        STATUS_LINE[status]
        + b"".join(name + b": " + value + b"\r\n" for name, value in (*default_headers, *ALWAYS))
        + b"content-type: application/json\r\nconnection: close\r\n"
        + retry
        + b"content-length: %d\r\n\r\n" % len(body)
        + body
    )
