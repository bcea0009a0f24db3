"""Results and errors as they stand on the wire, for both protocol eras and for `/rpc`.

The keys of results stand in the order in which the SDK writes them, so that the fast path and FastMCP write the same.
"""

from __future__ import annotations

from typing import Any

import orjson

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.resources import ContentResult
from mcp_agent_mail.core.tools import Json, ResultList, ToolSpec, UnknownTool
from mcp_agent_mail.server.rendering.formats import PLAIN, Output, OutputFormat, toon_envelope
from mcp_agent_mail.server.rendering.markdown import to_markdown
from mcp_agent_mail.server.rendering.responses import retry_after

_HTTP_STATUS = {
    "NOT_FOUND": 404,
    "RECIPIENT_NOT_FOUND": 404,
    "INVALID_INPUT": 400,
    "CURSOR_AHEAD": 400,
    "AUTHENTICATION_REQUIRED": 401,
    "PERMISSION_DENIED": 403,
    "CONTACT_REQUIRED": 403,
    "CONTACT_BLOCKED": 403,
    "CONFLICT": 409,
    "FILE_RESERVATION_CONFLICT": 409,
    "IDEMPOTENCY_KEY_CONFLICT": 409,
    "RECIPIENT_RETIRED": 410,
    "CURSOR_EXPIRED": 410,
    "RATE_LIMITED": 429,
    "QUOTA_EXCEEDED": 507,
    "UNAVAILABLE": 503,
    "INTERNAL": 500,
}
_MAY_REPEAT = frozenset({429, 503})
ERROR_TYPES = tuple(_HTTP_STATUS)

INVALID_PARAMS = -32602
_INTERNAL_ERROR = -32603
_RESOURCE_NOT_FOUND = -32002
"""Of the handshake era; 2026-07-28 forbids it and says invalid params."""

_JSON = "application/json"
_DONE = {"resultType": "complete"}
NEVER_CACHED = {"ttlMs": 0, "cacheScope": "private"}
"""2026-07-28 requires these keys; for the handshake era the SDK drops them."""


def compact(value: Json) -> str:
    return orjson.dumps(value).decode()


def http_status(error: AgentMailError) -> int:
    return _HTTP_STATUS.get(error.code, 500)


def retry_headers(error: AgentMailError) -> tuple[tuple[bytes, bytes], ...]:
    """`Retry-After` where a repeat of the same request can succeed by then: whole seconds, rounded up."""
    retry_after_s = error.data.get("retry_after_s")
    if http_status(error) not in _MAY_REPEAT or not isinstance(retry_after_s, int | float):
        return ()
    return (retry_after(retry_after_s),)


def error_object(error: AgentMailError) -> dict[str, Any]:
    """`{"error": {...}}`, the structured content of every refusal."""
    return {"error": error.to_wire()}


def tool_result(spec: ToolSpec, result: Json, output: Output = PLAIN) -> dict[str, Any]:
    """A `tools/call` result: the same value as one text block and as structured content.

    Structured content must be an object, so a list tool's array stands in it under `result`, and beside it what
    belongs to the list. A list tool that answers with an object alone has an empty `result`.
    As TOON both hold the envelope, unless plain JSON is shorter; Markdown is the text block's alone.
    """
    if (envelope := _shorter_envelope(result, output)) is not None:
        return _call_result(compact(envelope), envelope, is_error=False)
    structured = structured_list(result) if spec.result_list else result
    text = to_markdown(None, result) if output.format is OutputFormat.MD else compact(result)
    return _call_result(text, structured, is_error=False)


def structured_list(result: Json) -> dict[str, Any]:
    """The object in which a list tool's answer stands."""
    if isinstance(result, dict):
        return {"result": [], **result}
    return {"result": result, **(result.beside if isinstance(result, ResultList) else {})}


def _shorter_envelope(result: Json, output: Output) -> dict[str, Any] | None:
    """The TOON envelope where TOON is asked for and costs no more characters than plain JSON, or could not be made."""
    if output.format is not OutputFormat.TOON:
        return None
    envelope = toon_envelope(result, output)
    could_be_made = envelope["format"] == OutputFormat.TOON.value
    return None if could_be_made and len(compact(envelope)) > len(compact(result)) else envelope


def tool_error(name: str, error: AgentMailError) -> dict[str, Any]:
    """A refusal as a `tools/call` result: models read the text, programs the structured content."""
    text = error.text if isinstance(error, UnknownTool) else f"Error calling tool '{name}': {error.text}"
    return _call_result(text, error_object(error), is_error=True)


def worded_result(text: str, structured: Json | None, *, is_error: bool) -> dict[str, Any]:
    """A `tools/call` result in a door's words: without structured content where the door has none."""
    if structured is not None:
        return _call_result(text, structured, is_error=is_error)
    return {"content": [{"text": text, "type": "text"}], "isError": is_error, **_DONE}


def _call_result(text: str, structured: Json, *, is_error: bool) -> dict[str, Any]:
    return {
        "content": [{"text": text, "type": "text"}],
        "isError": is_error,
        **_DONE,
        "structuredContent": structured,
    }


def resource_result(uri: str, result: Json, output: Output = PLAIN) -> dict[str, Any]:
    """A `resources/read` result: one content, bytes as they are in whatever form others are written."""
    if isinstance(result, ContentResult):
        content = dict(sorted({"uri": uri, **result}.items()))
    else:
        media_type, text = written(uri.partition("?")[0], result, output)
        content = {"mimeType": media_type, "text": text, "uri": uri}
    return {"cacheScope": NEVER_CACHED["cacheScope"], "contents": [content], **_DONE, "ttlMs": NEVER_CACHED["ttlMs"]}


def written(title: str, result: Json, output: Output) -> tuple[str, str]:
    """Media type and text of a result that stands alone."""
    if output.format is OutputFormat.MD:
        return "text/markdown", to_markdown(title, result)
    envelope = _shorter_envelope(result, output)
    return _JSON, compact(result if envelope is None else envelope)


def resource_error_code(error: AgentMailError, *, is_modern: bool) -> int:
    """The JSON-RPC code of a failed read; what matters to a program stands in `data`."""
    if error.code in ("INTERNAL", "UNAVAILABLE"):
        return _INTERNAL_ERROR
    if error.code == "NOT_FOUND" and not is_modern:
        return _RESOURCE_NOT_FOUND
    return INVALID_PARAMS
