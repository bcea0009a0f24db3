"""File reservations: the use cases. A transaction begins and ends here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from posixpath import join, normpath
from typing import TypeVar

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.ids import LeaseId, ProjectId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.identity.readership import require_to_read
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.patterns.syntax import OutsideProject
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.reservations import PathConflict, Patterns, WaitingCall
from mcp_agent_mail.features.identity.actor import require_actor
from mcp_agent_mail.features.projects.lookup import find_around, require_project
from mcp_agent_mail.features.reservations.conflicts import (
    ConflictPreview,
    NeedsPrecheck,
    find_holders,
    list_leases,
    others_leases,
    preview_conflicts,
)
from mcp_agent_mail.features.reservations.grant import GrantRequest
from mcp_agent_mail.features.reservations.offload import PatternReader
from mcp_agent_mail.features.reservations.release import ReleasedLeases, RenewedLeases, release, renew
from mcp_agent_mail.features.reservations.requests import LeaseSelector, ReserveRequest
from mcp_agent_mail.features.reservations.reserve import Outcome, Reserve, Reserver, Who
from mcp_agent_mail.features.reservations.shapes import show_decided
from mcp_agent_mail.features.reservations.staleness import Assessment, Staleness
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View
from mcp_agent_mail.workspace.facts import Workspaces

T = TypeVar("T")


class ReservationService:
    """`note_activity` is told of every agent that acts."""

    def __init__(
        self,
        store: Store,
        workspaces: Workspaces,
        staleness: Staleness,
        *,
        note_activity: Callable[[Agent], None],
        clock: Clock,
    ) -> None:
        self._store = store
        self._staleness = staleness
        self._note_activity = note_activity
        self._patterns = Patterns()
        self._reader = PatternReader(workspaces)
        self._reserver = Reserver(store, self._patterns, clock=clock, stale_among=self._stale_among, show=show_decided)

    async def reserve(self, caller: Caller, request: ReserveRequest) -> Outcome:
        """What is free is granted, what others hold is named. With `wait_seconds` all of it or nothing, in turn.

        A repeat with the same idempotency key and arguments gives the first answer again.
        """
        holder = await self._store.read(
            lambda view: require_actor(view, caller, request.project_key, request.agent_name)
        )
        if request.idempotency_key is not None and (known := await self._reserver.repeat(caller, holder, request)):
            self._note_activity(holder.agent)
            return known
        asked = await self.prepare(holder.project.human_key, request)
        self._note_activity(holder.agent)
        how = self._reserver.wait if request.wait_seconds else self._reserver.take
        return await how(caller, holder, asked)

    async def prepare(self, root: str, request: ReserveRequest) -> GrantRequest:
        """What `within` needs to know of a request; `root` is the directory of the project, which may be a new one."""
        reading = self._reader.read_with_warnings(root, request.paths, exclusive=request.exclusive)
        wanted, warnings = await self._told_whose(root, reading)
        return GrantRequest(request=request, wanted=wanted, warnings=warnings)

    async def within(self, asked: GrantRequest, who: Who, unit: Callable[[Tx, Reserve], T]) -> T:
        """Run `unit` as one unit of work; it reserves what is asked by calling the function it is given.

        It may run several times, each time as if it had not run before.
        """
        return await self._reserver.within(asked, who, unit)

    async def release(self, caller: Caller, named: LeaseSelector) -> ReleasedLeases:
        """Whatever is named and was not released is told, with the reason."""
        released = await self._store.write(lambda tx: release(tx, caller, named))
        self._note_activity(released.holder.agent)
        return released

    async def renew(self, caller: Caller, named: LeaseSelector, extend_s: int) -> RenewedLeases:
        """From the later of now and the old expiry. What has expired comes back only if nobody else holds it."""
        renewed = await self._store.write(lambda tx: renew(tx, caller, named, extend_s, self._patterns))
        self._note_activity(renewed.holder.agent)
        return renewed

    async def preview_conflicts(
        self, caller: Caller, project_key: str, agent_name: str, paths: Sequence[str]
    ) -> ConflictPreview:
        """What an exclusive claim would meet; changes nothing."""
        holder = await self._store.read(lambda view: require_actor(view, caller, project_key, agent_name))
        reading = self._reader.read(holder.project, paths, exclusive=True)
        wanted = await self._told_whose(holder.project.human_key, reading)
        others = others_leases(holder.project.id, holder.agent.id, exclusive=True)
        try:
            found = await self._store.read(lambda view: find_holders(view, others, wanted, self._patterns).holders)
        except NeedsPrecheck:
            found = await self._reserver.look(others, wanted)
        self._note_activity(holder.agent)
        waited_for = self._reserver.waited_for(others, wanted)
        return preview_conflicts(wanted, found, waited_for)

    async def list_(
        self, caller: Caller, project_key: str, *, active_only: bool, limit: int, after_id: int
    ) -> list[Assessment]:
        """The project's reservations, oldest first, each with what is known of its holder's work."""

        def look(view: View) -> list[Assessment]:
            project = require_project(view, project_key)
            require_to_read(caller, project, "Listing reservations")
            leases = list_leases(view, project.id, active_only=active_only, limit=limit, after_id=after_id)
            return self._staleness.assess(view, leases)

        return await self._store.read(look)

    async def look_at(self, caller: Caller, project_key: str, lease_id: LeaseId, *, within_s: float) -> None:
        """Look at what the workspace tells of a live reservation of the project, so that `list_` knows it, for the
        operator, who decides by it. What was found a moment ago counts; what does not answer in time tells nothing.
        """
        require_operator(caller)

        def case(view: View) -> tuple[Project, Lease | None, Micros]:
            return require_project(view, project_key), view.leases.find(lease_id), view.now

        project, lease, now = await self._store.read(case)
        if (
            lease is None
            or lease.project_id != project.id
            or lease.kind is not LeaseKind.FILE
            or not lease.is_live(now)
        ):
            return
        await self._staleness.look(project, lease, now, anew=False, within_s=within_s)

    async def waiting(self, caller: Caller, project_key: str, limit: int) -> list[WaitingCall]:
        """The calls that wait for reservations of this project, first come first."""

        def look(view: View) -> ProjectId:
            project = require_project(view, project_key)
            require_to_read(caller, project, "Listing reservations")
            return project.id

        return self._reserver.waiting(await self._store.read(look), limit)

    async def stale_among(self, conflicts: Sequence[PathConflict]) -> set[LeaseId]:
        """Which of the holders' leases look abandoned, from what is known without looking at the disk."""
        return await self._store.read(lambda view: self._stale_among(view, conflicts))

    def wake(self) -> None:
        """The server stops: whoever waits is told."""
        self._reserver.wake()

    async def _told_whose(self, root: str, reading: Awaitable[T]) -> T:
        """What is read; the refusal of a path that lies in another project names that one."""
        try:
            return await reading
        except OutsideProject as outside:
            path = normpath(join(root, str(outside.data["pattern"])))
            around = await self._store.read(lambda view: find_around(view, path))
            if around is not None:
                outside.hint = f"It lies in the project {around}, whose own agents can reserve it."
                outside.data["project"] = around
            raise

    def _stale_among(self, view: View, conflicts: Sequence[PathConflict]) -> set[LeaseId]:
        leases = {lease.id: lease for conflict in conflicts for lease in conflict.holders}
        return {one.lease.id for one in self._staleness.assess(view, list(leases.values())) if one.is_stale}
