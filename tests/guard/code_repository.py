"""A code repository with a guard whose answer the test chooses: real Git, real hooks, a stand-in behind the shim."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from mcp_agent_mail.guard.hooks.install import Installed, Uninstalled, install_guard, uninstall_guard
from mcp_agent_mail.guard.hooks.shim import Program

PROJECT = "/code/app"
FOREIGN = Path(__file__).parent / "foreign"

_GUARD = """#!/bin/sh
# -I -c PROGRAM PACKAGES come first.
shift 4
echo "$*" >> "$RECORDS/guard"
cat >> "$RECORDS/guard.input"
exit "${GUARD_ANSWER:-0}"
"""

_HOOK = """#!/bin/sh
echo "$*" >> "$RECORDS/former"
cat >> "$RECORDS/former.input"
pwd > "$RECORDS/former.cwd"
env | grep -E '^(GIT_|MARK)' | grep -v DATE | sort > "$RECORDS/former.env"
exit "${FORMER_ANSWER:-0}"
"""


@dataclass(frozen=True, slots=True)
class Code:
    """`top` is the work tree; `records` is where guard and hooks write down how they were called."""

    top: Path
    home: Path
    records: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def hooks(self) -> Path:
        return self.top / ".git" / "hooks"

    @property
    def program(self) -> Program:
        return Program(python=str(self.home / 'an "interpreter"'), packages="/nowhere")

    def environment(self, **more: str) -> dict[str, str]:
        path = f"{self.home / 'bin'}:{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self.home), "RECORDS": str(self.records), **self.env, **more}

    def run(
        self, *command: str, cwd: Path | None = None, stdin: bytes | None = None, **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command, cwd=cwd or self.top, env=self.environment(**env), capture_output=True, check=False, input=stdin
        )

    def git(self, *arguments: str, cwd: Path | None = None, **env: str) -> str:
        """Must succeed."""
        done = self.run("git", *arguments, cwd=cwd, stdin=None, **env)
        assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stdout!r} {done.stderr!r}"
        return done.stdout.decode()

    def commit(self, *, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[bytes]:
        return self.run("git", "commit", "--allow-empty", "-m", "work", cwd=cwd, stdin=None, **env)

    def install(self, path: Path | None = None, *, replace: bool = False, project: str = PROJECT) -> Installed:
        return install_guard(path or self.top, project, replace=replace, program=self.program)

    def uninstall(self, path: Path | None = None) -> Uninstalled:
        return uninstall_guard(path or self.top)

    def told(self, name: str) -> list[str]:
        """The lines of one record: `guard`, `former`, `guard.input`, …"""
        path = self.records / name
        return path.read_text().splitlines() if path.exists() else []

    def forget(self) -> None:
        for path in self.records.iterdir():
            path.unlink()

    def write_hook(self, name: str, text: str = _HOOK, *, folder: Path | None = None, mode: int = 0o755) -> Path:
        path = (folder or self.hooks) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def config_bytes(self) -> bytes:
        return (self.top / ".git" / "config").read_bytes()

    def clone_target(self) -> Path:
        """A bare repository to push to, as `origin`."""
        bare = self.home / "origin.git"
        self.git("init", "--quiet", "--bare", str(bare))
        self.git("remote", "add", "origin", str(bare))
        return bare


def make_code(folder: Path, *, name: str = "app") -> Code:
    home, records = folder / "home", folder / "records"
    (home / "bin").mkdir(parents=True)
    records.mkdir()
    top = folder / name
    code = Code(top=top, home=home, records=records)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Somebody\n\temail = some@example.com\n[init]\n\tdefaultBranch = main\n"
    )
    top.mkdir()
    code.git("init", "--quiet")
    guard = Path(code.program.python)
    guard.write_text(_GUARD)
    guard.chmod(0o755)
    return code
