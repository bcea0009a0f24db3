"""What waits to be told to one webhook: bounded, the oldest goes first, and each is tried so many times and no more."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from dataclasses import dataclass, field

PAUSES_S = (5.0, 25.0, 120.0, 450.0)
"""After each try that failed: five tries in ten minutes."""


@dataclass(eq=False, slots=True, kw_only=True)
class QueuedCall:
    """`number` is its place in the queue, which it keeps over its tries."""

    number: int
    body: bytes
    due_s: float
    tries: int = 0


@dataclass(slots=True)
class QueueCounts:
    """Since the start. `failed` were tried as often as they are, `dropped` had to make room."""

    told: int = 0
    failed: int = 0
    dropped: int = 0


@dataclass(slots=True, kw_only=True)
class WebhookQueue:
    """Times are those of one clock that never goes back."""

    limit: int
    counts: QueueCounts = field(default_factory=QueueCounts)
    _waiting: OrderedDict[int, QueuedCall] = field(default_factory=OrderedDict)
    _due: list[tuple[float, int]] = field(default_factory=list)
    """With those that are gone, which are passed over when they come up."""
    _last: int = 0

    def __len__(self) -> int:
        """With those under way."""
        return len(self._waiting)

    def add(self, body: bytes, now_s: float) -> None:
        """Due at once. Where the queue is full the oldest goes, and is counted."""
        self._last += 1
        self._waiting[self._last] = QueuedCall(number=self._last, body=body, due_s=now_s)
        heapq.heappush(self._due, (now_s, self._last))
        if len(self._waiting) > self.limit:
            self._waiting.popitem(last=False)
            self.counts.dropped += 1
            if len(self._due) > 2 * self.limit:
                self.begin_anew()

    def take(self, now_s: float, at_most: int) -> list[QueuedCall]:
        """What is due, in that order. Each is to be followed by `told` or `failed`."""
        taken: list[QueuedCall] = []
        while len(taken) < at_most and (due_s := self.next_due_s()) is not None and due_s <= now_s:
            taken.append(self._waiting[heapq.heappop(self._due)[1]])
        return taken

    def next_due_s(self) -> float | None:
        """When the next one is; None: there is none that is not under way."""
        while self._due and self._due[0][1] not in self._waiting:
            heapq.heappop(self._due)
        return self._due[0][0] if self._due else None

    def told(self, call: QueuedCall) -> None:
        self.counts.told += 1
        self._waiting.pop(call.number, None)

    def failed(self, call: QueuedCall, now_s: float) -> None:
        """It is due again after its pause, unless this was the last try or it had to make room meanwhile."""
        if call.tries >= len(PAUSES_S):
            if self._waiting.pop(call.number, None) is not None:
                self.counts.failed += 1
            return
        call.due_s = now_s + PAUSES_S[call.tries]
        call.tries += 1
        if call.number in self._waiting:
            heapq.heappush(self._due, (call.due_s, call.number))

    def begin_anew(self) -> None:
        """What was under way is due as it was before: whoever had taken it is gone."""
        self._due = [(call.due_s, call.number) for call in self._waiting.values()]
        heapq.heapify(self._due)
