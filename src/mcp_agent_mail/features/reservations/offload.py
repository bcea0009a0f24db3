"""Large calls off the event loop: their patterns are read, and compared with the live leases, on a thread that gives
way, before the unit of work. One at a time, callers in rotation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice

from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.concurrency.turns import TurnBounds, Turns
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.tools import current_turn
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.index import LeaseIndex
from mcp_agent_mail.domain.patterns.pattern import Pattern, overlap, parse_pattern
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.reservations import PathWarning, Patterns, RequestedPath, conflicts_with
from mcp_agent_mail.features.reservations.conflicts import Precheck, shown_per_path
from mcp_agent_mail.features.reservations.path_guidance import find_warnings, may_warn, require_single_paths
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.leases import ConflictFilter
from mcp_agent_mail.workspace.facts import Workspaces

MAX_STEPS = 2_000_000
"""Of one call: about a second of comparing."""
TURNS = TurnBounds(places=1, places_each=1, waiting_each=8, waiting=128, within_s=20.0)
"""One at a time: two that compute would share one processor. Of each other caller one call is waited for."""
_PAGE = 100
_LEASES_BETWEEN_RESTS = 25


class ConflictScanner:
    """Compares what large calls want with all live leases of a project."""

    def __init__(self, store: Store, patterns: Patterns, *, max_steps: int = MAX_STEPS) -> None:
        self._store = store
        self._patterns = patterns
        self._max_steps = max_steps
        self._turns = Turns("calls with many paths or hard patterns", TURNS)

    async def precheck(
        self, others: ConflictFilter, wanted: Sequence[RequestedPath]
    ) -> tuple[Precheck, list[list[Lease]]]:
        """What a unit of work can confirm, and the leases behind it.

        Raises PatternsTooHard beyond the bound, and TooMuchAtOnce.
        """
        async with self._turns.turn(current_turn()):
            # Whatever is granted or changed while the pages are read has a higher number.
            fencing = await self._store.read(lambda view: view.leases.fencing())
            leases = await self._read_live(others)
            found, is_cut = await computed(partial(self._compare, others, wanted, leases))
        against = tuple(tuple(lease.id for lease in holders) for holders in found)
        return Precheck(fencing=fencing, against=against, is_cut=is_cut), found

    async def _read_live(self, others: ConflictFilter) -> list[Lease]:
        """In small pages, with everyone else's turns between them."""
        leases: list[Lease] = []
        after = 0
        while page := await self._store.read(
            lambda view, after=after: view.leases.live(  # type: ignore[misc]  # bound as it is now
                others.project_id, LeaseKind.FILE, view.now, after_id=after, limit=_PAGE
            )
        ):
            leases += page
            after = page[-1].id
            await asyncio.sleep(0)
        return leases

    def _compare(
        self, others: ConflictFilter, wanted: Sequence[RequestedPath], leases: Sequence[Lease]
    ) -> tuple[list[list[Lease]], tuple[bool, ...]]:
        work = YieldingBudget(self._max_steps)
        standing = _standing(others, leases)
        cases = {lease.ignore_case for lease in standing.values()} | {one.pattern.ignore_case for one in wanted}
        index = self._index(standing, ignore_case=True in cases)
        shown = shown_per_path(len(wanted))
        found: list[list[Lease]] = []
        for one in wanted:
            met = (standing[lease_id] for lease_id in index.overlapping(one.pattern, work))
            if len(cases) > 1:
                # The index ignores letter case for all of them then: it has found too many.
                met = (lease for lease in met if overlap(one.pattern, self._patterns.of(lease), work))
            found.append(list(islice(met, shown + 1)))
        is_cut = tuple(len(holders) > shown for holders in found)
        return [sorted(holders[:shown], key=lambda lease: lease.id) for holders in found], is_cut

    def _index(self, leases: Mapping[LeaseId, Lease], *, ignore_case: bool) -> LeaseIndex[LeaseId]:
        index: LeaseIndex[LeaseId] = LeaseIndex(ignore_case=ignore_case)
        for number, (lease_id, lease) in enumerate(leases.items()):
            index.add(lease_id, self._patterns.of(lease))
            if number % _LEASES_BETWEEN_RESTS == 0:
                rest()
        return index


