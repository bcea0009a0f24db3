"""Answers known requests in the task of their own connection: no session's streams, no context of FastMCP's, no model
of a result that our own code made.

What a client gets is what FastMCP and the SDK would answer, which `tests/server/fast_path` holds it to.
"""

from __future__ import annotations

import orjson
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp_types import INTERNAL_ERROR, SERVER_INFO_META_KEY

from mcp_agent_mail.core.concurrency.outside_end import is_from_outside, running_task
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.server.dispatch import Calls, RequestFacts, masked
from mcp_agent_mail.server.fast_path.known_requests import PING, READ, TOOL_CALL, KnownRequest, known_request
from mcp_agent_mail.server.fast_path.table_calls import TableCalls, Wire
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.rendering.mcp_words import OURS, McpWords
from mcp_agent_mail.server.rendering.wire import error_object
from mcp_agent_mail.server.transport.hearing import RequestHearing

_OF_THE_MODERN_ERA = ("resultType", "ttlMs", "cacheScope")
_OK = 200
_RESOURCES = "resource://"


class FastPath:
    """Over the same tables and words as the FastMCP server that answers everything else. `server_info` is what that one
    says of itself.
    """

    def __init__(self, calls: Calls, server_info: JsonObject, words: McpWords = OURS) -> None:
        self._tables = TableCalls(calls, words)
        self._stamp = {SERVER_INFO_META_KEY: server_info}

    def find(self, headers: Headers, message: JsonObject, *, is_modern: bool) -> KnownRequest | None:
        """The request, if it is answered here: what no table has is not. None of the headers came twice."""
        request = known_request(headers, message, is_modern=is_modern)
        return request if request is not None and self._is_served(request) else None

    def _is_served(self, request: KnownRequest) -> bool:
        if request.method == TOOL_CALL:
            return self._tables.own_name(request.params["name"]) in self._tables.calls.tools
        return request.method == PING or str(request.params["uri"]).startswith(_RESOURCES)

    async def answer(self, request: KnownRequest, facts: RequestFacts, hearing: RequestHearing) -> tuple[int, bytes]:
        """The answer's HTTP status and body. Raises nothing but what ends the request from outside."""
        task = running_task()
        try:
            result = await self._result(request, facts, hearing)
            return _OK, _dumped(request, "result", self._shaped(request, result))
        except MCPError as refused:
            return _error(request, refused.error.code, refused.error.message, refused.error.data)
        except BaseException as error:
            if is_from_outside(error, task):
                raise
            bug = masked(error, what=request.method, request_id=facts.request_id)
            return _error(request, INTERNAL_ERROR, bug.text, error_object(bug))

    async def _result(self, request: KnownRequest, facts: RequestFacts, hearing: RequestHearing) -> Wire:
        if request.method == TOOL_CALL:
            return await self._tables.call_tool(request.params, facts, hearing)
        if request.method == READ:
            return await self._tables.read_resource(request.params, facts, hearing, is_modern=request.is_modern)
        return {}

    def _shaped(self, request: KnownRequest, result: Wire) -> Wire:
        """As the SDK shapes a result for its era: the older one has no word for some of its keys."""
        if request.is_modern:
            result["_meta"] = self._stamp
        else:
            for key in _OF_THE_MODERN_ERA:
                result.pop(key, None)
        return result


def cancelled_answer(request: KnownRequest) -> tuple[int, bytes]:
    """To a request that its client has cancelled by a notification."""
    return _error(request, REQUEST_CANCELLED, "Request cancelled", None)


def _error(request: KnownRequest, code: int, message: str, data: object) -> tuple[int, bytes]:
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    status = ERROR_CODE_HTTP_STATUS.get(code, _OK) if request.is_modern else _OK
    return status, _dumped(request, "error", error)


def _dumped(request: KnownRequest, key: str, value: object) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": request.id, key: value})
