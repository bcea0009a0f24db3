"""The file reservation tools: claiming, keeping, and ending another's (`force_tools`). Their docstrings are
what agents read to choose one: every word costs them tokens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.params import (
    CALLER_NAME,
    IDEMPOTENCY_KEY,
    NOTE,
    PROJECT_KEY,
    Count,
    Flag,
    Id,
    Ids,
)
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.reservations import schemas
from mcp_agent_mail.features.reservations.answers import Replayed
from mcp_agent_mail.features.reservations.force_release import ForceRequest, ForceService
from mcp_agent_mail.features.reservations.parameters import PATHS, SECONDS, WANTED_PATHS
from mcp_agent_mail.features.reservations.requests import LeaseSelector, ReserveRequest
from mcp_agent_mail.features.reservations.schemas import show_forced
from mcp_agent_mail.features.reservations.service import ReservationService

IDS = Ids(for_all="Leave it out, and all of yours are meant.")


def reservation_tools(service: ReservationService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    return [*_claiming_tools(service, current_caller), *_keeping_tools(service, current_caller)]


def _claiming_tools(service: ReservationService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def file_reservation_paths(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        paths: Annotated[list[str], WANTED_PATHS],
        ttl_seconds: Annotated[int, SECONDS] = 3_600,
        exclusive: Annotated[bool, Flag()] = True,
        reason: Annotated[str, NOTE] = "",
        wait_seconds: Annotated[int, Count(0, 50)] = 0,
        idempotency_key: Annotated[str | None, IDEMPOTENCY_KEY] = None,
    ) -> Json:
        """Reserve files before you edit them: paths from the repository root, dir/**, *.py. What others hold comes
        back under conflicts, the rest is granted. wait_seconds waits in line for all of them or none. Reserving
        again prolongs.
        """
        caller = await current_caller()
        request = ReserveRequest(
            project_key=project_key,
            agent_name=agent_name,
            paths=tuple(paths),
            ttl_seconds=ttl_seconds,
            exclusive=exclusive,
            reason=reason,
            wait_seconds=wait_seconds,
            idempotency_key=idempotency_key,
        )
        outcome = await service.reserve(caller, request)
        stale = set() if isinstance(outcome, Replayed) else await service.stale_among(outcome.conflicts)
        return schemas.show_reserved(outcome, stale, caller)

    async def check_file_reservation_conflicts(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        paths: Annotated[list[str], WANTED_PATHS],
    ) -> Json:
        """Look whether paths could be reserved exclusively, without reserving them."""
        look = await service.preview_conflicts(await current_caller(), project_key, agent_name, paths)
        return schemas.show_preview(look, await service.stale_among(look.conflicts))

    return [
        tool(file_reservation_paths, cluster="file_reservations", title="Reserve files", idempotent=True),
        tool(
            check_file_reservation_conflicts,
            cluster="file_reservations",
            title="Look for reservation conflicts",
            read_only=True,
            idempotent=True,
        ),
    ]


def _keeping_tools(service: ReservationService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def release_file_reservations(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        paths: Annotated[list[str] | None, PATHS] = None,
        file_reservation_ids: Annotated[list[int] | None, IDS] = None,
    ) -> Json:
        """Give back your reservations once the work is committed: those named, or all where none is. Whatever was not
        released is listed with the reason.
        """
        caller = await current_caller()
        named = _named(project_key, agent_name, paths, file_reservation_ids)
        return schemas.show_released(await service.release(caller, named), caller)

    async def renew_file_reservations(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        extend_seconds: Annotated[int, SECONDS] = 1_800,
        paths: Annotated[list[str] | None, PATHS] = None,
        file_reservation_ids: Annotated[list[int] | None, IDS] = None,
    ) -> Json:
        """Prolong your reservations, those named or all, before they expire."""
        caller = await current_caller()
        named = _named(project_key, agent_name, paths, file_reservation_ids)
        return schemas.show_renewed(await service.renew(caller, named, extend_seconds), caller)

    return [
        tool(release_file_reservations, cluster="file_reservations", title="Release files", idempotent=True),
        tool(renew_file_reservations, cluster="file_reservations", title="Renew reservations"),
    ]


def _named(project_key: str, agent_name: str, paths: list[str] | None, ids: list[int] | None) -> LeaseSelector:
    return LeaseSelector(
        project_key=project_key,
        agent_name=agent_name,
        paths=None if paths is None else tuple(paths),
        ids=None if ids is None else tuple(LeaseId(number) for number in ids),
    )


def force_tools(service: ForceService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To end another's reservation that was left: apart from the other tools, as another service is behind it."""

    async def force_release_file_reservation(
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
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
        return show_forced(await service.release(await current_caller(), request))

    return [
        tool(
            force_release_file_reservation,
            cluster="file_reservations",
            title="Release an abandoned reservation",
            destructive=True,
            idempotent=True,
        )
    ]
