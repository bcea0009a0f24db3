"""`agentmail mcp` as a client runs it: a line out, a line in."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from tests.cli.agentmail.tmux_session import WITHIN_S, AgentMailHome, command

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1"},
}


class McpProcess:
    """`with McpProcess(home, environ) as client`: ends it by the end of its input."""

    def __init__(self, home: AgentMailHome, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command("mcp"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home.code,
            env=home.environment(environ),
        )
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.end()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def writes(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def reads(self) -> Any:
        """The next message; None at the end."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def asks(self, method: str, params: Any = None) -> Any:
        """The whole answer to a request."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method}
        self.writes(json.dumps(message if params is None else {**message, "params": params}).encode())
        answer = self.reads()
        assert answer["id"] == self._number, answer
        return answer

    def opens(self) -> Any:
        answer = self.asks("initialize", INITIALIZE)
        self.writes(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        return answer["result"]

    def calls(self, tool: str, **arguments: Any) -> Any:
        return self.asks("tools/call", {"name": tool, "arguments": arguments})["result"]

    def exit_code(self) -> int:
        """Once it has ended by itself."""
        return self._process.wait(WITHIN_S)

    def end(self) -> int:
        """Its input ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self.exit_code()

    def complaints(self) -> str:
        """What it has written on standard error, once it has ended."""
        assert self._process.stderr is not None
        return self._process.stderr.read().decode()
