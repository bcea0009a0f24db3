from __future__ import annotations

import pytest

from mcp_agent_mail.domain.store_limits import Shortage, StoreLimits, StoreSize, find_shortage

LIMITS = StoreLimits(max_used=1_000, min_free=500)
PLENTY = 10**12


@pytest.mark.parametrize(
    ("used", "free", "before", "short"),
    [
        (1_000, 500, None, None),
        (1_001, 500, None, Shortage.TOO_LARGE),
        (1_000, 499, None, Shortage.DISK_FULL),
        (1_001, 499, None, Shortage.DISK_FULL),
        (981, PLENTY, Shortage.TOO_LARGE, Shortage.TOO_LARGE),
        (980, PLENTY, Shortage.TOO_LARGE, None),
        (0, 509, Shortage.DISK_FULL, Shortage.DISK_FULL),
        (0, 510, Shortage.DISK_FULL, None),
        (1_000, 510, Shortage.DISK_FULL, None),
        (1_001, 510, Shortage.DISK_FULL, Shortage.TOO_LARGE),
        (990, 505, Shortage.TOO_LARGE, Shortage.TOO_LARGE),
    ],
)
def test_a_limit_is_exact_when_passed_and_over_with_a_fiftieth_to_spare(
    used: int, free: int, before: Shortage | None, short: Shortage | None
) -> None:
    assert find_shortage(LIMITS, StoreSize(used=used, free=free), before) is short


def test_without_a_bound_for_the_disk_it_may_be_full() -> None:
    limits = StoreLimits(max_used=1_000, min_free=0)

    assert find_shortage(limits, StoreSize(used=0, free=0), None) is None
    assert find_shortage(limits, StoreSize(used=0, free=0), Shortage.DISK_FULL) is None


def test_of_large_limits_no_more_than_64_mib_are_to_spare() -> None:
    limits = StoreLimits(max_used=2**40, min_free=0)

    below = StoreSize(used=2**40 - 64 * 2**20, free=PLENTY)
    assert find_shortage(limits, below, Shortage.TOO_LARGE) is None
