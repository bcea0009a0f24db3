"""The command `claude-mailbox` as a program, beside a real server or none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = [sys.executable, "-m", "mcp_agent_mail.cli.claude_mailbox.entry"]
WITHIN_S = 60.0
NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


@dataclass
class MailboxProgram:
    """Runs in `home`, which is its user's too."""

    home: Path
    url: str = NOWHERE
    env: dict[str, str] | None = None

    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in ("PATH", "PYTHONPATH", "LANG", "TMPDIR", "COVERAGE_PROCESS_CONFIG")
        }
        return {**kept, "HOME": str(self.home), "CLAUDE_MAILBOX_URL": self.url, **(self.env or {})}

    def run(self, *arguments: str, said: Any = None, cwd: Path | None = None) -> Ended:
        """`said` stands on its input, as JSON unless it is bytes."""
        given = b"" if said is None else said if isinstance(said, bytes) else json.dumps(said).encode()
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=given,
            capture_output=True,
            check=False,
            timeout=WITHIN_S,
            cwd=cwd or self.home,
            env=self.environment(),
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def started(self, *arguments: str, **streams: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*PROGRAM, *arguments], cwd=self.home, env=self.environment(), **streams)
