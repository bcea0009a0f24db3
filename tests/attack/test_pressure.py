"""The attacks of `make pressure`: what they make the server weigh, and whether others are answered. No timings."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.pressure import ATTACKS, press
from benchmarks.stand import Stand

MOST_GROWTH_MIB = {
    # Of 200 MB of headers, 150 MB of initialize, 1,100 begun requests (which held 17 MB); the rest is searching.
    "send_one_header": 40,
    "initialize": 100,
    "hold_unfinished": 100,
    "name_unknown": 200,
    "install_slowly": 60,
    "search_slowly": 300,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_the_server_stays_small_and_answers_others(name: str, tmp_path: Path) -> None:
    with Stand(tmp_path, is_bound=False) as stand:
        felt = press(ATTACKS[name], stand)

    assert felt.most_mib - felt.before_mib < MOST_GROWTH_MIB[ATTACKS[name].__name__]
    assert felt.liveness_ms
    assert felt.other_ms
    assert felt.unanswered == 0
