"""What an image converter does to those who share its session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ENDS_WITHIN_S = 60.0


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="no groups of sessions here")
def test_the_session_of_whoever_starts_it_keeps_its_share_of_the_processor(tmp_path: Path) -> None:
    seen = "cat /proc/self/autogroup"
    script = f'{seen} && "$0" -P -m mcp_agent_mail.image_converter "$1" < /dev/null > /dev/null && {seen}'

    told = subprocess.run(
        ["sh", "-c", script, sys.executable, str(tmp_path / "scratch")],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        start_new_session=True,
        timeout=ENDS_WITHIN_S,
    ).stdout.splitlines()

    assert [line.split()[-1] for line in told] == ["0", "0"]
