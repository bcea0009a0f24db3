"""A session of a real tmux on a socket of its own, and `agentmail` as it is run in one of its windows."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.served import pause

WITHIN_S = 60.0
_LOOKS = 1_500
_KEPT = ("PATH", "PYTHONPATH", "COVERAGE_PROCESS_CONFIG", "TMPDIR")

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux on this machine")

Done = subprocess.CompletedProcess[str]


@dataclass
class AgentMailHome:
    """A home, a Git repository in `code` as far as one looks, and the settings of who runs `agentmail` there."""

    root: Path
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        (self.code / ".git").mkdir(parents=True, exist_ok=True)
        (self.root / "home").mkdir(exist_ok=True)

    @property
    def code(self) -> Path:
        return self.root / "code"

    @property
    def store(self) -> Path:
        return self.root / "store"

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        mine = {"HOME": str(self.root / "home"), "STORAGE_ROOT": str(self.store), "HTTP_PORT": "0"}
        return {**kept, **mine, **self.settings, **(extra or {})}

    def run(
        self,
        *arguments: str,
        stdin: str | None = None,
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Done:
        """One run of the command. Without `stdin` there is none."""
        given = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        return subprocess.run(
            command(*arguments),
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
            cwd=cwd or self.code,
            env=self.environment(environ),
            **given,
        )

    def stop_server(self) -> None:
        """The server that a command may have started in the background."""
        import json

        owner = self.store / "server.json"
        if owner.exists() and (pid := json.loads(owner.read_text()).get("pid")):
            os.kill(pid, signal.SIGTERM)
            eventually(lambda: not owner.exists() or not _is_alive(pid))


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mcp_agent_mail.cli.agentmail.entry", *arguments]


def eventually(holds: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    for _ in range(_LOOKS):
        if holds():
            return
        pause()
    raise AssertionError("it does not come to that")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


class TmuxSession:
    """`panes` are by the names that their windows were made with."""

    def __init__(self, home: AgentMailHome, socket: str) -> None:
        self.home = home
        self.socket = socket
        self.panes: dict[str, str] = {}

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-S", self.socket, "-f", "/dev/null", *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=WITHIN_S,
            cwd=self.home.code,
            env=self.home.environment(),
        )
        return done.stdout

    def open(self, name: str, program: str = "cat") -> None:
        how = ["new-window", "-d"] if self.panes else ["new-session", "-d", "-s", "main", "-x", "100", "-y", "20"]
        self.panes[name] = self.tmux(*how, "-P", "-F", "#{pane_id}", "-n", name, program).strip()

    def environ(self, window: str) -> dict[str, str]:
        """What a program in the window finds."""
        return {"TMUX": f"{self.socket},1,0", "TMUX_PANE": self.panes.get(window, window)}

    def run(self, window: str, *arguments: str, stdin: str | None = None, cwd: Path | None = None) -> Done:
        return self.home.run(*arguments, stdin=stdin, cwd=cwd, environ=self.environ(window))

    def says(self, window: str, *arguments: str) -> tuple[str, str, int]:
        """Standard output, standard error and exit code."""
        done = self.run(window, *arguments)
        return done.stdout, done.stderr, done.returncode

    def screen(self, window: str) -> str:
        return self.tmux("capture-pane", "-p", "-t", self.panes[window])


@contextmanager
def tmux_session(home: AgentMailHome, windows: Sequence[str] = ("a1", "a2", "a3")) -> Iterator[TmuxSession]:
    """Sockets have short paths, so that it lies beside the test's folder."""
    with tempfile.TemporaryDirectory(prefix="am-tmux-") as folder:
        session = TmuxSession(home, f"{folder}/s")
        for name in windows:
            session.open(name)
        try:
            yield session
        finally:
            subprocess.run(["tmux", "-S", session.socket, "kill-server"], check=False, capture_output=True)
