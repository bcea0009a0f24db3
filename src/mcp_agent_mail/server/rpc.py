"""`POST /rpc/{tool}`: plain JSON in and out over the same tables, for the CLI, hooks and scripts.

Not MCP: no session, no envelope. A result is the tool's own value, a refusal `{"error": {...}}`
with a fitting HTTP status. The content type must be JSON: a form of a foreign web page cannot send that.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from starlette.types import Receive, Scope, Send

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.server.dispatch import Calls, RequestFacts
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.rendering.formats import OutputFormat, take_argument
from mcp_agent_mail.server.rendering.responses import send_detail, send_json, send_text, send_value
from mcp_agent_mail.server.rendering.wire import error_object, http_status, written
from mcp_agent_mail.server.transport.hearing import RequestHearing
from mcp_agent_mail.server.transport.limits import read_body

PREFIX = "/rpc/"
READ_RESOURCE = "read_resource"


class Rpc:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def answer(
        self, name: str, scope: Scope, headers: Headers, facts: RequestFacts, receive: Receive, send: Send
    ) -> None:
        """Answer one request. Raises what `read_body` raises."""
        if scope["method"] != "POST":
            await send_value(send, 405, {"detail": f"Use POST {PREFIX}{name}."}, (b"allow", b"POST"))
            return
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            await send_detail(send, 415, "Send Content-Type: application/json.")
            return
        hearing = RequestHearing(receive, send, scope)
        try:
            with heard_by(hearing):
                await self._answer(name, facts, receive, hearing.send)
        finally:
            hearing.close()

    async def _answer(self, name: str, facts: RequestFacts, receive: Receive, send: Send) -> None:
        try:
            # The body is in nobody's hands once it is parsed: the call may wait for long.
            arguments, output = take_argument(_parse(await read_body(receive)), facts.wishes.output)
            result = await self._call(name, arguments, facts)
        except AgentMailError as error:
            await send_value(send, http_status(error), error_object(error))
        else:
            if output.format is OutputFormat.JSON:
                await send_json(send, 200, orjson.dumps(result))
            else:
                media_type, text = written(name, result, output)
                await send_text(send, 200, media_type, text)

    async def _call(self, name: str, arguments: Mapping[str, Json], facts: RequestFacts) -> Json:
        if name != READ_RESOURCE:
            return await self._calls.run_tool(name, arguments, facts)
        uri = arguments.get("uri")
        if not isinstance(uri, str):
            hint = 'Send {"uri": "resource://…"}.'
            raise InvalidInput("read_resource needs uri.", hint=hint, data={"required": ["uri"]})
        return await self._calls.read_resource(uri, facts)


def _parse(body: bytes) -> dict[str, Json]:
    if not body.strip():
        return {}
    try:
        arguments = orjson.loads(body)
    except orjson.JSONDecodeError as broken:
        raise InvalidInput(f"The body is no JSON: {broken}.", hint="Send one JSON object in UTF-8.") from broken
    if not isinstance(arguments, dict):
        raise InvalidInput("The body must be a JSON object.", hint="Send the tool's arguments as one object.")
    return arguments
