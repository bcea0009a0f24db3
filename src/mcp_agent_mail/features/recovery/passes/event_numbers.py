"""Gives events that Git shows numbers of the outbox again: each within its commit, none twice.

Which number an event had is not in Git, but for the first receipt of each file; what is there is the last number of
each commit. The events of a commit had numbers above its predecessor's last and up to its own, in all archives together
each once. So numbers that fit exist, and whoever is given the lowest free one in the order of deadlines finds them.
Where there are more events than numbers after all, the less certain ones give theirs up.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from enum import IntEnum

from mcp_agent_mail.core.lazy.dataclass import dataclass

LOOK_BACK = 2048
"""So many of the numbers given last can be given to a surer event yet."""
_DIGITS = 20


class NumbersExhausted(ValueError):
    """More events are in Git than there were numbers for: its commits are not what the server wrote."""


class Certainty(IntEnum):
    """Of two events that want one number the surer one, of the lower value, has it."""

    NEEDED = 0
    """Without it its file could not be rendered again."""
    LIKELY = 1
    SPARE = 2
    """Somebody acted; that it was an event of its own is a guess, since its file tells of another one too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Of one event on a number from `first` to `last`; of those that are due together the lower `order` goes first."""

    first: int
    last: int
    certainty: Certainty
    order: tuple[int, int]
    event: bytes

    def to_line(self) -> bytes:
        """For a sort on disk: by `first`."""
        group, place = self.order
        return f"{self.first:0{_DIGITS}d} {self.last} {self.certainty:d} {group} {place} ".encode() + self.event

    @classmethod
    def from_line(cls, line: bytes) -> Claim:
        """The inverse of `to_line`, which put the event, in which anything may stand, at the end."""
        first, last, certainty, group, place, event = line.split(b" ", 5)
        return cls(
            first=int(first),
            last=int(last),
            certainty=Certainty(int(certainty)),
            order=(int(group), int(place)),
            event=event,
        )


def numbered(claims: Iterable[Claim]) -> Iterator[tuple[int, bytes]]:
    """Each event with its number, numbers rising; `claims` come sorted by `first`.

    What is not needed is left out where there is no number for it. Raises NumbersExhausted where something is needed.
    """
    latest = _LatestNumbers()
    for number, claim in _by_deadline(claims):
        latest.give(number, claim)
        yield from latest.take(LOOK_BACK)
    yield from latest.take(0)


def _by_deadline(claims: Iterable[Claim], number: int = 0) -> Iterator[tuple[int, Claim]]:
    """Each claim with the lowest number that is free when it is its turn, from `number` on; one whose `last` is below
    that has come too late, and leaves it to the next.
    """
    waiting: list[tuple[int, Certainty, tuple[int, int], int, Claim]] = []

    def due() -> Claim:
        return heapq.heappop(waiting)[-1]

    for count, claim in enumerate(claims):
        while waiting and number < claim.first:
            one = due()
            yield number, one
            number += one.last >= number
        number = max(number, claim.first)
        heapq.heappush(waiting, (claim.last, claim.certainty, claim.order, count, claim))
    while waiting:
        one = due()
        yield number, one
        number += one.last >= number


class _LatestNumbers:
    """The numbers given last, rising."""

    def __init__(self) -> None:
        self._given: list[tuple[int, Claim]] = []

    def give(self, number: int, claim: Claim) -> None:
        """The number, the lowest free one, to the claim; where it has come too late, that of a less certain one.

        Raises NumbersExhausted.
        """
        if claim.last >= number:
            self._given.append((number, claim))
        elif (place := self._replaceable(claim)) is not None:
            number = self._given[place][0]
            moved = [one for _, one in self._given[place + 1 :]]
            self._given[place:] = _by_deadline(sorted([*moved, claim], key=lambda one: one.first), number)
        elif claim.certainty is Certainty.NEEDED:
            raise NumbersExhausted(f"an event of the outbox up to {claim.last} has no number")

    def _replaceable(self, claim: Claim) -> int | None:
        """Where the least certain one stands without which there is a number for the claim, others moving down."""
        found: int | None = None
        lowest, certainty = claim.first, claim.certainty
        for place in reversed(range(len(self._given))):
            number, holder = self._given[place]
            if number < lowest or certainty is Certainty.SPARE:
                break
            if holder.certainty > certainty:
                found, certainty = place, holder.certainty
            lowest = min(lowest, holder.first)
        return found

    def take(self, but: int) -> Iterator[tuple[int, bytes]]:
        """The first of them, less so many of the last; they are final. As many again wait, to be taken at once."""
        if len(self._given) > 2 * but:
            final = self._given[: len(self._given) - but]
            del self._given[: len(final)]
            yield from ((number, claim.event) for number, claim in final)
