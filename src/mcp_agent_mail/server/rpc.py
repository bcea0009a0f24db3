"""`POST /rpc/{tool}`: plain JSON in and out over the same tables, for the CLI, hooks and scripts.

Not MCP: no session, no envelope. A result is the tool's own value.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Receive, Scope, Send

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.server.dispatch import Calls, RequestFacts
from mcp_agent_mail.server.edge.rates import RateClass
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.plain_calls import PlainCall, answer_call, is_json, parse_object, refuse_type

READ_RESOURCE = "read_resource"


class Rpc:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def answer(
        self, name: str, scope: Scope, headers: Headers, facts: RequestFacts, receive: Receive, send: Send
    ) -> None:
        """Answer one request. Raises what `read_body` raises."""
        if not is_json(headers):
            facts.charge(RateClass.OTHERS)
            await refuse_type(send)
            return

        async def run(arguments: Mapping[str, Json]) -> Json:
            return await self._call(name, arguments, facts)

        call = PlainCall(title=name, parse=parse_object, run=run, output=facts.wishes.output, charge=facts.charge)
        await answer_call(call, scope, receive, send)

    async def _call(self, name: str, arguments: Mapping[str, Json], facts: RequestFacts) -> Json:
        if name != READ_RESOURCE:
            return await self._calls.run_tool(name, arguments, facts)
        uri = arguments.get("uri")
        if not isinstance(uri, str):
            facts.charge(RateClass.OTHERS)
            hint = 'Send {"uri": "resource://…"}.'
            raise InvalidInput("read_resource needs uri.", hint=hint, data={"required": ["uri"]})
        return await self._calls.read_resource(uri, facts)
