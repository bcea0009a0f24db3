"""The `tooling` resources: for agents that want to know what there is, and for people who watch a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import Count, Text
from mcp_agent_mail.core.resources import ResourceSpec, resource
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.projects import MAX_PATH_LENGTH
from mcp_agent_mail.features.introspection import schemas
from mcp_agent_mail.features.introspection.service import IntrospectionService

MAX_WINDOW_S = 7 * 24 * 3_600
_PROJECT = Text(MAX_PATH_LENGTH)
_NAME = Text(200)


def introspection_resources(
    service: IntrospectionService, current_caller: Callable[[], Awaitable[Caller]]
) -> list[ResourceSpec]:
    return [*_tooling(service, current_caller), *_of_agents(service, current_caller)]


def _tooling(service: IntrospectionService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ResourceSpec]:
    async def directory() -> Json:
        """Every tool with when to use it, what goes with it and examples; and whole workflows."""
        return schemas.show_directory(service.tools(), service.clock())

    async def tool_schemas() -> Json:
        """Required and optional arguments of every tool, with their types."""
        return schemas.show_schemas(service.tools(), service.clock())

    async def metrics() -> Json:
        """Calls, errors and durations per tool since the server's start; and what queries cost, where counted."""
        return schemas.show_metrics(
            service.tools(), service.recording, service.figures(await current_caller()), service.clock()
        )

    async def locks() -> Json:
        """The locks of the store and the archives, and who holds them."""
        return schemas.show_locks(service.locks())

    return [
        resource(directory, uri="resource://tooling/directory", name="tooling-directory", title="Directory of tools"),
        resource(tool_schemas, uri="resource://tooling/schemas", name="tooling-schemas", title="Arguments of tools"),
        resource(metrics, uri="resource://tooling/metrics", name="tooling-metrics", title="Use of tools"),
        resource(locks, uri="resource://tooling/locks", name="tooling-locks", title="Locks"),
    ]


def _of_agents(service: IntrospectionService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ResourceSpec]:
    async def capabilities(agent: Annotated[str, _NAME], project: Annotated[str | None, _PROJECT] = None) -> Json:
        """What an agent may do, by cluster."""
        found_project, found_agent, able = await service.capabilities(await current_caller(), agent, project)
        return schemas.show_capabilities(found_project, found_agent, able, service.clock())

    async def recent(
        window_seconds: Annotated[int, Count(1, MAX_WINDOW_S)],
        agent: Annotated[str | None, _NAME] = None,
        project: Annotated[str | None, _PROJECT] = None,
    ) -> Json:
        """The last calls, newest first: tool, project, agent, never arguments."""
        calls = await service.recent(await current_caller(), window_seconds, agent=agent, project=project)
        clusters = {spec.name: spec.cluster for spec in service.tools()}
        return schemas.show_recent(calls, clusters, window_seconds, service.clock())

    return [
        resource(
            capabilities,
            uri="resource://tooling/capabilities/{agent}{?project}",
            name="tooling-capabilities",
            title="What an agent may do",
        ),
        resource(
            recent,
            uri="resource://tooling/recent/{window_seconds}{?agent,project}",
            name="tooling-recent",
            title="Recent calls",
        ),
    ]
