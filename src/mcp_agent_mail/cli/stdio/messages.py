"""Messages of MCP on lines, as the commands that are servers themselves read and answer them: `agentmail mcp` and
`claude-mailbox mcp-stdio`. Both start before Typer: nothing is imported here that they may do without.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    # Any: JSON-RPC.
    Json = Any

MAX_LINE_BYTES = 20 << 20
"""A body of 3 MiB may have six bytes of JSON for each of its own, and stands in a message."""
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Of the protocol, oldest first. A client that wants another one gets the newest."""

_INVALID = "Invalid Request"


class LineRefusal(Exception):
    """What is no request of JSON-RPC. It has no id that an answer could name. Its text is for people."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class LineRequest:
    """What wants an answer."""

    __slots__ = ("method", "number", "params")

    def __init__(self, number: str | int, method: str, params: dict[str, Json]) -> None:
        self.number = number
        self.method = method
        self.params = params


def read_lines(stream: BinaryIO, at_most: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    """The lines that hold something. One that is too long is read to its end and given as None, once."""
    while line := stream.readline(at_most):
        if len(line) == at_most and not line.endswith(b"\n"):
            while (rest := stream.readline(at_most)) and not rest.endswith(b"\n"):
                pass
            yield None
        elif line.strip():
            yield line


def read_request(line: bytes | None) -> LineRequest | None:
    """None for a notification, and for an answer: nobody has asked. `line` is of `read_lines`. Raises LineRefusal."""
    if line is None:
        raise LineRefusal(INVALID_REQUEST, f"a message has at most {MAX_LINE_BYTES} bytes")
    try:
        message: Json = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise LineRefusal(PARSE_ERROR, "Parse error") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise LineRefusal(INVALID_REQUEST, _INVALID)
    number, method, params = message.get("id"), message.get("method"), message.get("params")
    if number is None or method is None:
        return None
    if not isinstance(number, (str, int)) or isinstance(number, bool) or not isinstance(method, str):
        raise LineRefusal(INVALID_REQUEST, _INVALID)
    return LineRequest(number, method, params if isinstance(params, dict) else {})


def spoken_version(params: dict[str, Json]) -> str:
    """The version that is answered to what a client wants."""
    wanted = params.get("protocolVersion")
    return wanted if wanted in VERSIONS else VERSIONS[-1]


def result_of(number: str | int, result: Json) -> dict[str, Json]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def error_of(number: str | int | None, code: int, words: str, data: Json = None) -> dict[str, Json]:
    more = {} if data is None else {"data": data}
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": words, **more}}
