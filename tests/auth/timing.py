"""How long a wrong token takes, by where it differs: what differs in its first byte beside what differs in its last.

    python -m tests.auth.timing

prints medians over 20,000 samples of each, in alternation, and ends with 1 where their ratio is out of bounds. Times
are of `Bearers.judge` in this process, without a network, whose noise would hide far more.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Mapping
from statistics import median

from mcp_agent_mail.server.edge.admitted import HttpRefusal
from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers

SAMPLES = 20_000
BOUNDS = (0.93, 1.075)
"""A comparison that stops at the first difference is far outside with a token of this length; noise is not."""
SECRET = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=65_536))
"""Longer than any header that is let in: what a byte costs adds up until it shows."""


def _changed(at: int) -> dict[bytes, bytes]:
    letter = "!"
    token = f"{SECRET[:at]}{letter}{SECRET[at + 1 :]}"
    return {b"authorization": f"Bearer {token}".encode()}


async def _measure(bearers: Bearers, wrong: Mapping[str, dict[bytes, bytes]]) -> dict[str, float]:
    """Medians in nanoseconds."""
    taken: dict[str, list[int]] = {what: [] for what in wrong}
    order = random.Random(2)  # no secret: which comes first
    pairs = list(wrong.items())
    for _ in range(SAMPLES):
        order.shuffle(pairs)
        for what, headers in pairs:
            started = time.perf_counter_ns()
            judged = await bearers.judge(headers, None, is_local=False, operator_may=True)
            taken[what].append(time.perf_counter_ns() - started)
            assert isinstance(judged, HttpRefusal)
    return {what: median(times) for what, times in taken.items()}


def main() -> int:
    rules = BearerRules(server_token=SECRET, operator_token=SECRET[::-1])
    wrong = {"first": _changed(0), "last": _changed(len(SECRET) - 1)}
    medians = asyncio.run(_measure(Bearers(rules), wrong))
    ratio = medians["first"] / medians["last"]
    is_even = BOUNDS[0] <= ratio <= BOUNDS[1]
    sys.stdout.write(
        f"a wrong token: differs in the first byte {medians['first']:.0f} ns, in the last {medians['last']:.0f} ns, "
        f"ratio {ratio:.3f} over {SAMPLES:,} samples each ({'even' if is_even else f'OUT OF {BOUNDS}'})\n"
    )
    return 0 if is_even else 1


if __name__ == "__main__":
    sys.exit(main())
