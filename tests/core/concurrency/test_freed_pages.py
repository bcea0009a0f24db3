from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from mcp_agent_mail.core.concurrency.freed_pages import give_back_freed

SCRIPT = """
from pathlib import Path
from mcp_agent_mail.core.concurrency.freed_pages import give_back_freed

def resident_mib():
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024

# The last piece stays, so that what lies below it cannot be given back by shrinking the heap.
pieces = [bytearray(8_000) for _ in range(10_000)]
last = pieces.pop()
pieces.clear()
before = resident_mib()
give_back_freed()
print(before - resident_mib())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone is asked")
def test_what_was_freed_goes_back_to_the_system() -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)

    assert float(ended.stdout) > 40


def test_it_may_be_asked_again() -> None:
    give_back_freed()
    give_back_freed()
