"""How many subscriptions there may be, by who has them: one caller cannot take what the others need."""

from __future__ import annotations

from collections import Counter

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.delivery.waiters import NoPlaceToWait

URIS_EACH = 100
"""Of one stream."""
_RETRY_AFTER_S = 5


class TooManyUris(InvalidInput):
    """A stream tells of URIS_EACH resources at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionBounds:
    """Of `total`, each proven agent may have `each`, and all who prove nothing `unproven` together: they may be one
    caller, however many agents they name. The rest is for the proven alone.
    """

    total: int = 20_000
    each: int = 1_000
    unproven: int = 10_000


MAX_SUBSCRIPTIONS = SubscriptionBounds()
"""Of all streams together, sessions without an open one included: some 2 KiB each."""


def require_another_uri(count: int) -> None:
    """Raise TooManyUris where a stream has so many already."""
    if count >= URIS_EACH:
        raise TooManyUris(
            f"{URIS_EACH} resources are subscribed to on this connection already.",
            hint="Unsubscribe from some, or open another connection: an inbox tells of all mail of its agent.",
            data={"limit": URIS_EACH},
        )


class SubscriptionCounts:
    """Who has how many. `holder` is the agent that is proven to have it, None whoever proves nothing."""

    def __init__(self, bounds: SubscriptionBounds) -> None:
        self._bounds = bounds
        self._held: Counter[AgentId | None] = Counter()

    @property
    def total(self) -> int:
        """Of all together."""
        return self._held.total()

    def take(self, holder: AgentId | None) -> None:
        """One more. Raises NoPlaceToWait where there is none left for the holder."""
        bounds = self._bounds
        if holder is None:
            self._require(self._held[None], bounds.unproven, "without proof ", "Send your registration_token")
        else:
            self._require(self._held[holder], bounds.each, "by this agent ", "Unsubscribe from some")
        self._require(self.total, bounds.total, "", None)
        self._held[holder] += 1

    def give_back(self, holder: AgentId | None) -> None:
        """One that was taken, once."""
        self._held[holder] -= 1
        if not self._held[holder]:
            del self._held[holder]

    def _require(self, count: int, limit: int, by_whom: str, first: str | None) -> None:
        if count >= limit:
            raise NoPlaceToWait(
                f"{count} resources are subscribed to {by_whom}already.",
                retry_after_s=_RETRY_AFTER_S,
                first=f"{first}, or read the resource instead." if first else "Read the resource instead.",
                data={"subscriptions": count, "limit": limit},
            )
