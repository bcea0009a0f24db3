"""The tools of doors: the operator's alone. What agents call at a door is the door's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.params import PROJECT_KEY, Choice, Id, Text
from mcp_agent_mail.core.tools import Json, JsonObject, ToolSpec, tool
from mcp_agent_mail.domain.doors.names import MAX_WIRE_NAME, Door
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.features.doors.results import DoorPlace, KnownWireName
from mcp_agent_mail.features.doors.service import DoorService

NAME = Text(MAX_WIRE_NAME)
DOOR = Choice(tuple(Door))


def door_tools(service: DoorService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To see which doors are open and whom they know, and to let a door speak as a name that is not its own."""

    async def list_doors() -> Json:
        """Every door, whether it is open, and where."""
        require_operator(await current_caller())
        return [show_place(place) for place in service.places]

    async def list_door_names(after_id: Annotated[int, Id(low=0)] = 0) -> Json:
        """The names that doors know agents by, oldest first; after_id is the last id of what was listed before."""
        return [show_name(known) for known in await service.names(await current_caller(), after=after_id)]

    async def link_door_name(
        name: Annotated[str, NAME],
        door: Annotated[str, DOOR],
        project_key: Annotated[str | None, PROJECT_KEY] = None,
    ) -> Json:
        """Let callers of a door speak as a name that another door, or an agent of this server, has. Safe to repeat."""
        return show_name(await service.link(await current_caller(), name, Door(door), project_key))

    async def unlink_door_name(
        name: Annotated[str, NAME],
        door: Annotated[str, DOOR],
        project_key: Annotated[str | None, PROJECT_KEY] = None,
    ) -> Json:
        """Take such a link back; what a door owns stays its own. Safe to repeat."""
        return show_name(await service.unlink(await current_caller(), name, Door(door), project_key))

    listing = partial(tool, cluster="doors", read_only=True, idempotent=True, result_list=True, operator_only=True)
    return [
        listing(list_doors, title="List doors"),
        listing(list_door_names, title="List names at doors"),
        tool(link_door_name, cluster="doors", title="Link a name with a door", idempotent=True, operator_only=True),
        tool(
            unlink_door_name,
            cluster="doors",
            title="Unlink a name from a door",
            destructive=True,
            idempotent=True,
            operator_only=True,
        ),
    ]


def show_place(place: DoorPlace) -> JsonObject:
    """A door as the operator sees it."""
    return {"door": place.door, "open": place.is_open, "setting": place.setting, "at": list(place.at)}


def show_name(known: KnownWireName) -> JsonObject:
    """A name as the operator sees it."""
    wire_name = known.wire_name
    return {
        "id": wire_name.id,
        "name": wire_name.name,
        "agent": known.agent,
        "project": known.project,
        "owner": None if wire_name.owner is None else wire_name.owner.value,
        "linked": sorted(door.value for door in wire_name.linked),
        "created_ts": iso(wire_name.created_ts),
    }
