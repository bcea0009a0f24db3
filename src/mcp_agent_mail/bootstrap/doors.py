"""Which doors the settings open, and where: told to the operator, by the server and by who looks without one."""

from __future__ import annotations

from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.features.doors.results import DoorPlace


def door_places(settings: Settings) -> tuple[DoorPlace, ...]:
    """Every door that there is, open or not."""
    return (_postal(settings),)


def _postal(settings: Settings) -> DoorPlace:
    own = (f"port {settings.postal_port} of {settings.facades_host}",) if settings.postal_port else ()
    return DoorPlace(
        door=Door.POSTAL,
        is_open=settings.postal_enabled,
        setting="POSTAL_ENABLED",
        at=("/agents/{agent}/mcp", *own),
    )
