"""Pops that their callers settle by themselves, after the answer: a command prints a message before it says that it
has it.

Until then the message is theirs, for so long at most. All of it lives on the event loop and in memory: a timer for
each, and no task. A process that is gone has promised nothing: at its start what was given is given again.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from mcp_agent_mail.core.errors import Busy
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.features.doors.results import Popped

CLAIMED_S = 30.0
MAX_CLAIMED = 50_000
"""Messages of all mailboxes together. Those that wait meanwhile come on top: they have places of their own."""
MAX_CLAIMED_EACH = 8
"""Claims of one mailbox: a window has one command that prints, seldom a few. A check has one for all it takes."""
ALWAYS_CLAIMED = 500
"""So many messages a mailbox that has no claim may take however many others have: nobody stops all of them."""

_RETRY_AFTER_S = 5


class TooManyPopped(Busy):
    """As many messages as may be are given to callers that have not yet said whether they have them."""


class PopClaims:
    """`give_back` is called, on the event loop, for what was not kept within `within_s` seconds. What is claimed
    together is kept or broken together.
    """

    def __init__(self, give_back: Callable[[Sequence[Popped]], None], *, within_s: float) -> None:
        self._give_back = give_back
        self._within_s = within_s
        self._open: dict[str, tuple[Sequence[Popped], asyncio.TimerHandle]] = {}
        self._messages = 0
        self._each: Counter[AgentId] = Counter()

    def _require_room(self, agent_id: AgentId, messages: int) -> None:
        claims = self._each[agent_id]
        if claims >= MAX_CLAIMED_EACH:
            raise _too_many(f"{claims} commands of this mailbox have", claims, MAX_CLAIMED_EACH)
        is_small = not claims and messages <= ALWAYS_CLAIMED
        if self._messages + messages > MAX_CLAIMED and not is_small:
            raise _too_many(f"Callers of {self._messages} messages have", self._messages, MAX_CLAIMED)

    def make(self, taken: Sequence[Popped]) -> list[Popped]:
        """The same, of one mailbox, with one claim, which is nobody else's to know. Raises TooManyPopped."""
        agent_id, claim = taken[0].agent_id, secrets.token_urlsafe(16)
        self._require_room(agent_id, len(taken))
        # Without bodies: so many would fill the memory, and nobody asks for one here.
        kept = [replace(popped, claim=claim, body="") for popped in taken]
        timer = asyncio.get_running_loop().call_later(self._within_s, self._break, kept)
        self._open[claim] = (kept, timer)
        self._messages += len(kept)
        self._each[agent_id] += 1
        return [replace(popped, claim=claim) for popped in taken]

    def find(self, claim: str) -> Sequence[Popped]:
        """What the claim is for, without bodies; nothing where its promise was kept, or broken, or never made."""
        found = self._open.get(claim)
        return () if found is None else found[0]

    def end(self, popped: Popped) -> None:
        """Nothing is promised of it any more. A repeat does nothing more."""
        found = self._open.pop(popped.claim or "", None)
        if found is not None:
            found[1].cancel()
            self._messages -= len(found[0])
            self._each[popped.agent_id] -= 1
            if not self._each[popped.agent_id]:
                del self._each[popped.agent_id]

    def close(self) -> None:
        """Nothing is given back any more by itself. A repeat does nothing more."""
        for _, timer in self._open.values():
            timer.cancel()

    def _break(self, taken: Sequence[Popped]) -> None:
        self.end(taken[0])
        self._give_back(taken)


def _too_many(given: str, count: int, limit: int) -> TooManyPopped:
    return TooManyPopped(
        f"{given} not said yet whether they have what they were given.",
        retry_after_s=_RETRY_AFTER_S,
        data={"given": count, "limit": limit},
    )
