from __future__ import annotations

import pytest

from mcp_agent_mail.domain.store_limits import Shortage, StoreLimits, StoreSize
from mcp_agent_mail.store.engine.growth_limit import DiskTooFull, GrowthLimit, StoreTooLarge

MIB = 2**20
LIMITS = StoreLimits(max_used=10 * MIB, min_free=5 * MIB)
SIZE = StoreSize(used=11 * MIB, free=4 * MIB)


def test_before_anything_was_measured_the_store_may_grow() -> None:
    growth = GrowthLimit()

    growth.require()
    assert (growth.shortage, growth.problem) == (None, None)


def test_a_store_that_is_too_large_is_a_quota_with_the_setting_and_what_still_goes() -> None:
    growth = GrowthLimit()
    growth.note(Shortage.TOO_LARGE, LIMITS, SIZE)

    with pytest.raises(StoreTooLarge) as caught:
        growth.require()

    refusal = caught.value
    assert (refusal.code, refusal.recoverable) == ("QUOTA_EXCEEDED", True)
    assert refusal.message == "The store takes 11.0 MiB of the 10.0 MiB that it may."
    assert refusal.hint.startswith("Reading, marking, acknowledging and releasing go on. The operator makes room")
    assert refusal.data == {"setting": "STORE_MAX_BYTES", "max": 10 * MIB, "used_bytes": 11 * MIB}
    assert growth.problem == f"{refusal.message} {refusal.hint}"


def test_a_disk_that_is_too_full_is_unavailable_with_when_to_call_again() -> None:
    growth = GrowthLimit()
    growth.note(Shortage.DISK_FULL, LIMITS, SIZE)

    with pytest.raises(DiskTooFull) as caught:
        growth.require()

    refusal = caught.value
    assert (refusal.code, refusal.recoverable) == ("UNAVAILABLE", True)
    assert refusal.message == "The disk of the store has 4.0 MiB left; 5.0 MiB are to stay free."
    assert refusal.hint == (
        "Free some space on the disk of the store. Call again in 30 s. Reading, marking, acknowledging and releasing "
        "go on."
    )
    assert refusal.data == {
        "setting": "STORE_MIN_FREE_BYTES",
        "min": 5 * MIB,
        "free_bytes": 4 * MIB,
        "retry_after_s": 30,
    }


def test_what_is_over_is_forgotten() -> None:
    growth = GrowthLimit()
    growth.note(Shortage.TOO_LARGE, LIMITS, SIZE)
    growth.note(None, LIMITS, SIZE)

    growth.require()
    assert (growth.shortage, growth.problem) == (None, None)


def test_what_would_pass_a_limit_by_itself_is_refused_before_it_is_there() -> None:
    growth = GrowthLimit()
    growth.note(None, LIMITS, StoreSize(used=8 * MIB, free=6 * MIB))

    growth.require(MIB)
    with pytest.raises(DiskTooFull):
        growth.require(MIB + 1)
    growth.note(None, LIMITS, StoreSize(used=8 * MIB, free=60 * MIB))
    with pytest.raises(StoreTooLarge):
        growth.require(2 * MIB + 1)
    growth.require()
