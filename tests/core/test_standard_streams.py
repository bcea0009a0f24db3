"""Commands without their standard streams end as others do, and last words that nobody reads keep no end waiting."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_agent_mail.core.standard_streams import say_last

FAR_TOO_MUCH = "x" * 1_000_000
PROGRAM = """
import os, sys
from mcp_agent_mail.core.standard_streams import open_closed_streams
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


HELD = """
import os, sys
from mcp_agent_mail.core.standard_streams import hold_closed_numbers
hold_closed_numbers()
opened = os.open(os.devnull, os.O_RDWR)
try:
    os.write(1, b"mail")
except OSError:
    sys.exit(40 + opened)
"""


def test_what_is_written_to_a_closed_stream_whose_number_is_held_fails(tmp_path: Path) -> None:
    done = run_closed(["-c", HELD], ">&-", tmp_path)

    assert done.returncode >= 43, done.stderr


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


def test_what_finds_room_is_said_and_a_full_pipe_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as errors, os.fdopen(reader) as said:
        monkeypatch.setattr(sys, "stderr", errors)
        say_last("the end\n")
        say_last(FAR_TOO_MUCH)
        errors.close()

        text = said.read()

    assert text.startswith("the end\nxxx")
    assert len(text) < len(FAR_TOO_MUCH)


def test_without_a_standard_error_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)

    say_last("the end")
