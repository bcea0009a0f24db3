"""What is posted to MCP, read once, by the parser that the SDK has for sessions: all that is judged of a request is
judged of what its tools will get.
"""

from __future__ import annotations

from typing import Any

from mcp_types import INVALID_REQUEST, PARSE_ERROR
from pydantic_core import from_json, to_json

from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.plain_calls import NO_JSON_TYPE, is_json
from mcp_agent_mail.server.transport.message_ids import is_id, is_told_back
from mcp_agent_mail.server.transport.protocol_versions import unserved_version

MAX_BESIDE_BYTES = 64 * 1024
"""Of a request without its arguments: `_meta` and the like stay in memory for as long as the call waits."""
_NO_OBJECT = "Send one JSON-RPC request as a JSON object in UTF-8; batches are not served."
_SEND_SUCH = (
    'Send {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "health_check", "arguments": {}}}; '
    "or, without MCP, the arguments alone to POST /rpc/<tool>."
)
_NO_JSON_RPC = f"This is no request of JSON-RPC 2.0. {_SEND_SUCH}"
_NO_METHOD = "It has no method."
_WRONG_VERSION = 'jsonrpc is "2.0", as text.'
_WRONG_METHOD = "method is a text."
_WRONG_PARAMS = "params is an object, or left out."
_WRONG_ID = "An id is a text or a whole number."
_NO_ID = "It has no id, and would get no answer: give an id. Nothing was done."
_MUCH_BESIDE = (
    f"A request may have {MAX_BESIDE_BYTES >> 10} KiB beside its arguments, `_meta` included; nothing was done."
)
_BLANKS = b" \t\r\n"
_NOTIFICATIONS = "notifications/"
_ANSWERED = frozenset({"tools/call", "resources/read"})
"""The SDK takes a request without an id for a notification, answers 202 and does nothing."""


class MessageRefused(Exception):
    """It is not handed on, whatever it asks for. `status` and `value` answer it."""

    def __init__(self, status: int, value: JsonObject) -> None:
        super().__init__()
        self.status = status
        self.value = value


def read_message(headers: Headers, body: bytes) -> JsonObject:
    """The JSON-RPC message in `body`, of a version that is served; what it asks for nobody has looked at. Raises
    MessageRefused.
    """
    if not is_json(headers):
        raise MessageRefused(400, {"detail": NO_JSON_TYPE})
    if not is_one_object(body):
        raise MessageRefused(400, refusal(INVALID_REQUEST, _NO_OBJECT))
    try:
        message: JsonObject = from_json(body)
    except ValueError as broken:
        raise MessageRefused(400, refusal(PARSE_ERROR, f"Parse error: {broken}. {_NO_OBJECT}")) from None
    if len(body) > MAX_BESIDE_BYTES and _size_beside(message) > MAX_BESIDE_BYTES:
        raise MessageRefused(413, {"detail": _MUCH_BESIDE})
    if "jsonrpc" not in message:
        raise MessageRefused(400, {"detail": _NO_JSON_RPC})
    if (unserved := unserved_version(headers, message)) is not None:
        raise MessageRefused(400, unserved)
    if (wrong := _wrong_envelope(message)) is not None:
        raise MessageRefused(400, refusal(INVALID_REQUEST, f"{wrong} {_SEND_SUCH}", message.get("id")))
    return message


def _wrong_envelope(message: JsonObject) -> str | None:
    """What is wrong with it, where the SDK would refuse it with the errors of its models, or say nothing. An answer is
    the SDK's to judge.
    """
    if message["jsonrpc"] != "2.0":
        return _WRONG_VERSION
    method = message.get("method")
    if not isinstance(method, str):
        is_answer = "result" in message or "error" in message
        return None if is_answer else _WRONG_METHOD if "method" in message else _NO_METHOD
    if not isinstance(message.get("params"), dict | None):
        return _WRONG_PARAMS
    return None if method.startswith(_NOTIFICATIONS) else _wrong_id(method, message)


def _wrong_id(method: str, message: JsonObject) -> str | None:
    if "id" not in message:
        return _NO_ID if method in _ANSWERED else None
    return None if is_id(message["id"]) else _WRONG_ID


def refusal(code: int, text: str, request_id: object = None) -> JsonObject:
    """Of a request; without its id where whoever waits for the answer to it must not take this for it."""
    told_id = request_id if is_told_back(request_id) else None
    return {"jsonrpc": "2.0", "id": told_id, "error": {"code": code, "message": text}}


def is_one_object(body: bytes) -> bool:
    """Whether a body may be a JSON object in UTF-8. No MCP version that is served has batches.

    The SDK refuses an array too, but only after it has validated all of it.
    """
    return body.lstrip(_BLANKS).startswith(b"{") and b"\0" not in body


def _size_beside(message: JsonObject) -> int:
    """In bytes, of all but the arguments."""
    params: Any = message.get("params")
    if isinstance(params, dict):
        params = {key: value for key, value in params.items() if key != "arguments"}
    return len(to_json({**message, "params": params}))
