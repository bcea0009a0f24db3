"""Tool calls and reads over MCP, run from the tables and shown as results: what FastMCP's handlers and the fast path
share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from mcp.shared.exceptions import MCPError

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.resources import MAX_URI
from mcp_agent_mail.core.tools import Json, unknown_tool
from mcp_agent_mail.server.dispatch import Calls, RequestFacts
from mcp_agent_mail.server.observability.trace_context import with_meta
from mcp_agent_mail.server.preferences import ResponsePreferences
from mcp_agent_mail.server.rendering.formats import of_uri
from mcp_agent_mail.server.rendering.mcp_words import McpWords
from mcp_agent_mail.server.rendering.profile_texts import fitted_error, way_to
from mcp_agent_mail.server.rendering.wire import error_object, resource_error_code, resource_result
from mcp_agent_mail.server.transport.hearing import RequestHearing

# What a result is on the wire: its keys are those of MCP.
Wire = dict[str, Any]


class TableCalls:
    """`params` are a request's, of a shape that MCP's own model of them takes. `hearing`, if any, is told what its
    client must have heard.
    """

    def __init__(self, calls: Calls, words: McpWords) -> None:
        self.calls = calls
        self.words = words

    def own_name(self, said: str) -> str:
        """The name of a tool that may have been called by another."""
        return self.words.aliases.get(said, said)

    async def call_tool(self, params: Mapping[str, Json], facts: RequestFacts, hearing: RequestHearing | None) -> Wire:
        """The result of `tools/call`: a refusal is one too."""
        said, words = params["name"], self.words
        name = self.own_name(said)
        if self.calls.are_traced:
            facts = with_meta(facts, params)
        try:
            self._require_shown(name, facts.wishes)
            arguments, output = words.read_arguments(params.get("arguments") or {}, facts.wishes.output)
            with _heard(hearing):
                result = await self.calls.run_tool(name, arguments, facts)
                return words.show_result(self.calls.tools.require(name, facts.credentials), result, output)
        except AgentMailError as error:
            return words.show_error(said, fitted_error(error, facts.wishes.profile))

    def _require_shown(self, name: str, wishes: ResponsePreferences) -> None:
        profile = wishes.profile
        if not profile.shows(name):
            shown = [spec.name for spec in self.calls.tools.specs() if spec.is_over_mcp and profile.shows(spec.name)]
            raise unknown_tool(name, shown, profile=profile.name, way=way_to(name, profile))

    async def read_resource(
        self, params: Mapping[str, Json], facts: RequestFacts, hearing: RequestHearing | None, *, is_modern: bool
    ) -> Wire:
        """The result of `resources/read`. Raises MCPError for a refusal, in the codes of its era."""
        uri = str(params["uri"])
        try:
            if self.calls.are_traced:
                facts = with_meta(facts, params)
            output = of_uri(uri, facts.wishes.output)
            with _heard(hearing):
                return resource_result(uri, await self.calls.read_resource(uri, facts), output)
        except AgentMailError as error:
            raise read_refusal(error, uri, facts, is_modern=is_modern) from error


def read_refusal(error: AgentMailError, uri: str, facts: RequestFacts, *, is_modern: bool) -> MCPError:
    """A refusal of what names a resource, as the JSON-RPC error that is its answer."""
    told = fitted_error(error, facts.wishes.profile)
    code = resource_error_code(told, is_modern=is_modern)
    return MCPError(code=code, message=told.text, data={**error_object(told), "uri": uri[:MAX_URI]})


def _heard(hearing: RequestHearing | None) -> AbstractContextManager[None]:
    """Within, calls can learn whether the request's client is still there. What ends it is answered as an error."""
    return nullcontext() if hearing is None else _answered_to(hearing)


@contextmanager
def _answered_to(hearing: RequestHearing) -> Iterator[None]:
    with heard_by(hearing):
        try:
            yield
        except BaseException:
            # It goes out with status 200 all the same.
            hearing.is_error()
            raise
