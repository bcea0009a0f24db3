"""A code repository with the guard's hooks in it, and leases as the snapshot on disk tells them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros, iso, system_clock
from mcp_agent_mail.domain.projects import slugs_of

MINUTE = 60
KEPT = ("PATH", "PYTHONPATH", "COVERAGE_PROCESS_CONFIG")
PACKAGES = Path(__file__).parents[2] / "src"
WITHIN_S = 60.0


@dataclass
class GuardHarness:
    """`root` is a temporary folder: home, the store's folder, and a repository in `code`."""

    root: Path
    leases: list[dict[str, Any]] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        (self.storage / "projects").mkdir(parents=True)
        self.init(self.code)

    @property
    def storage(self) -> Path:
        return self.root / "home" / ".mcp_agent_mail"

    @property
    def code(self) -> Path:
        return self.root / "code"

    def environment(self, **settings: str) -> dict[str, str]:
        kept = {
            name: os.environ[name] for name in ("PATH", "PYTHONPATH", "COVERAGE_PROCESS_CONFIG") if name in os.environ
        }
        home = {"HOME": str(self.root / "home"), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC"}
        return {**kept, **home, **self.settings, **settings}

    def init(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", cwd=path)
        self.git("config", "user.name", "Grace", cwd=path)
        self.git("config", "user.email", "grace@example.com", cwd=path)

    def hook_up(self, path: Path | None = None) -> None:
        """Hooks that run the guard as the installed ones do."""
        hooks = (path or self.code) / ".git" / "hooks"
        for name in ("pre-commit", "pre-push"):
            command = shlex.join([sys.executable, "-m", "mcp_agent_mail", "guard", "hook", name])
            hook = hooks / name
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            hook.chmod(0o755)

    def hold(self, pattern: str, *, agent: str = "RedStone", for_s: int = 60 * MINUTE, **more: Any) -> dict[str, Any]:
        lease = {
            "id": len(self.leases) + 1,
            "agent": agent,
            "path_pattern": pattern,
            "is_folder": False,
            "ignore_case": False,
            "exclusive": True,
            "reason": "",
            "expires_ts": iso(Micros(system_clock() + for_s * SECOND)),
            "fencing": len(self.leases) + 1,
            **more,
        }
        self.leases.append(lease)
        self.write_snapshot()
        return lease

    def write_snapshot(self, *, project: Path | None = None, age_s: int = 0, **more: Any) -> Path:
        key = str(project or self.code)
        slug = slugs_of(key)[0]
        file = self.storage / "projects" / f"{slug}.leases.json"
        value = {
            "format": 1,
            "store_id": "1",
            "project": {"id": 1, "slug": slug, "human_key": key},
            "as_of": iso(Micros(system_clock() - age_s * SECOND)),
            "truncated": False,
            "agents": ["RedStone", "BlueLake"],
            "leases": self.leases,
            **more,
        }
        file.write_text(json.dumps(value))
        return file

    def write(self, path: str | bytes, content: str = "x\n", *, cwd: Path | None = None) -> None:
        file = (cwd or self.code) / os.fsdecode(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def run(
        self, *command: str, cwd: Path | None = None, stdin: bytes = b"", settings: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command,
            cwd=cwd or self.code,
            env=self.environment(**(settings or {})),
            input=stdin,
            capture_output=True,
            check=False,
            timeout=WITHIN_S,
        )

    def git(self, *arguments: str, cwd: Path | None = None, **settings: str) -> str:
        """Git that must succeed, and what it says."""
        done = self.run("git", *arguments, cwd=cwd, settings=settings)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode(errors="surrogateescape")

    def try_git(self, *arguments: str, cwd: Path | None = None, **settings: str) -> tuple[int, str]:
        """Exit code and complaint."""
        done = self.run("git", *arguments, cwd=cwd, settings=settings)
        return done.returncode, done.stderr.decode(errors="surrogateescape")

    def commit(self, *paths: str, cwd: Path | None = None, **settings: str) -> tuple[int, str]:
        """Change the files and commit them as BlueLake, unless `settings` say otherwise."""
        for path in paths:
            self.write(path, f"{os.urandom(8).hex()}\n", cwd=cwd)
            self.git("add", "--", path, cwd=cwd)
        return self.try_git("commit", "-q", "-m", "change", cwd=cwd, **{"AGENT_NAME": "BlueLake", **settings})

    def base(self, *paths: str) -> None:
        """A first commit of these files, before the hooks are there."""
        for path in paths:
            self.write(path)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "base")

    def guard(
        self, *arguments: str, cwd: Path | None = None, stdin: bytes = b"", **settings: str
    ) -> subprocess.CompletedProcess[bytes]:
        command = (sys.executable, "-m", "mcp_agent_mail", "guard", *arguments)
        return self.run(*command, cwd=cwd, stdin=stdin, settings={"AGENT_NAME": "BlueLake", **settings})

    def spooled(self) -> list[dict[str, Any]]:
        """What was recorded while no server answers, oldest first."""
        events = [json.loads(file.read_text()) for file in self.storage.glob("guard-spool/*.json")]
        return sorted(events, key=lambda event: event["ts"])
