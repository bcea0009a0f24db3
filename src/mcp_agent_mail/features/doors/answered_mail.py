"""What is taken for the answer of the running call: read once that answer was, as far as anybody can tell.

An answer that has left the process was not read by that. Its client shows that it has read it by its next request on
the connection, or by ending that in order; and that it has not by a reset. Who says neither is believed after a while.
Until then the mail is the caller's and nobody else's. All of it lives on the event loop and in memory: a timer for each
answer, and no task. At a start of the process what was given and not settled is given again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mcp_agent_mail.core.concurrency.hearing import SentPromise, current_hearing
from mcp_agent_mail.features.doors.results import Popped

BELIEVED_AFTER_S = 2.0
"""A client that is there reads what has come in less; natively the mail is unread for as long."""

Taken = Sequence[Popped]


@dataclass(slots=True, eq=False)
class _Given:
    """Without bodies: so many would fill the memory, and nobody asks for one here."""

    taken: Taken
    timer: asyncio.TimerHandle | None = None
    is_open: bool = True


class AnsweredMail:
    """`settle` and `give_back` are called on the event loop, one of them, and once, for what an answer held."""

    def __init__(
        self, settle: Callable[[Taken], None], give_back: Callable[[Taken], None], *, believed_after_s: float
    ) -> None:
        self._settle = settle
        self._give_back = give_back
        self._believed_after_s = believed_after_s
        self._sent: dict[_Given, None] = {}
        """Of which nobody has said yet whether they were read: as many as answers leave in that time."""

    def promise(self, taken: Taken) -> None:
        """Of the answer of the running call, which has these in it."""
        given = _Given([replace(popped, body="") for popped in taken])
        current_hearing().unless_heard(lambda: self._is_unread(given))
        current_hearing().once_sent(
            SentPromise(
                sent=lambda: self._is_sent(given),
                read=lambda: self._is_read(given),
                unread=lambda: self._is_unread(given),
                cut=lambda: self._is_unread(given),
            )
        )

    def close(self) -> None:
        """The server stops: who has said nothing is believed now."""
        for given in list(self._sent):
            self._is_read(given)
        self._believed_after_s = 0

    def _is_sent(self, given: _Given) -> None:
        if not self._believed_after_s:
            self._is_read(given)
        elif given.is_open:
            self._sent[given] = None
            loop = asyncio.get_running_loop()
            given.timer = loop.call_later(self._believed_after_s, self._is_read, given)

    def _is_read(self, given: _Given) -> None:
        if self._ends(given):
            self._settle(given.taken)

    def _is_unread(self, given: _Given) -> None:
        if self._ends(given):
            self._give_back(given.taken)

    def _ends(self, given: _Given) -> bool:
        """Whether it was open until now."""
        was_open, given.is_open = given.is_open, False
        self._sent.pop(given, None)
        if given.timer is not None:
            given.timer.cancel()
        return was_open
