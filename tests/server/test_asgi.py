"""The server as an application of uvicorn, in a process of its own: as users of postal start theirs."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message

from mcp_agent_mail.server import asgi
from mcp_agent_mail.server.asgi import AsgiServer
from mcp_agent_mail.server.lifespan import StopTime
from tests.served import pause
from tests.server.whole_app import settings_of

ENDS_WITHIN_S = 60


@dataclass
class Uvicorn:
    """One run of it."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def post(self, agent: str, body: Mapping[str, Any]) -> Any:
        """The JSON of an answer that must be 200."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ENDS_WITHIN_S)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", f"/agents/{agent}/mcp/", json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == http.client.OK, text
            return json.loads(text)
        finally:
            connection.close()

    def send(self, text: str) -> Any:
        return self.post("alice", {"tool": "send_to_agent", "args": {"name": "bob", "msg": text}})

    def take(self) -> Any:
        return self.post("bob", {"tool": "check_mail", "args": {}})

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(ENDS_WITHIN_S)


@contextmanager
def uvicorn(directory: Path, *, port: int | None = None) -> Iterator[Uvicorn]:
    """`uvicorn …:api --port N` with nothing but STORAGE_ROOT, once it listens or has ended."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = port or taken.getsockname()[1]
    log = directory / f"{port}.log"
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "HOME", "TMPDIR")}
    environment = {**kept, "STORAGE_ROOT": str(directory / "store"), "AGENT_MAIL_ENV_FILE": os.devnull}
    command = [sys.executable, "-m", "uvicorn", "mcp_agent_mail.server.asgi:api", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, cwd=directory, stdout=output, stderr=subprocess.STDOUT)
    try:
        while process.poll() is None and "running on" not in log.read_text():
            pause()
        yield Uvicorn(process, port, log)
    finally:
        process.kill()
        process.wait(ENDS_WITHIN_S)


def test_the_first_start_makes_the_store_serves_the_door_and_warns_of_nothing(tmp_path: Path) -> None:
    with uvicorn(tmp_path) as server:
        sent = server.send("ping")
        message, nothing = server.take(), server.take()
        code = server.end()

    assert (message["id"], message["content"], nothing) == (sent, "ping", None)
    assert code in (0, -signal.SIGTERM)
    levels = {line.partition(":")[0] for line in server.log.read_text().splitlines()}
    assert levels == {"INFO"}
    assert (tmp_path / "store" / "mail.sqlite3").is_file()


def test_what_was_taken_stays_taken_and_the_rest_waits_after_a_kill(tmp_path: Path) -> None:
    with uvicorn(tmp_path) as server:
        server.send("one")
        server.send("two")
        first = server.take()
        assert server.send("three")  # One unit of work later the first is marked.
        server.end(signal.SIGKILL)
    with uvicorn(tmp_path) as server:
        rest = [server.take(), server.take(), server.take()]

    assert first["content"] == "one"
    assert [one and one["content"] for one in rest] == ["two", "three", None]


def test_a_store_that_another_owns_is_told_as_am_serve_tells_it(tmp_path: Path) -> None:
    with uvicorn(tmp_path) as server:
        server.send("so that it knows its address")
        with uvicorn(tmp_path) as second:
            code = second.process.wait(ENDS_WITHIN_S)
            told = second.log.read_text()

    assert code != 0
    assert f"in use by process {server.process.pid}, which serves http://127.0.0.1:{server.port}" in told


def test_a_stop_answers_who_waits(tmp_path: Path) -> None:
    waits = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "check_mail", "arguments": {}}}
    answers: list[Any] = []
    with uvicorn(tmp_path) as server:
        waiting = threading.Thread(target=lambda: answers.append(server.post("bob", waits)))
        waiting.start()
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=ENDS_WITHIN_S)
        while _waits(connection) != 1:
            pause()
        connection.close()
        code = server.end()
        waiting.join(ENDS_WITHIN_S)

    assert answers[0]["result"]["isError"] is True
    assert code in (0, -signal.SIGTERM)


def _waits(connection: http.client.HTTPConnection) -> int:
    connection.request("POST", "/rpc/health_check", "{}", {"Content-Type": "application/json"})
    waits: int = json.loads(connection.getresponse().read())["delivery"]["waits"]
    return waits


@pytest.mark.parametrize(
    ("server", "settings", "status"),
    [
        (("10.1.2.3", 8_000), {}, 403),
        (("127.0.0.1", 8_000), {}, 200),
        (("/run/mail.sock", None), {}, 200),
        (("10.1.2.3", 8_000), {"HTTP_HOST": "0.0.0.0", "HTTP_BEARER_TOKEN": "a-token-of-the-server"}, 200),
    ],
    ids=["another machine's", "this machine's", "a socket", "a server for others"],
)
async def test_it_serves_its_own_machine_unless_it_is_set_up_for_others(
    tmp_path: Path, server: tuple[str, int | None], settings: dict[str, str], status: int
) -> None:
    app = AsgiServer(lambda: settings_of(tmp_path, **settings))
    events: list[Message] = []
    answers: list[Message] = []
    asked = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive() -> Message:
        message = next(asked)
        if message["type"] == "lifespan.shutdown":
            scope = {"type": "http", "method": "GET", "path": "/health/liveness", "query_string": b""}
            headers = [(b"host", b"localhost")]
            await app({**scope, "headers": headers, "server": server, "client": ("127.0.0.1", 9)}, never, answer)
        return message

    async def never() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        events.append(message)

    async def answer(message: Message) -> None:
        answers.append(message)

    await app({"type": "lifespan"}, receive, send)

    assert [one["type"] for one in events] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert answers[0]["status"] == status


@pytest.mark.parametrize(("path", "is_worded"), [("/agents", True), ("/mcp", True), ("/rpc/health_check", False)])
async def test_who_is_refused_where_mcp_is_spoken_reads_it_as_an_mcp_client(
    tmp_path: Path, path: str, is_worded: bool
) -> None:
    app = AsgiServer(lambda: settings_of(tmp_path, HTTP_PATH="/agents"))
    answers: list[Message] = []

    async def never() -> Message:
        raise AssertionError

    async def answer(message: Message) -> None:
        answers.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": [(b"host", b"localhost")]}
    async with app.opened():
        await app({**scope, "server": ("192.0.2.1", 80), "client": ("192.0.2.9", 9)}, never, answer)

    assert answers[0]["status"] == 403
    assert ("jsonrpc" in json.loads(answers[1]["body"])) is is_worded


@pytest.mark.parametrize("is_failing", [False, True])
async def test_the_time_of_a_stop_begins_with_it_however_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_failing: bool
) -> None:
    told: list[str] = []

    class Told(StopTime):
        def begin(self) -> None:
            told.append("begun")
            super().begin()

        def left_s(self) -> float:
            told.append("asked")
            return super().left_s()

    monkeypatch.setattr(asgi, "StopTime", Told)
    app = AsgiServer(lambda: settings_of(tmp_path))

    with suppress(KeyError):
        async with app.opened():
            if is_failing:
                raise KeyError

    assert told == ["begun", "asked"]
