"""The resource of this slice: where the server is."""

from __future__ import annotations

from mcp_agent_mail.core.resources import ResourceSpec, resource
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.features.health.schemas import show_environment
from mcp_agent_mail.features.health.service import HealthService


def health_resources(service: HealthService) -> list[ResourceSpec]:
    """Where the server is and what it calls itself, for whoever can speak with it: nobody is asked who calls."""

    async def environment() -> Json:
        """Environment label, database (passwords masked) and HTTP address of this server."""
        return show_environment(service.place)

    return [
        resource(
            environment, uri="resource://config/environment", name="config-environment", title="Server configuration"
        )
    ]
