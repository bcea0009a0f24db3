"""`am serve --stdio` as clients run it, and the server that it leaves in the background."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.cli.command_line import WITHIN_S, environment
from tests.served import pause

COMMAND = [sys.executable, "-m", "mcp_agent_mail", "serve", "--stdio"]
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1"},
}


class Household:
    """A home folder with a store of its own; ends the server that was started for it."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        self.root = home / ".mcp_agent_mail"
        self.environment = environment(home, HTTP_PORT="0", **settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.server_pid() is not None:
            self.stop_server()

    def server_pid(self) -> int | None:
        try:
            owner = json.loads((self.root / "server.json").read_text())
            os.kill(owner["pid"], 0)
        except (FileNotFoundError, ProcessLookupError):
            return None
        return int(owner["pid"])

    def stop_server(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Gone when it returns: the kernel has closed its sockets and let go of the store's lock."""
        pid = self.server_pid()
        assert pid is not None
        os.kill(pid, number)
        deadline = time.monotonic() + WITHIN_S
        while self._is_running(pid):
            assert time.monotonic() < deadline, f"{pid} does not end"
            pause()

    @staticmethod
    def _is_running(pid: int) -> bool:
        """A zombie counts as gone: whoever started it is free to ask later. But not before its last thread has
        ended (Linux), since that is who closes its sockets.
        """
        # Neither there where there is no /proc, nor when it ends while we look.
        with suppress(OSError):
            if len(os.listdir(f"/proc/{pid}/task")) > 1:  # noqa: PTH208  # names are all that is asked for
                return True
        listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return bool(listed.stdout.strip()) and not listed.stdout.strip().startswith("Z")

    def client(self, *, cwd: Path | None = None, **settings: str) -> RawClient:
        return RawClient(cwd or self.home, self.environment | settings)


class RawClient:
    """JSON lines in and out, as they are."""

    def __init__(self, cwd: Path, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=env
        )
        self._ids = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, **params: Any) -> Any:
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        self.write(json.dumps(message).encode() + b"\n")
        answer = self.read()
        assert answer["id"] == self._ids
        return answer

    def open(self) -> Any:
        answer = self.ask("initialize", **HELLO)
        self.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        return answer

    def tool(self, name: str, **arguments: Any) -> Any:
        return self.ask("tools/call", name=name, arguments=arguments)["result"]["structuredContent"]

    def finish(self) -> tuple[int, bytes, str]:
        """Close its input; its exit code, and what it still wrote."""
        out, errors = self.process.communicate(timeout=WITHIN_S)
        return self.process.returncode, out, errors.decode()
