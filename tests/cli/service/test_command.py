"""What people see of `am service`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

UNIT = ".config/systemd/user/mcp-agent-mail.service"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")


def am(home: Path, *arguments: str) -> list[list[str]]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", "service", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=home,
        env={**kept, "HOME": str(home), "HTTP_PORT": "0"},
    )
    return [line.split(maxsplit=1) for line in done.stdout.splitlines()]


def test_people_see_what_there_is_and_that_nobody_has_proven_it(tmp_path: Path) -> None:
    none = am(tmp_path, "status")
    installed = am(tmp_path, "install")
    gone = am(tmp_path, "uninstall")

    file = f"{tmp_path}/{UNIT}"
    assert none == [["by", "systemd"], ["file", file], ["installed", "no"], ["running", "nobody can say"]]
    assert installed[2:] == [
        ["installed", "yes"],
        ["running", "nobody can say"],
        ["doors", "none"],
        ["note", "No user manager of systemd runs here: the unit is written and not started."],
    ]
    assert gone == none
