"""Whether a measured phase counts: everything of the run where it belongs, and next to nothing else beside it.

Pure judgement over what `benchmarks.kernel` has read before and after a phase.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.kernel import ThreadSeen

MAX_FOREIGN = 0.05
"""Share of a core that others may have had in a phase."""
_SHOWN = 3
_ROUNDED_S = 0.04
"""The clock tells user and system time of a process and of what it reaped in hundredths, each rounded down: less than
this beside its living threads, whose time is known exactly, is nothing."""


@dataclass(slots=True, kw_only=True)
class Use:
    """What one part of a server (its loop, its writer, ...) used in a phase."""

    cpu_s: float = 0.0
    waited_s: float = 0.0
    blocked_s: float = 0.0
    major_faults: int = 0
    gave_way: int = 0
    was_moved: int = 0

    def add(self, other: Use) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def as_json(self) -> dict[str, float]:
        return {
            "cpu_s": round(self.cpu_s, 4),
            "waited_s": round(self.waited_s, 4),
            "blocked_s": round(self.blocked_s, 3),
            "major_faults": self.major_faults,
            "gave_way": self.gave_way,
            "was_moved": self.was_moved,
        }


@dataclass(slots=True, kw_only=True)
class Seen:
    """One phase: who used what, and what speaks against believing it."""

    phase: str
    seconds: float
    uses: dict[str, Use] = field(default_factory=dict)
    objections: list[str] = field(default_factory=list)

    def cpu_s(self, *parts: str) -> float:
        return sum(self.uses[part].cpu_s for part in parts if part in self.uses)

    def waited_s(self, part: str) -> float:
        return self.uses[part].waited_s if part in self.uses else 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "phase": self.phase,
            "seconds": round(self.seconds, 2),
            "uses": {part: use.as_json() for part, use in sorted(self.uses.items())},
            "objections": self.objections,
        }


def used(before: Sequence[ThreadSeen], after: Sequence[ThreadSeen]) -> list[tuple[ThreadSeen, Use]]:
    """What each thread that is there afterwards used since; one that began meanwhile used all it has used."""
    known = {thread.key: thread for thread in before}
    found = []
    for thread in after:
        was = known.get(thread.key)
        found.append(
            (
                thread,
                Use(
                    cpu_s=thread.on_cpu_s - (was.on_cpu_s if was else 0.0),
                    waited_s=thread.waited_s - (was.waited_s if was else 0.0),
                    blocked_s=thread.blocked_s - (was.blocked_s if was else 0.0),
                    major_faults=thread.major_faults - (was.major_faults if was else 0),
                ),
            )
        )
    return found


def misplaced(
    before: Sequence[ThreadSeen],
    after: Sequence[ThreadSeen],
    allowed: Mapping[int, frozenset[int]],
    home: frozenset[int],
) -> list[str]:
    """Threads that worked last, or may work (`allowed`, by thread number), on a core other than `home`'s.

    One that has slept since before the phase stands where it stood earlier, and took nothing from anybody.
    """
    return [
        f"{thread.name} (process {thread.pid}, thread {thread.tid}) worked on core {thread.core} and may work on "
        f"{sorted(allowed[thread.tid])}; it belongs on {sorted(home)}"
        for thread, use in used(before, after)
        if thread.tid in allowed and not (allowed[thread.tid] <= home and (thread.core in home or use.cpu_s == 0.0))
    ]


def foreign(
    before: Sequence[ThreadSeen], after: Sequence[ThreadSeen], ours: Collection[int], seconds: float
) -> list[str]:
    """Cores of which processes that are not `ours` had too much. Kernel threads do our work too and are not counted.

    A process that came and went shows in its parent, who has reaped it: what it had used before the phase is taken off.
    """
    spent = _spent(before, after, ours)
    found = []
    for core in sorted({core for core, _, _ in spent}):
        names = sorted(((used_s, name) for at, name, used_s in spent if at == core and used_s > 0), reverse=True)
        share = sum(used_s for used_s, _ in names) / seconds
        if share > MAX_FOREIGN:
            told = ", ".join(f"{name} {100 * used_s / seconds:.0f} %" for used_s, name in names[:_SHOWN])
            found.append(f"others had {100 * share:.0f} % of core {core}: {told}")
    return found


def _spent(
    before: Sequence[ThreadSeen], after: Sequence[ThreadSeen], ours: Collection[int]
) -> list[tuple[int, str, float]]:
    """(core, name, CPU in between) of each process there is, on every core that it had.

    What a living thread used counts where that stands in the end; what else the process had (threads and children
    that have ended), where its first thread stands: nobody can tell any more where it was.
    """
    firsts = _firsts(after, ours)
    rest_s = _totals(before, after, ours)
    found: dict[tuple[int, int], float] = {}
    for thread, use in used(before, after):
        if thread.pid in firsts:
            at = (thread.core, thread.pid)
            found[at] = found.get(at, 0.0) + use.cpu_s
            rest_s[thread.pid] -= use.cpu_s
    for pid, left_s in rest_s.items():
        if left_s > _ROUNDED_S:
            at = (firsts[pid].core, pid)
            found[at] = found.get(at, 0.0) + left_s
    return [(core, f"{firsts[pid].name} ({pid})", used_s) for (core, pid), used_s in found.items()]


def _totals(before: Sequence[ThreadSeen], after: Sequence[ThreadSeen], ours: Collection[int]) -> dict[int, float]:
    """The CPU in between of each process there is, with all its threads and what it has reaped.

    What one that has ended had used before is taken off its nearest living ancestor.
    """
    found = {pid: first.process_s + first.reaped_s for pid, first in _firsts(after, ours).items()}
    parents = {thread.pid: thread.parent for thread in before}
    for pid, first in _firsts(before, ours).items():
        heir = pid
        while heir in parents and heir not in found:
            heir = parents[heir]
        if heir in found:
            found[heir] -= first.process_s + first.reaped_s
    return found


def _firsts(threads: Iterable[ThreadSeen], ours: Collection[int]) -> dict[int, ThreadSeen]:
    """The first thread of each process that is not ours."""
    return {
        thread.pid: thread
        for thread in threads
        if thread.tid == thread.pid and thread.pid not in ours and not thread.is_kernel
    }


def stolen(before: Mapping[int, float], after: Mapping[int, float], seconds: float) -> list[str]:
    """Cores of which the host of a virtual machine took too much."""
    return [
        f"the host took {100 * (after[core] - before[core]) / seconds:.0f} % of core {core}"
        for core in sorted(after)
        if (after[core] - before.get(core, 0.0)) / seconds > MAX_FOREIGN
    ]
