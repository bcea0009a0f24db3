"""`am` as people run it: a child process with nothing of the tester's own settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

MEASURED = "COVERAGE_PROCESS_CONFIG"
"""Set while coverage is measured: then child processes are measured too."""
KEPT = ("PATH", "PYTHONPATH", "LANG", "TMPDIR", MEASURED)
WITHIN_S = 120.0


def environment(home: Path, **settings: str) -> dict[str, str]:
    """The environment of a person whose home folder, and so whose store, is `home`."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "HOME": str(home), "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1", **settings}


def am(
    *arguments: str, home: Path, cwd: Path | None = None, stdin: str = "", **settings: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", *arguments],
        capture_output=True,
        text=True,
        check=False,
        input=stdin,
        timeout=WITHIN_S,
        cwd=cwd or home,
        env=environment(home, **settings),
    )


def modules_after(*arguments: str, home: Path, **settings: str) -> set[str]:
    """Every module that `am ARGUMENTS` has imported by its end."""
    program = (
        "import json, sys\n"
        "from mcp_agent_mail.cli.app import run\n"
        "run(sys.argv[1:])\n"
        "sys.stderr.write('\\nMODULES ' + json.dumps(sorted(sys.modules)))\n"
    )
    surroundings = environment(home, **settings)
    surroundings.pop(MEASURED, None)  # It imports modules of its own.
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
        cwd=home,
        env=surroundings,
    )
    _, marker, listed = done.stderr.rpartition("\nMODULES ")
    assert marker, done.stderr
    return set(json.loads(listed))
