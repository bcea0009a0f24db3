"""Messages on their way between lines and HTTP: what a message says of itself, and what an answer becomes."""

from __future__ import annotations

import base64
import http.client
import json
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

MAX_ANSWER_BYTES = 64 * 1024 * 1024
FAILED = -32000

_VERSION_META = "io.modelcontextprotocol/protocolVersion"
_HEADER_SAFE = re.compile(r"(?!=\?base64\?.*\?=$)[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")

# Plain JSON.
Message = dict[str, Any]


def modern_version(message: Message) -> str | None:
    """The protocol version that a message of the stateless era carries; None for the era of handshakes."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_VERSION_META) if isinstance(meta, dict) else None
    return version if isinstance(version, str) else None


def request_key(message_id: object) -> str:
    """1 and "1" are two requests."""
    return json.dumps(message_id)


def header_value(text: str) -> str:
    """As it is, or in base64 where HTTP would not carry it unchanged."""
    if _HEADER_SAFE.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def read_events(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The messages of an event stream."""
    data: list[bytes] = []
    size = 0
    while line := response.readline(MAX_ANSWER_BYTES):
        size += len(line)
        if size > MAX_ANSWER_BYTES:
            raise http.client.HTTPException("A message is too long.")
        field, _, value = line.rstrip(b"\r\n").partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif not line.strip():
            if message := b"".join(data).strip():
                yield message
            data, size = [], 0


_TOKEN_HINT = " Set AGENT_MAIL_TOKEN to the server's HTTP_BEARER_TOKEN."


def answer_line(message_id: object, status: int, content: bytes) -> bytes:
    """The answer to the request `message_id`; a refusal below the protocol becomes an error of the protocol."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and "jsonrpc" in answer and "detail" not in answer:
        is_whole = answer.get("id") == message_id and b"\n" not in content
        return content if is_whole else json.dumps({**answer, "id": message_id}).encode()
    said = answer.get("detail") if isinstance(answer, dict) else None
    hint = _TOKEN_HINT if status == HTTPStatus.UNAUTHORIZED else ""
    return error_line(message_id, FAILED, f"{said or f'The server answered HTTP {status}.'}{hint}")


def error_line(message_id: object, code: int, words: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": words}}).encode()


def updated_line(uri: str, meta: object = None) -> bytes:
    """That a resource may have changed, as the server says it."""
    params = {"uri": uri} if meta is None else {"uri": uri, "_meta": meta}
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}).encode()


def read_message(content: bytes) -> Message:
    """Empty for what is no JSON object."""
    try:
        message = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}
