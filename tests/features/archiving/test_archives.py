"""When what failed is tried again, beside a wall clock that is set."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.features.archiving.archives import FIRST, Retry

NOW = Micros(1_800_000_000 * SECOND)


@pytest.mark.parametrize("back_s", [0, 1, 30, 59, 3_600, 86_400])
def test_a_clock_set_back_makes_no_pause_longer(back_s: int) -> None:
    retry = Retry()
    retry.fail(NOW)
    before = retry.wait(NOW)

    after = retry.wait(Micros(NOW - back_s * SECOND))

    assert (before, after) == (FIRST, FIRST)


def test_the_pause_goes_on_from_where_it_was() -> None:
    back_s = 40
    retry = Retry()
    retry.fail(NOW)
    half = Micros(NOW + FIRST // 2)
    retry.wait(half)

    retry.wait(Micros(half - back_s * SECOND))

    assert retry.wait(Micros(half - back_s * SECOND + FIRST // 2)) == 0