def _standing(others: ConflictFilter, leases: Sequence[Lease]) -> dict[LeaseId, Lease]:
    """Those that stand against the caller wherever they overlap."""
    return {one.id: one for one in leases if conflicts_with(one, others.agent_id, exclusive=others.with_shared)}


STEPS_BETWEEN_RESTS = 2_000
_REST_S = 0.000_5


def rest() -> None:
    """Sleep for half a millisecond, so that the event loop gets the interpreter. For threads that nobody on the loop
    waits for.
    """
    time.sleep(_REST_S)


class YieldingBudget(WorkBudget):
    """A budget for comparisons on a thread, which sleeps now and then to let the event loop run."""

    __slots__ = ("_next_rest",)

    def __init__(self, bound: int) -> None:
        super().__init__(bound)
        self._next_rest = STEPS_BETWEEN_RESTS

    def spend(self, steps: int) -> None:
        """Rest after every STEPS_BETWEEN_RESTS or so. Raises PatternsTooHard once more than the bound is spent."""
        super().spend(steps)
        if self.spent >= self._next_rest:
            self._next_rest = self.spent + STEPS_BETWEEN_RESTS
            rest()


_CHARS_BETWEEN_RESTS = 4_000
ADVICE_WITHIN_S = 3.0
"""More than the search and Git may take together."""


class PatternReader:
    """Reads patterns off the event loop: hard ones take a while, and the workspace may lie on a slow disk.

    Where the directory does not answer nothing is granted on a guess: what a path covers depends on what lies there.
    """

    def __init__(self, workspaces: Workspaces, *, advice_within_s: float = ADVICE_WITHIN_S) -> None:
        self._workspaces = workspaces
        self._advice_within_s = advice_within_s

    async def read(self, project: Project, paths: Sequence[str], *, exclusive: bool) -> list[RequestedPath]:
        """One per pattern, in the order given. Raises InvalidInput for a path that cannot be read, JoinedPaths for
        several in one text, DirectorySilent.
        """
        return await self.read_at(project.human_key, paths, exclusive=exclusive)

    async def read_with_warnings(
        self, root: str, paths: Sequence[str], *, exclusive: bool
    ) -> tuple[list[RequestedPath], tuple[PathWarning, ...]]:
        """As `read_at`, with what of the paths may protect nothing. That is advice alone: where a folder below `root`
        does not answer there is none, and `root` itself is not taken for silent.
        """
        looks = self._workspaces.looks
        wanted, is_doubtful = await looks.look(root, partial(self._read_and_ask, root, paths, exclusive=exclusive))
        if not is_doubtful:
            return wanted, ()
        find = partial(find_warnings, self._workspaces, root, wanted)
        try:
            return wanted, await looks.look(f"{root}/**", find, within_s=self._advice_within_s)
        except Unavailable:
            return wanted, ()

    async def read_at(self, root: str, paths: Sequence[str], *, exclusive: bool) -> list[RequestedPath]:
        """As `read`, for the directory `root` of a project that may not exist yet."""
        return await self._workspaces.looks.look(root, partial(self._read, root, paths, exclusive=exclusive))

    def _read_and_ask(self, root: str, paths: Sequence[str], *, exclusive: bool) -> tuple[list[RequestedPath], bool]:
        wanted = self._read(root, paths, exclusive=exclusive)
        return wanted, may_warn(self._workspaces, root, wanted)

    def _read(self, root: str, paths: Sequence[str], *, exclusive: bool) -> list[RequestedPath]:
        require_single_paths(paths, root, self._workspaces)
        ignore_case = self._workspaces.ignore_case(root)
        wanted: dict[str, RequestedPath] = {}
        chars = 0
        for path in paths:
            chars += len(path)
            if chars > _CHARS_BETWEEN_RESTS:
                chars = 0
                rest()
            pattern = parse_pattern(path, project_root=root, ignore_case=ignore_case)
            if pattern.text not in wanted:
                looked = pattern.with_folder(self._is_folder(root, pattern))
                wanted[pattern.text] = RequestedPath.of(path.strip(), looked, exclusive=exclusive)
        return list(wanted.values())

    def _is_folder(self, root: str, pattern: Pattern) -> bool:
        """Only a path without wildcards takes notice."""
        is_path = pattern.is_literal and not pattern.is_virtual
        return is_path and self._workspaces.is_folder(root, pattern.text.strip("/"))
