"""A server, a repository that is a project of it with the guard's hooks, and two agents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.served import Served, git, pause

PROFILE = {"program": "tests", "model": "none"}
WITHIN_S = 60.0
_TRIES = 10
_LATE = "did not answer within"
"""On a busy machine: then the guard reads a snapshot instead, which is not what these tests are about."""


class GuardedProject:
    """A server, a repository that is a project, and two agents. `refused_late` commits were refused without the
    server's answer, and tried again.
    """

    def __init__(self, server: Served, code: Path) -> None:
        self.server = server
        self.code = code
        self.refused_late = 0
        code.mkdir()
        git(code, "init", "-q", "-b", "main")
        git(code, "config", "user.name", "Grace")
        git(code, "config", "user.email", "grace@example.com")
        for name in ("pre-commit", "pre-push"):
            hook = code / ".git" / "hooks" / name
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mcp_agent_mail guard hook {name} "$@"\n')
            hook.chmod(0o755)
        self.call("ensure_project", human_key=str(code))
        for name in ("BlueLake", "RedStone"):
            self.call("register_agent", project_key=str(code), name=name, **PROFILE)

    def call(self, tool: str, /, **arguments: Any) -> Any:
        with self.server.connect() as connection:
            return connection.call(tool, **arguments)

    def hold(self, *paths: str, agent: str = "RedStone", **more: Any) -> Any:
        return self.call(
            "file_reservation_paths", project_key=str(self.code), agent_name=agent, paths=list(paths), **more
        )

    def run(self, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
        environ = {**self.server.environment(), "HOME": str(self.server.root.parent), "AGENT_NAME": "BlueLake"}
        return subprocess.run(
            command,
            cwd=self.code,
            env={**environ, **settings},
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
        )

    def commit(self, *paths: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """With a change of its own each time that the server was late."""

        def ask() -> subprocess.CompletedProcess[str]:
            for path in paths:
                file = self.code / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(os.urandom(4).hex())
            git(self.code, "add", "-A")
            done = self.run("git", "commit", "-qm", "change", **settings)
            self.refused_late += done.returncode != 0 and is_late(done)
            return done

        return in_time(ask, _tries(settings))

    def check(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        command = (sys.executable, "-m", "mcp_agent_mail", "guard", "check", *arguments)
        return in_time(lambda: self.run(*command, **settings), _tries(settings))

    def log(self, *arguments: str) -> list[dict[str, Any]]:
        done = self.run(sys.executable, "-m", "mcp_agent_mail", "guard", "log", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        events: list[dict[str, Any]] = json.loads(done.stdout)["events"]
        return events

    def spooled(self) -> list[Path]:
        return list(self.server.root.glob("guard-spool/*.json"))


def in_time(
    ask: Callable[[], subprocess.CompletedProcess[str]], tries: int = _TRIES
) -> subprocess.CompletedProcess[str]:
    """What a command says once the server answered it in time, or at its last try."""
    done = ask()
    for _ in range(tries - 1):
        if not is_late(done):
            break
        done = ask()
    return done


def is_late(done: subprocess.CompletedProcess[str]) -> bool:
    return _LATE in done.stdout + done.stderr


def _tries(settings: Mapping[str, str]) -> int:
    """A server that a test names is late on purpose."""
    return 1 if "AGENT_MAIL_URL" in settings else _TRIES


def told_of_leases(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What the guard said, less that the server was late."""
    return [line for line in done.stderr.splitlines() if _LATE not in line]


def wait_until(is_so: Callable[[], bool]) -> None:
    """For something that another process does."""
    for _ in range(3_000):
        if is_so():
            return
        pause()
    raise AssertionError("it never happened")
