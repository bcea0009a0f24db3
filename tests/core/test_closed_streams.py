"""Commands that are started without their standard streams end as others do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
from mcp_agent_mail.core.closed_streams import open_closed_streams
open_closed_streams()
print("said")
sys.stderr.write("told")
sys.stdin.read()
sys.exit(40 + os.open(os.devnull, os.O_RDONLY))
"""


def run_closed(arguments: list[str], closed: str, home: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    command = ["sh", "-c", f'"$@" {closed}', "sh", sys.executable, *arguments]
    return subprocess.run(
        command, env={**kept, "HOME": str(home)}, cwd=home, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_nothing_that_is_opened_later_gets_the_number_of_a_stream(tmp_path: Path, closed: str) -> None:
    done = run_closed(["-c", PROGRAM], closed, tmp_path)

    assert done.returncode >= 43, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("module", "arguments", "code"),
    [
        ("mcp_agent_mail", ("config", "show"), 0),
        ("mcp_agent_mail", ("--version",), 0),
        ("mcp_agent_mail", ("mial",), 2),
        ("mcp_agent_mail", ("projects", "list"), 69),
    ],
)
def test_a_command_without_its_streams_keeps_its_exit_code(
    tmp_path: Path, module: str, arguments: tuple[str, ...], code: int, closed: str
) -> None:
    done = run_closed(["-m", module, *arguments], closed, tmp_path)

    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
