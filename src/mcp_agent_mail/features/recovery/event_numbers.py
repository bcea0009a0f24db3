"""Gives events that Git shows numbers of the outbox again: each within its commit, none twice.

Which number an event had is not in Git, but for the first receipt of each file; what is there is the last number of
each commit. The events of a commit had numbers above its predecessor's last and up to its own, in all archives together
each once. So numbers that fit exist, and whoever is given the lowest free one in the order of deadlines finds them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_DIGITS = 20


class NumbersExhausted(ValueError):
    """More events are in Git than there were numbers for: its commits are not what the server wrote."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Claim:
    """Of one event on a number from `first` to `last`; of those that could have the same the lower `order` goes first.

    `needed`: an event without which its file could not be rendered again. `is_spare`: one that gets only what no other
    could have.
    """

    first: int
    last: int
    order: tuple[int, int]
    needed: bool
    event: bytes
    is_spare: bool = False

    def to_line(self) -> bytes:
        """For a sort on disk: by `first`."""
        group, place = self.order
        head = f"{self.first:0{_DIGITS}d} {self.last} {group} {place} {int(self.needed)} {int(self.is_spare)} "
        return head.encode() + self.event

    @classmethod
    def from_line(cls, line: bytes) -> Claim:
        """The inverse of `to_line`, which put the event, in which anything may stand, at the end."""
        first, last, group, place, needed, spare, event = line.split(b" ", 6)
        return cls(
            first=int(first),
            last=int(last),
            order=(int(group), int(place)),
            needed=needed == b"1",
            event=event,
            is_spare=spare == b"1",
        )


def numbered(claims: Iterable[Claim]) -> Iterator[tuple[int, bytes]]:
    """Each event with its number, numbers rising; `claims` come sorted by `first`.

    What is not needed is left out where there is no number for it. Raises NumbersExhausted where something is needed.
    """
    waiting: list[tuple[bool, int, int, tuple[int, int], int, bytes]] = []
    number = 0

    def next_one() -> Iterator[tuple[int, bytes]]:
        _, last, kept, *_, event = heapq.heappop(waiting)
        if last >= number:
            yield number, event
        elif not kept:
            raise NumbersExhausted(f"an event of the outbox up to {last} has no number")

    for count, claim in enumerate(claims):
        while waiting and number < claim.first:
            given = list(next_one())
            yield from given
            number += len(given)
        number = max(number, claim.first)
        heapq.heappush(waiting, (claim.is_spare, claim.last, 0 if claim.needed else 1, claim.order, count, claim.event))
    while waiting:
        given = list(next_one())
        yield from given
        number += len(given)
