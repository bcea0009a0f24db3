"""What became of what a store has: each record counted once, as added, known from before, or left with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.importing.records import NotCarried, SourceKind

MOST_NAMES = 10_000
"""Of one report: names that are made or clash. Beyond, they are counted alone."""
MOST_NOTES = 100
MOST_REASONS = 1_000


class WhyRenamed(StrEnum):
    """Why an agent has another name here than in its source."""

    UNFIT = "unfit"
    """No agent of this server can be called so."""

    TAKEN = "taken"
    """Another agent has the name here."""

    JOINED = "joined"
    """The name is known here to be the same one's: the door's own mailbox, or one that nobody has spoken as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamedAgent:
    """`agent` is the name here, None in a dry run where it is still to be made. `alias`: what doors and senders may
    call it besides.
    """

    project: str
    name: str
    agent: str | None
    alias: str | None
    why: WhyRenamed


@dataclass(slots=True, kw_only=True)
class KindCounts:
    """`found` of a kind = `added` + `known` + `left`. `changed`: those of the known with which something happened there
    since (read, acknowledged, released), which is so here too now.
    """

    added: int = 0
    known: int = 0
    left: int = 0
    changed: int = 0

    @property
    def found(self) -> int:
        return self.added + self.known + self.left


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of one batch, or of many."""

    counts: dict[SourceKind, KindCounts] = field(default_factory=dict)
    left: dict[tuple[str, str], int] = field(default_factory=dict)
    """By kind and reason."""
    names: list[RenamedAgent] = field(default_factory=list)
    names_omitted: int = 0
    notes: list[str] = field(default_factory=list)

    def of(self, kind: SourceKind) -> KindCounts:
        return self.counts.setdefault(kind, KindCounts())

    def leave(self, kind: SourceKind, why: str, count: int = 1) -> None:
        """So many are not taken over."""
        if count:
            self.of(kind).left += count
            self.list_(kind.value, why, count)

    def list_(self, kind: str, why: str, count: int) -> None:
        """What is left, of whatever kind, by its reason; what has too many reasons is summed up."""
        key = (kind, why)
        if key not in self.left and len(self.left) >= MOST_REASONS:
            key = (kind, "for other reasons")
        self.left[key] = self.left.get(key, 0) + count

    def rename(self, one: RenamedAgent) -> None:
        """List it, up to MOST_NAMES."""
        if len(self.names) < MOST_NAMES:
            self.names.append(one)
        else:
            self.names_omitted += 1

    def note(self, text: str) -> None:
        """Once for each text."""
        if text not in self.notes and len(self.notes) < MOST_NOTES:
            self.notes.append(text)

    def add(self, other: Tally) -> None:
        """What was counted later, within the same bounds."""
        for kind, counts in other.counts.items():
            mine = self.of(kind)
            mine.added += counts.added
            mine.known += counts.known
            mine.left += counts.left
            mine.changed += counts.changed
        for (kind_of_left, why), count in other.left.items():
            self.list_(kind_of_left, why, count)
        for one in other.names:
            self.rename(one)
        self.names_omitted += other.names_omitted
        for text in other.notes:
            self.note(text)

    def add_left_out(self, ones: Iterable[NotCarried]) -> None:
        """What the reader itself has left: rows of a kind that is counted are counted as found, too."""
        kinds = {kind.value: kind for kind in SourceKind}
        for one in ones:
            if one.kind in kinds:
                self.leave(kinds[one.kind], one.why, one.count)
            elif one.count:
                self.list_(one.kind, one.why, one.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What a store has, and what became of it, or would. `left` says of everything that is not taken over how many and
    why; kinds that this server does not know stand there alone.
    """

    system: str
    store_id: str
    is_applied: bool
    counts: Mapping[SourceKind, KindCounts]
    left: tuple[NotCarried, ...]
    names: tuple[RenamedAgent, ...]
    names_omitted: int
    notes: tuple[str, ...]

    @property
    def added(self) -> int:
        """How many records are new here, of all kinds."""
        return sum(one.added for one in self.counts.values())

    @property
    def changed(self) -> int:
        """How many records that were here have another state now, of all kinds."""
        return sum(one.changed for one in self.counts.values())


def tally_to_json(tally: Tally) -> dict[str, Any]:
    """For the way from the server to who reads the store."""
    return {
        "counts": {kind.value: [one.added, one.known, one.left, one.changed] for kind, one in tally.counts.items()},
        "left": [[kind, why, count] for (kind, why), count in tally.left.items()],
        "names": [[one.project, one.name, one.agent, one.alias, one.why.value] for one in tally.names],
        "names_omitted": tally.names_omitted,
        "notes": tally.notes,
    }


def tally_from_json(said: Mapping[str, Any]) -> Tally:
    """What `tally_to_json` made."""
    return Tally(
        counts={
            SourceKind(kind): KindCounts(added=added, known=known, left=left, changed=changed)
            for kind, (added, known, left, changed) in said["counts"].items()
        },
        left={(kind, why): count for kind, why, count in said["left"]},
        names=[
            RenamedAgent(project=project, name=name, agent=agent, alias=alias, why=WhyRenamed(why))
            for project, name, agent, alias, why in said["names"]
        ],
        names_omitted=said["names_omitted"],
        notes=list(said["notes"]),
    )


def report_of(tally: Tally, system: str, store_id: str, *, is_applied: bool) -> ImportReport:
    """Of a whole import; what is left comes by kind and reason."""
    left = sorted(tally.left.items())
    return ImportReport(
        system=system,
        store_id=store_id,
        is_applied=is_applied,
        counts={kind: tally.of(kind) for kind in SourceKind},
        left=tuple(NotCarried(kind=kind, count=count, why=why) for (kind, why), count in left),
        names=tuple(tally.names),
        names_omitted=tally.names_omitted,
        notes=tuple(tally.notes),
    )
