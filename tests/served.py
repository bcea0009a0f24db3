"""A real server process over a store of its own, and a plain HTTP client for it: what end-to-end tests stand on.

Black box on purpose: nothing here imports the product, so these tests hold whatever moves inside.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.mcp_way import WAY_SETTINGS

START_WITHIN_S = 60.0
STOP_WITHIN_S = 30.0
CALL_WITHIN_S = 60.0
LOOK_EVERY_S = 0.02
PROTOCOL = "2025-11-25"
_ADDRESS = re.compile(rb" serves http://[^ ]+:(\d+)/")

Json = Any
"""A plain JSON value; typed `Any` since mypy's recursive form hides more than it says."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`value` is the decoded body (None when it is no JSON)."""

    status: int
    value: Json
    headers: dict[str, str]

    @property
    def error(self) -> dict[str, Any]:
        """The wire contract's error object; fails the test when the answer is none."""
        assert isinstance(self.value, dict), f"no object: {self.value!r:.500}"
        assert "error" in self.value, f"no error: {self.status} {self.value!r:.500}"
        error: dict[str, Any] = self.value["error"]
        return error

    @property
    def error_type(self) -> str:
        """The error's type, `OK` for a success, `HTTP <status>` for a refusal below the tools."""
        if self.status == http.client.OK:
            return "OK"
        if isinstance(self.value, dict) and isinstance(self.value.get("error"), dict):
            return str(self.value["error"]["type"])
        return f"HTTP {self.status}"


