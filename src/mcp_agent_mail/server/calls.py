"""One way to run a tool or read a resource, for MCP and `/rpc` alike: masking, logging, nothing else.

Whatever is not an `AgentMailError` is a bug of ours: the caller gets INTERNAL with the request's id,
the log gets the kind of error and where it happened (`core.logging` leaves out what it says: that
may quote arguments).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass

from mcp_agent_mail.core.errors import AgentMailError, Internal
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, Json, ToolTable
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.server.connection import NO_WISHES, Wishes

logger = logging.getLogger("mcp_agent_mail.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """What a call needs to know of the HTTP request that brought it."""

    credentials: Credentials
    request_id: str
    wishes: Wishes = NO_WISHES


def masked(error: Exception, *, what: str, request_id: str) -> Internal:
    """The INTERNAL error that stands for `error` outside, after logging where it came from."""
    logger.error("%s failed", what, exc_info=error)
    return Internal(
        f"The server failed while running {what}.",
        hint="This is a bug of the server. Its log tells more under the request id.",
        data={"request_id": request_id},
    )


class Calls:
    """Runs the tables. Raises nothing but AgentMailError (and cancellation)."""

    def __init__(
        self, tools: ToolTable, resources: ResourceTable, *, log_calls: bool = False, usage: Usage | None = None
    ) -> None:
        self.tools = tools
        self.resources = resources
        self._log_calls = log_calls
        self._usage = usage

    async def run_tool(self, name: str, arguments: Mapping[str, Json], facts: RequestFacts) -> Json:
        running = self._guard(self.tools.run(name, arguments, facts.credentials), f"tool {name:.100}", facts)
        if self._usage is None or name not in self.tools:
            return await running
        started, failed = time.perf_counter(), True
        try:
            result = await running
            failed = False
            return result
        finally:
            _note(self._usage, name, time.perf_counter() - started, failed=failed, arguments=arguments)

    async def read_resource(self, uri: str, facts: RequestFacts) -> Json:
        running = self.resources.read(uri, facts.credentials)
        return await self._guard(running, f"resource {uri.partition('?')[0]:.200}", facts)

    async def _guard(self, running: Awaitable[Json], what: str, facts: RequestFacts) -> Json:
        if self._log_calls:
            running = _logged(running, what, facts)
        try:
            return await running
        except AgentMailError:
            raise
        except Exception as error:  # noqa: BLE001  # the one place where a bug becomes INTERNAL
            raise masked(error, what=what, request_id=facts.request_id) from None


_PROJECT_ARGUMENTS = ("project_key", "human_key", "product_key")
_AGENT_ARGUMENTS = ("agent_name", "sender_name", "from_agent", "requester", "name")


def _note(usage: Usage, tool: str, took_s: float, *, failed: bool, arguments: Mapping[str, Json]) -> None:
    project = next((arguments[name] for name in _PROJECT_ARGUMENTS if name in arguments), None)
    agent = next((arguments[name] for name in _AGENT_ARGUMENTS if name in arguments), None)
    usage.note(tool, took_s, failed=failed, project=project, agent=agent)


async def _logged(running: Awaitable[Json], what: str, facts: RequestFacts) -> Json:
    """A line per call: what, outcome, duration. Never arguments or results."""
    started = time.perf_counter()
    outcome = "failed"
    try:
        result = await running
        outcome = "ok"
    except AgentMailError as error:
        outcome = error.code
        raise
    else:
        return result
    finally:
        took_ms = round((time.perf_counter() - started) * 1_000, 1)
        logger.info("%s", what, extra={"facts": {"outcome": outcome, "ms": took_ms, "via": facts.credentials.via}})
