"""The place of one stream among those who wait, and the agents that are listening by it."""

from __future__ import annotations

from collections import Counter

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.features.delivery.kept_news import Subscription
from mcp_agent_mail.features.delivery.waiters import MailWaiter, Waiters


class StreamPlace:
    """`always_seated`: the stream holds its connection for this alone, whether it has subscriptions or not. `holder` is
    the agent that is proven to have it, for which it counts.
    """

    def __init__(self, waiters: Waiters, *, holder: AgentId | None = None, always_seated: bool = False) -> None:
        self.holder = holder
        self._waiters = waiters
        self._always_seated = always_seated
        self._followed: Counter[AgentId] = Counter()
        self.seat: MailWaiter = waiters.unseated_stream(holder)

    def open(self, *, has_subscriptions: bool) -> None:
        """From now on until `close` the stream hangs on the rights of its holder, whether it has a place or not.
        Raises NoPlaceToWait and WaitingEnds.
        """
        self.begin(has_subscriptions=has_subscriptions)
        self._waiters.hang(self.seat)

    def close(self) -> None:
        """A repeat does nothing more."""
        self._waiters.unhang(self.seat)
        self.free()

    def begin(self, *, has_subscriptions: bool) -> None:
        """Raises NoPlaceToWait and WaitingEnds."""
        if has_subscriptions or self._always_seated:
            self._waiters.seat(self.seat)

    def leave(self) -> None:
        """There is nothing more to tell."""
        if not self._always_seated:
            self.free()

    def free(self) -> None:
        self._waiters.free(self.seat)

    def follow(self, one: Subscription, listener: AgentId | None) -> None:
        """By this subscription mail would reach its agent. Raises NoPlaceToWait."""
        if listener is None:
            return
        if not self._followed[listener]:
            self._waiters.follow(self.seat, listener)
        self._followed[listener] += 1
        one.followed = listener

    def unfollow(self, one: Subscription) -> None:
        """A repeat does nothing more."""
        listener, one.followed = one.followed, None
        if listener is None:
            return
        self._followed[listener] -= 1
        if not self._followed[listener]:
            del self._followed[listener]
            self._waiters.unfollow(self.seat, listener)