class Connection:
    """One keep-alive connection. Not for several threads at once."""

    def __init__(self, port: int, headers: dict[str, str] | None = None) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=CALL_WITHIN_S)
        self._headers = headers or {}
        self._session: dict[str, str] = {}
        self._ids = 0

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        self._http.request(method, path, body, {**self._headers, **(headers or {})})
        response = self._http.getresponse()
        raw = response.read()
        try:
            value = json.loads(raw) if raw else None
        except ValueError:
            value = None
        return Answer(response.status, value, {name.lower(): text for name, text in response.getheaders()})

    def rpc(self, tool: str, arguments: Json, **headers: str) -> Answer:
        """`POST /rpc/{tool}` with `arguments` as they are, right or wrong."""
        body = json.dumps(arguments).encode()
        return self.request("POST", f"/rpc/{tool}", body, {"Content-Type": "application/json", **headers})

    def call(self, tool: str, /, **arguments: Json) -> Json:
        """A call that must succeed; gives its plain result."""
        answer = self.rpc(tool, arguments)
        assert answer.status == http.client.OK, f"{tool}: {answer.status} {answer.value!r:.800}"
        return answer.value

    def events(self, path: str, count: int) -> Json:
        """The first so many events of a stream, which is then left; or its refusal."""
        self._http.request("GET", path, headers=self._headers)
        response = self._http.getresponse()
        if response.status != http.client.OK:
            return json.loads(response.read())
        found: list[Json] = []
        while len(found) < count:
            line = response.readline()
            assert line, f"the stream ended after {len(found)} events"
            found += [json.loads(line[len(b"data:") :])] if line.startswith(b"data:") else []
        self._http.close()
        return found

    def open_session(self) -> Json:
        """The MCP handshake; gives the server's answer to `initialize`."""
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
        answer = self._post_mcp({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        assert answer.status == http.client.OK, f"initialize: {answer.status} {answer.value!r}"
        self._session = {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": PROTOCOL}
        self._post_mcp({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer.value["result"]

    def mcp(self, method: str, **params: Json) -> Json:
        """One JSON-RPC request over the session; gives the whole JSON-RPC answer."""
        self._ids += 1
        answer = self._post_mcp({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        assert answer.status == http.client.OK, f"{method}: {answer.status} {answer.value!r:.500}"
        return answer.value

    def tool(self, tool: str, /, **arguments: Json) -> dict[str, Any]:
        """`tools/call`; gives its CallToolResult, error or not."""
        answer = self.mcp("tools/call", name=tool, arguments=arguments)
        result: dict[str, Any] = answer["result"]
        return result

    def read(self, uri: str) -> Json:
        """`resources/read` that must succeed; gives the decoded JSON of its one text."""
        answer = self.mcp("resources/read", uri=uri)
        assert "result" in answer, f"{uri}: {answer!r:.800}"
        (content,) = answer["result"]["contents"]
        return json.loads(content["text"])

    def _post_mcp(self, message: Json) -> Answer:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **self._session,
        }
        return self.request("POST", "/mcp", json.dumps(message).encode(), headers)


def children_of(pid: int, *, but: str = "") -> list[int]:
    """The direct children of a process (by `ps`, which Linux and macOS both have), less those that run `but`."""
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(maxsplit=2) for line in listing.stdout.splitlines()]
    return [int(row[0]) for row in rows if int(row[1]) == pid and not (but and but in row[-1])]


def git(repository: Path, *arguments: str) -> str:
    """Git as a person runs it in an archive; fails the test when Git fails."""
    done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


class Served:
    """`with Served(root) as server`: our server over the store at `root`.

    It takes a free port itself and prints it: one chosen here could be another's by then. Started again it
    asks for the same one, as its clients do; `port` is 0 until it is known.
    """

    def __init__(self, root: Path, *, port: int | None = None, **env: str) -> None:
        self.root = root
        self.port = port or 0
        self.log = root.parent / f"{root.name}.log"
        self._env = env
        self.process: subprocess.Popen[bytes] | None = None
        self._printed_before = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None:
            self.stop()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def database(self) -> Path:
        return self.root / "mail.sqlite3"

    def environment(self) -> dict[str, str]:
        """No setting of the person running the tests gets through to the server."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in ("PATH", "HOME", "PYTHONPATH", "LANG", "TMPDIR", "COVERAGE_PROCESS_CONFIG")
        }
        return {
            **kept,
            "STORAGE_ROOT": str(self.root),
            "HTTP_PORT": str(self.port),
            "LOG_RICH_ENABLED": "false",
            **WAY_SETTINGS,
            **self._env,
        }

    def am(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command line over this store."""
        return subprocess.run(
            [sys.executable, "-m", "mcp_agent_mail", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=STOP_WITHIN_S * 2,
            cwd=self.root.parent,
            env=self.environment(),
        )

    def command(self) -> list[str]:
        return [sys.executable, "-m", "mcp_agent_mail", "serve"]

    def start(self) -> None:
        """Spawn and wait until the server says it is ready."""
        self.spawn()
        assert self.await_ready(), f"the server ended: {self.log.read_text()[-3000:]}"

    def spawn(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self._printed_before = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [*self.command(), "--host", "127.0.0.1", "--port", str(self.port)],
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                cwd=self.root.parent,
                env=self.environment(),
            )

    def await_ready(self) -> bool:
        """False when the server ends instead."""
        assert self.process is not None
        deadline = time.monotonic() + START_WITHIN_S
        while self.process.poll() is None:
            try:
                if self._is_ready():
                    return True
            except (OSError, http.client.HTTPException):
                pass
            assert time.monotonic() < deadline, f"not ready within {START_WITHIN_S} s: {self.log.read_text()[-3000:]}"
            pause()
        return False

    def _is_ready(self) -> bool:
        with self.log.open("rb") as log:
            log.seek(self._printed_before)
            printed = _ADDRESS.search(log.read())
        if printed is None:
            return False
        self.port = int(printed[1])
        with Connection(self.port) as connection:
            return connection.request("GET", "/health/readiness").status == http.client.OK

    def stop(self) -> None:
        """SIGTERM, and it must end by itself."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        self.process = None

    def kill(self) -> None:
        """SIGKILL: no farewell."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None

    def connect(self, **headers: str) -> Connection:
        return Connection(self.port, headers)

    def await_drained(self, within_s: float = 60.0) -> None:
        """Until everything committed so far is in Git."""
        deadline = time.monotonic() + within_s
        with self.connect() as connection:
            while (archive := connection.call("health_check")["archive"])["pending_events"]:
                assert time.monotonic() < deadline, f"still not in Git: {archive}; {self.log.read_text()[-2000:]}"
                pause()

    def archives(self) -> list[Path]:
        return sorted(path.parent for path in self.root.glob("projects/*/.git"))


def pause() -> None:
    """Between two looks at something that another process does: there is no event to wait for."""
    threading.Event().wait(LOOK_EVERY_S)
