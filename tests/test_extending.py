"""What packages import that hand in tools: enough to test a tool with a host of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import pytest

from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.extending import PROJECT_KEY, Count, Host, InvalidInput, Json, ToolCaller, ToolSpec, tool


def tools(host: Host) -> list[ToolSpec]:
    async def count_mail(
        *, project_key: Annotated[str, PROJECT_KEY], limit: Annotated[int, Count(1, 100)] = 20
    ) -> Json:
        """How much mail somebody has."""
        caller = await host.caller()
        inbox = await host.call("fetch_inbox", project_key=project_key, agent_name=caller.agent, limit=limit)
        return {"count": len(inbox)}

    return [tool(count_mail, title="Count mail", read_only=True)]


async def test_a_package_tests_its_tool_with_a_host_of_its_own() -> None:
    asked: list[tuple[str, Mapping[str, Json]]] = []

    async def identify() -> ToolCaller:
        return ToolCaller(agent="BlueLake", project="/code/app")

    async def run(name: str, arguments: Mapping[str, Json]) -> Json:
        asked.append((name, arguments))
        return [{}, {}]

    table = ToolTable(tools(Host(identify=identify, run=run)))
    who = Credentials(via="mcp")
    counted = await table.run("count_mail", {"project_key": "/code/app", "limit": "500"}, who)

    assert counted == {"count": 2}
    assert asked == [("fetch_inbox", {"project_key": "/code/app", "agent_name": "BlueLake", "limit": 100})]
    with pytest.raises(InvalidInput, match="count_mail needs project_key"):
        await table.run("count_mail", {}, who)


async def test_a_host_is_asked_inside_of_a_call_alone() -> None:
    (spec,) = tools(Host())

    assert (spec.cluster, spec.read_only, spec.is_over_mcp, spec.is_long) == ("custom", True, True, False)
    with pytest.raises(RuntimeError, match="inside of a call alone"):
        await spec.handler(project_key="/code/app", limit=1)
