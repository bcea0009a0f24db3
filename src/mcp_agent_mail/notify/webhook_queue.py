"""What waits to be told to one webhook: bounded, the oldest goes first, and each is tried so many times and no more."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from dataclasses import field

from mcp_agent_mail.core.lazy.dataclass import dataclass

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
    """Since the start, each call once. `failed` were tried as often as they are, `dropped` had to make room. One that
    had to while it was under way counts by how that ends.
    """

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
    _under_way: set[int] = field(default_factory=set)
    _last: int = 0

    def __len__(self) -> int:
        """With those under way."""
        return len(self._waiting)

    @property
    def under_way(self) -> int:
        """With those that made room meanwhile."""
        return len(self._under_way)

    def add(self, body: bytes, now_s: float) -> None:
        """Due at once. Where the queue is full the oldest goes, and is counted."""
        self._last += 1
        self._waiting[self._last] = QueuedCall(number=self._last, body=body, due_s=now_s)
        heapq.heappush(self._due, (now_s, self._last))
        if len(self._waiting) > self.limit:
            number, _ = self._waiting.popitem(last=False)
            self.counts.dropped += number not in self._under_way
            if len(self._due) > 2 * self.limit:
                self._clear_due()

    def take(self, now_s: float, at_most: int) -> list[QueuedCall]:
        """What is due, in that order. Each is to be followed by `told` or `failed`."""
        taken: list[QueuedCall] = []
        while len(taken) < at_most and (due_s := self.next_due_s()) is not None and due_s <= now_s:
            taken.append(self._waiting[heapq.heappop(self._due)[1]])
        self._under_way.update(call.number for call in taken)
        return taken

    def next_due_s(self) -> float | None:
        """When the next one is; None: there is none that is not under way."""
        while self._due and self._due[0][1] not in self._waiting:
            heapq.heappop(self._due)
        return self._due[0][0] if self._due else None

    def told(self, call: QueuedCall) -> None:
        self._under_way.discard(call.number)
        self.counts.told += 1
        self._waiting.pop(call.number, None)

    def failed(self, call: QueuedCall, now_s: float) -> None:
        """It is due again after its pause, unless this was the last try or it had to make room meanwhile."""
        self._under_way.discard(call.number)
        if call.number not in self._waiting:
            self.counts.dropped += 1
        elif call.tries >= len(PAUSES_S):
            del self._waiting[call.number]
            self.counts.failed += 1
        else:
            call.due_s = now_s + PAUSES_S[call.tries]
            call.tries += 1
            heapq.heappush(self._due, (call.due_s, call.number))

    def begin_anew(self) -> None:
        """What was under way is due as it was before: whoever had taken it is gone."""
        self.counts.dropped += len(self._under_way - self._waiting.keys())
        self._under_way.clear()
        self._clear_due()

    def _clear_due(self) -> None:
        """Of those that are gone. What is under way is due when that has ended, and not before."""
        waiting = self._waiting.values()
        self._due = [(call.due_s, call.number) for call in waiting if call.number not in self._under_way]
        heapq.heapify(self._due)
