"""The tool that takes a reservation away from an agent that left it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.params import Flag, Id
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.identity.tools import NAME, NOTE
from mcp_agent_mail.features.projects.tools import PROJECT_KEY
from mcp_agent_mail.features.reservations.force_release import ForceRequest, ForceService
from mcp_agent_mail.features.reservations.shapes import show_forced


def force_tools(service: ForceService, current_caller: Callable[[], Caller]) -> list[ToolSpec]:
    async def force_release_file_reservation(
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, NAME],
        file_reservation_id: Annotated[int, Id()],
        notify_previous: Annotated[bool, Flag()] = True,
        note: Annotated[str, NOTE] = "",
    ) -> Json:
        """Release another agent's reservation that it left: only when it made no call for long and neither mail nor
        files nor commits tell of work. Otherwise refused with what is missing. The holder is told, with your note.
        """
        request = ForceRequest(
            project_key=project_key,
            agent_name=agent_name,
            lease_id=LeaseId(file_reservation_id),
            notify_previous=notify_previous,
            note=note,
        )
        return show_forced(await service.release(current_caller(), request))

    return [
        tool(
            force_release_file_reservation,
            cluster="file_reservations",
            title="Release an abandoned reservation",
            destructive=True,
            idempotent=True,
        )
    ]
