"""What the guard asks before a commit, and what it reports after."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.concurrency.turns import TurnBounds, Turns
from mcp_agent_mail.core.errors import AgentMailError, NotFound, Unavailable
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.tools import Json, current_turn
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.guard.decision import GuardedLease
from mcp_agent_mail.domain.guard.events import GuardEvent, NewGuardEvent, read_guard_event
from mcp_agent_mail.domain.guard.held_paths import held_paths, places_of
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, require_operator, require_proof
from mcp_agent_mail.domain.identity.names import HUMAN, nearest
from mcp_agent_mail.domain.identity.readership import require_reader, require_to_read
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.charsets import fold
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.guarding.schemas import CheckAnswer, CheckRequest
from mcp_agent_mail.features.identity.lookup import AmbiguousName, find_current
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.leases import ConflictFilter
from mcp_agent_mail.store.transaction import Tx, View

MAX_LEASES = 20_000
"""Looked at in one check; with more in the way the guard asks its snapshot."""
ANCHORS_AT_ONCE = 300
"""Of one read on the event loop."""
TURNS = TurnBounds(places=2, places_each=1, waiting_each=16, waiting=128, within_s=20.0)
"""Of checks that match beside the event loop."""
ON_THE_LOOP = 50
"""Leases and paths up to which the matching is done at once; more takes a turn and goes to a thread."""
WEIGHT_ON_THE_LOOP = 256 * 1024
"""Of the paths (`CheckRequest.weight`), likewise: about 2 ms."""
WORK_STEPS = 400_000
_ASKING = "Asking who holds files"


class TooManyLeasesNearby(Unavailable):
    """More leases lie near these paths than one check looks at."""


class GuardingService:
    """`check` reads, in small steps; `record` and `list_` are the guard's log."""

    def __init__(self, store: Store, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._turns = Turns("large checks", TURNS)

    async def check(self, caller: Caller, request: CheckRequest) -> CheckAnswer:
        """Which of the paths another agent holds now. Raises NotFound for an unknown project."""
        require_reader(caller, _ASKING)
        project = await self._store.read(lambda view: require_project(view, request.project))
        require_to_read(caller, project, _ASKING)
        who = await self._who(project.id, request)
        standing = _standing_against(project.id, who.known)
        if len(request.paths) <= ON_THE_LOOP and request.weight <= WEIGHT_ON_THE_LOOP:
            near = _near(request)
            leases = await self._leases_near(standing, near.anchors)
            if len(leases) <= ON_THE_LOOP:
                return self._answer(near, who, leases)
            async with self._turns.turn(current_turn()):
                return await computed(lambda: self._answer(near, who, leases))
        async with self._turns.turn(current_turn()):
            near = await computed(lambda: _near(request))
            leases = await self._leases_near(standing, near.anchors)
            return await computed(lambda: self._answer(near, who, leases))

    def _answer(self, near: _Near, who: _Who, leases: Sequence[Lease]) -> CheckAnswer:
        held = held_paths(near.paths.values(), who.name, map(_holding, leases), self._clock(), WorkBudget(WORK_STEPS))
        over = {held_path.path for held_path in held}
        sent = {path: text for text, path in near.paths.items() if path in over}
        return CheckAnswer(
            agent=who.name, held=held, sent=sent, is_agent_known=who.near_names is None, nearest=who.near_names or ()
        )

    async def _who(self, project_id: ProjectId, request: CheckRequest) -> _Who:
        """A name that was given counts even if no agent has it; `Human` and `System` are no agents."""

        def look(view: View) -> _Who:
            name = request.agent or request.author
            try:
                known = find_current(view, project_id, name) if name else None
            except AmbiguousName:
                known = None
            if known is not None and known.kind is AgentKind.AGENT:
                return _Who(known, known.name, None)
            if request.agent is None:
                return _Who(known, known.name if known is not None else None, None)
            names = [name for name in view.agents.names(project_id) if name != HUMAN]
            return _Who(None, request.agent, nearest(request.agent, names))

        return await self._store.read(look)

    async def _leases_near(self, standing: ConflictFilter, anchors: Iterable[str]) -> list[Lease]:
        """What can stand against the paths: by the folder that its pattern begins at. And the agent's own."""
        leases: dict[int, Lease] = {}
        rest = iter(anchors)
        while lot := list(islice(rest, ANCHORS_AT_ONCE)):
            found = await self._store.read(
                lambda view: view.leases.at_anchors(standing, lot, MAX_LEASES + 1)
            )  # read at once
            leases |= {lease.id: lease for lease in found}
            if len(leases) > MAX_LEASES:
                raise TooManyLeasesNearby(
                    f"More than {MAX_LEASES:,} leases lie near these paths.", hint="Check fewer paths."
                )
            await asyncio.sleep(0)
        own = (
            await self._store.read(lambda view: view.leases.of_agent(standing.agent_id, limit=_MAX_OWN))
            if leases
            else ()
        )
        return [*leases.values(), *(lease for lease in own if lease.kind is LeaseKind.FILE)]

    async def record(self, caller: Caller, values: Sequence[Json]) -> dict[str, int]:
        """Store what the guard reports: each event once, however often it is sent, or none of them.

        A project is told by its own: raises InvalidInput, and ForeignProject for who is proven to belong elsewhere.
        """
        require_proof(caller, "Reporting")
        now = self._clock()
        return await self.store_events([read_guard_event(value, now) for value in values], caller)

    async def store_events(self, events: Sequence[NewGuardEvent], caller: Caller | None = None) -> dict[str, int]:
        """A safe repeat. `stored` were new, `known` were not. Without a caller it is the server's own spool."""
        reporter = None if caller is None else caller.agent_id

        def unit(tx: Tx) -> int:
            projects = {key: _project_of(tx, key) for key in dict.fromkeys(event.project for event in events)}
            if caller is not None:
                _require_to_report(caller, projects)
            ids = {key: None if project is None else project.id for key, project in projects.items()}
            tx.require_room()
            return sum(tx.guard_events.add(event, ids[event.project], reporter) for event in events)

        stored = await self._store.write(unit)
        return {"stored": stored, "known": len(events) - stored}

    async def list_(self, caller: Caller, project_key: str | None, limit: int) -> list[GuardEvent]:
        """Newest first; of all projects without a key. For the operator."""
        require_operator(caller)
        if project_key is None:
            return await self._store.read(lambda view: view.guard_events.list_all(limit))
        return await self._store.read(
            lambda view: view.guard_events.list_(require_project(view, project_key).id, limit)
        )


def _project_of(tx: Tx, key: str) -> Project | None:
    try:
        return require_project(tx, key)
    except AgentMailError:
        return None


def _require_to_report(caller: Caller, projects: Mapping[str, Project | None]) -> None:
    """What names no project is of nobody's log. Under `strict` it would be a place to fill that is nobody's either."""
    for key, project in projects.items():
        if project is not None:
            require_to_read(caller, project, "Reporting")
        elif caller.auth is AgentAuth.STRICT and not caller.is_operator:
            raise NotFound(f"No project {key!r:.200}.", hint="Report for your own project.")


class _Who(NamedTuple):
    """The agent, if it is one, and its name; `near_names` of a name that was given and is no agent's."""

    known: Agent | None
    name: str | None
    near_names: Sequence[str] | None


class _Near(NamedTuple):
    """The paths by how they were sent, and each anchor that a lease over one of them can have, once."""

    paths: Mapping[str, str]
    anchors: Collection[str]


def _near(request: CheckRequest) -> _Near:
    paths = request.decoded()
    return _Near(paths, dict.fromkeys(anchor for path in paths.values() for anchor in _anchors(path)))


def _anchors(path: str) -> Iterable[str]:
    """As leases are filed: small letters, and only as far as they are ASCII (`domain/patterns/keys`)."""
    return (place for place in places_of(fold(path)) if place.isascii())


_NOBODY = AgentId(0)


def _standing_against(project_id: ProjectId, agent: Agent | None) -> ConflictFilter:
    agent_id = agent.id if agent is not None else _NOBODY
    return ConflictFilter(project_id=project_id, kind=LeaseKind.FILE, agent_id=agent_id, with_shared=False)


_MAX_OWN = 2_000
"""At most 1,000 are live; the others have expired and nobody has written that down yet."""


def _holding(lease: Lease) -> GuardedLease:
    return GuardedLease(
        id=lease.id,
        agent=lease.agent,
        path_pattern=lease.path_pattern,
        is_folder=lease.is_folder,
        ignore_case=lease.ignore_case,
        exclusive=lease.exclusive,
        reason=lease.reason,
        expires_ts=lease.expires_ts,
    )
