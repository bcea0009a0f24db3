from __future__ import annotations

import signal
import subprocess
import sys

from mcp_agent_mail.core.failpoints import NO_FAULTS, FailPoint, no_fault, reach_that_kills

_REACH = """
from mcp_agent_mail.core.failpoints import FailPoint, Kill, reach_that_kills
reach = reach_that_kills(Kill(point=FailPoint.DRAIN, nth=2))
for point in (FailPoint.DRAIN, FailPoint.STOP, FailPoint.STOP, FailPoint.DRAIN, FailPoint.STOP):
    print(point, flush=True)
    reach(point)
"""


def test_in_service_nothing_happens_at_any_instant() -> None:
    assert reach_that_kills(None) is no_fault
    assert NO_FAULTS.archiver is None
    for point in FailPoint:
        NO_FAULTS.fault_hook(point)


def test_a_process_ends_when_it_reaches_the_instant_so_often_and_not_before() -> None:
    done = subprocess.run([sys.executable, "-c", _REACH], capture_output=True, text=True, check=False)

    assert done.stdout.split() == ["drain", "stop", "stop", "drain"]
    assert done.returncode == -signal.SIGKILL
