"""Reservations by URI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import LIMIT, PROJECT_KEY, Flag, Id
from mcp_agent_mail.core.resources import ResourceSpec, resource
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.reservations.schemas import show_assessed
from mcp_agent_mail.features.reservations.service import ReservationService


def reservation_resources(
    service: ReservationService, current_caller: Callable[[], Awaitable[Caller]]
) -> list[ResourceSpec]:
    """A project's reservations with the evidence of work on each, as it is remembered: nothing is looked at anew."""

    async def file_reservations(
        slug: Annotated[str, PROJECT_KEY],
        active_only: Annotated[bool, Flag()] = True,
        limit: Annotated[int, LIMIT] = 200,
        after_id: Annotated[int | None, Id(low=0)] = None,
    ) -> Json:
        """A project's file reservations, oldest first, with what is known of their holders' work. active_only=false
        shows ended ones too.
        """
        found = await service.list_(
            await current_caller(), slug, active_only=active_only, limit=limit, after_id=after_id or 0
        )
        return [show_assessed(one) for one in found]

    return [
        resource(
            file_reservations,
            uri="resource://file_reservations/{slug}{?active_only,limit,after_id}",
            name="file_reservations",
            title="File reservations",
            list_result=True,
        )
    ]
