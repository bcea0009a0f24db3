"""The guard as a hook runs it, within the test's own process: the same words and answers, and no interpreter to start.

What Git itself tells a hook is in the stories of pre-commit and pre-push.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_agent_mail.guard.entry import main
from tests.guard.harness import GuardHarness

_RECORDS = '#!/bin/sh\nprintf "%s\\n" "$@" > "$RECORDS/arguments"\ncat > "$RECORDS/input"\n'


class GuardInProcess(GuardHarness):
    """No hook is installed: `commit` and `push` ask the guard, and do the deed only where it lets them."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.patch = patch
        self.capture = capture
        super().__init__(root)

    def guard(
        self, *arguments: str, cwd: Path | None = None, stdin: bytes = b"", **settings: str
    ) -> subprocess.CompletedProcess[bytes]:
        environment = self.environment(**{"AGENT_NAME": "BlueLake", **settings})
        self.capture.readouterr()
        with self.patch.context() as patch:
            for name in set(os.environ) - set(environment):
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.chdir(cwd or self.code)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            code = main(arguments)
        said = self.capture.readouterr()
        return subprocess.CompletedProcess(arguments, int(code), said.out.encode(), said.err.encode())

    def commit(self, *paths: str, cwd: Path | None = None, **settings: str) -> tuple[int, str]:
        for path in paths:
            self.write(path, f"{os.urandom(8).hex()}\n", cwd=cwd)
            self.git("add", "--", path, cwd=cwd)
        done = self.guard("hook", "pre-commit", cwd=cwd, stdin=b"", **settings)
        if done.returncode == 0:
            self.git("commit", "-q", "-m", "change", cwd=cwd, **settings)
        return done.returncode, done.stderr.decode()

    def push(self, *arguments: str, cwd: Path | None = None, **settings: str) -> tuple[int, str]:
        """Git is asked what it would tell pre-push."""
        records = self.root / "records"
        records.mkdir(exist_ok=True)
        hook = (cwd or self.code) / ".git" / "hooks" / "pre-push"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_RECORDS)
        hook.chmod(0o755)
        self.git("push", "-q", "--dry-run", *arguments, cwd=cwd, RECORDS=str(records))
        told = (records / "arguments").read_text().splitlines()
        done = self.guard("hook", "pre-push", *told, cwd=cwd, stdin=(records / "input").read_bytes(), **settings)
        if done.returncode == 0:
            self.git("push", "-q", "--no-verify", *arguments, cwd=cwd)
        return done.returncode, done.stderr.decode()
