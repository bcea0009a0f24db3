"""A reader who types what a page says, line by line, in a fresh home folder, against a real server.

Four things are not as on the page, all of them here: the port 8765 may be taken on this machine, so that a free one
stands in its place; the packages are not installed anew, this checkout's `.venv` is lent to a clone after the line that
makes it; the program `claude` is a stand-in that prints what it was told; and `make test`, which runs this, is not run
within itself.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.pages.blocks import ROOT
from tests.served import Connection, pause

_PRINTED_PORT = "127.0.0.1:8765"
_SERVE = "make serve"
_TEST = "make test"
_COPIED = ("Makefile", "pyproject.toml", "README.md", "LICENSE", "requirements", "src", "hooks", "docs")
_LINE_WITHIN_S = 120.0
_LOOKS = 3_000
_CLAUDE = '#!/bin/sh\necho "claude $*"\n'


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Reader:
    """`with Reader(folder) as reader`: leaves no server behind. `says` is all that was printed."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.cwd = self.home
        self.port = _free_port()
        self.says = ""
        self._server: subprocess.Popen[bytes] | None = None
        self._log = root / "serve.log"
        self._repository = root / "repository"
        tools = root / "bin"
        for folder in (self.home, tools, self._repository):
            folder.mkdir(parents=True)
        (tools / "claude").write_text(_CLAUDE)
        (tools / "claude").chmod(0o755)
        self._environment = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(self.home / ".local" / "bin"), str(tools), os.environ["PATH"]]),
            "REPOSITORY": str(self._repository),
            "HTTP_PORT": str(self.port),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ},
        }

    def __enter__(self) -> Self:
        """The repository that a reader clones: this checkout, as it is now."""
        for name in _COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, self._repository / name)
        author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        for words in (("init", "-q"), ("add", "."), (*author, "commit", "-q", "-m", "all")):
            subprocess.run(["git", *words], cwd=self._repository, check=True, env=self._environment)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            os.killpg(self._server.pid, signal.SIGTERM)
            self._server.wait(_LINE_WITHIN_S)

    def types(self, block: str) -> str:
        """Run a block of shell lines where the one before it ended; what it printed. `make serve` stays in a terminal
        of its own. Any line that fails fails the test.
        """
        said, lines = "", ""
        for line in block.splitlines(keepends=True):
            command = line.split("#")[0].strip()
            if command != _SERVE:
                lines += "" if command == _TEST else line
                continue
            said += self._run(lines)
            lines = ""
            self._serve()
        return said + self._run(lines)

    def runs_python(self, program: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", self._with_port(program)],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.cwd,
            env=self._environment,
            timeout=_LINE_WITHIN_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    # The answer is plain JSON.
    def calls(self, tool: str, arguments: str) -> Any:
        """What an agent of the reader's does: the call as the page has it."""
        with Connection(self.port) as connection:
            answer = connection.request(
                "POST", f"/rpc/{tool}", arguments.encode(), {"Content-Type": "application/json"}
            )
        assert answer.status == 200, f"{tool}: {answer.value}"
        return answer.value

    def rests(self) -> None:
        """As long as Git needs to have all of it: a person reads slower than that."""
        with Connection(self.port) as connection:
            for _ in range(_LOOKS):
                if not connection.call("health_check")["archive"]["pending_events"]:
                    return
                pause()
        raise AssertionError("Git does not catch up")

    def _with_port(self, text: str) -> str:
        return text.replace(_PRINTED_PORT, f"127.0.0.1:{self.port}")

    def _run(self, lines: str) -> str:
        if not lines.strip():
            return ""
        script = f'{self._with_port(lines)}\npwd > "$HOME/cwd"\n'
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=self.cwd,
            env=self._environment,
            timeout=_LINE_WITHIN_S,
        )
        assert done.returncode == 0, f"{lines}\n{done.stdout}"
        self.cwd = Path((self.home / "cwd").read_text().strip())
        self._lend_packages()
        self.says += done.stdout
        return done.stdout

    def _lend_packages(self) -> None:
        """Into a clone that was just made: with it `make` finds everything installed."""
        lent = self.cwd / ".venv"
        if (self.cwd / "Makefile").is_file() and not lent.exists():
            lent.mkdir()
            (lent / "bin").symlink_to(Path(sys.prefix) / "bin")
            for stamp in (".installed-main", ".installed-dev"):
                (lent / stamp).touch()

    def _serve(self) -> None:
        with self._log.open("wb") as log:
            self._server = subprocess.Popen(
                ["bash", "-c", _SERVE],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.cwd,
                env=self._environment,
                start_new_session=True,
            )
        for _ in range(_LOOKS):
            if " serves http://" in self._log.read_text():
                return
            assert self._server.poll() is None, self._log.read_text()
            pause()
        raise AssertionError(self._log.read_text())
