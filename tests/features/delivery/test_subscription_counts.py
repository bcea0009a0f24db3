"""How many subscriptions each may have."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.features.delivery.subscription_counts import SubscriptionBounds, SubscriptionCounts
from mcp_agent_mail.features.delivery.waiters import NoPlaceToWait

BLUE, RED, GREEN = AgentId(1), AgentId(2), AgentId(3)


def refused(shares: SubscriptionCounts, holder: AgentId | None) -> tuple[int, int]:
    with pytest.raises(NoPlaceToWait) as error:
        shares.take(holder)
    data = error.value.data
    return data["subscriptions"], data["limit"]


def test_a_proven_agent_has_a_share_and_leaves_the_others_theirs() -> None:
    shares = SubscriptionCounts(SubscriptionBounds(total=10, each=3, unproven=5))
    for _ in range(3):
        shares.take(RED)

    assert refused(shares, RED) == (3, 3)
    shares.take(BLUE)
    assert shares.total == 4


def test_who_proves_nothing_shares_with_all_who_do_not_and_leaves_the_rest_to_the_proven() -> None:
    shares = SubscriptionCounts(SubscriptionBounds(total=6, each=3, unproven=3))
    for _ in range(3):
        shares.take(None)

    assert refused(shares, None) == (3, 3)
    for _ in range(3):
        shares.take(RED)
    assert refused(shares, BLUE) == (6, 6)


def test_what_is_given_back_is_the_holders_again() -> None:
    shares = SubscriptionCounts(SubscriptionBounds(total=2, each=1, unproven=1))
    for holder in (RED, None):
        shares.take(holder)
        shares.give_back(holder)
        shares.take(holder)

    assert refused(shares, RED) == (1, 1)
    assert shares.total == 2


def test_the_bounds_of_a_server_leave_half_to_the_proven() -> None:
    bounds = SubscriptionBounds()

    assert (bounds.total, bounds.each, bounds.unproven) == (20_000, 1_000, 10_000)
