"""Answers remembered for a few seconds."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Memory(Generic[Answer]):
    """Beyond `at_most` the oldest answers are dropped. Safe to use from several threads."""

    def __init__(self, elapsed: Callable[[], float], *, keep_s: float, at_most: int) -> None:
        self._elapsed = elapsed
        self._keep_s = keep_s
        self._at_most = at_most
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, tuple[float, Answer]] = OrderedDict()

    def get(self, question: Hashable, find: Callable[[], Answer], *, anew: bool = False) -> Answer:
        """What is remembered, else what `find` finds now. Two threads may both look: the later answer counts."""
        with self._lock:
            known = self._answers.get(question)
        if known is not None and not anew and self._elapsed() - known[0] <= self._keep_s:
            return known[1]
        began = self._elapsed()
        answer = find()
        with self._lock:
            self._answers.pop(question, None)
            self._answers[question] = (began, answer)
            while len(self._answers) > self._at_most:
                self._answers.popitem(last=False)
        return answer
