"""What the server's memory and its liveness do while somebody presses: `python -m benchmarks.pressure`.

Each attack has a server of its own. Printed are how much the server grew at most, how soon it answered
`GET /health/liveness` (a new connection each time) and one small search or reservation by somebody else meanwhile.
`--source` measures the server of another checkout. The figures say nothing on a busy machine; the memory does.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.processes import Server
from benchmarks.report import publish
from benchmarks.stand import Stand
from benchmarks.wire import Rpc

UNFINISHED = 1_100
HEADER_BYTES = 200 * 1024 * 1024
INITIALIZE = 50
INITIALIZE_BYTES = 3_000_000
NAME_BYTES = 3_900_000
INSTALLATIONS = 16
SEARCHES = 6
LARGE_MAILS = 100
LARGE_MAIL_BYTES = 100_000
PRESSED_S = 8.0
PROJECT = "/bench/pressure"
_TIMEOUT_S = 60.0
_LOOK_EVERY_S = 0.02

Json = Any
"""A plain JSON value."""


@dataclass
class Felt:
    """What others felt meanwhile, in milliseconds, and what the server weighed."""

    liveness_ms: list[float] = field(default_factory=list)
    other_ms: list[float] = field(default_factory=list)
    unanswered: int = 0
    before_mib: float = 0.0
    most_mib: float = 0.0


def rss_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def ask(port: int, method: str, path: str, value: Json = None, timeout_s: float = _TIMEOUT_S) -> tuple[int, Json]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        body = None if value is None else json.dumps(value)
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    finally:
        connection.close()


@contextmanager
def watched(server: Server, other: Callable[[], object]) -> Iterator[Felt]:
    """Look at the server, and use it as somebody else, until the end of the block."""
    felt, ended = Felt(before_mib=rss_mib(server.process.pid)), threading.Event()

    def each(answers: list[float], question: Callable[[], object]) -> None:
        while not ended.is_set():
            began = time.perf_counter()
            try:
                question()
                answers.append((time.perf_counter() - began) * 1_000)
            except (OSError, http.client.HTTPException):
                felt.unanswered += 1
            ended.wait(_LOOK_EVERY_S)

    def weigh() -> None:
        while not ended.wait(_LOOK_EVERY_S):
            felt.most_mib = max(felt.most_mib, rss_mib(server.process.pid))

    alive = lambda: ask(server.port, "GET", "/health/liveness", timeout_s=10)  # noqa: E731
    watchers = [
        threading.Thread(target=each, args=(felt.liveness_ms, alive)),
        threading.Thread(target=each, args=(felt.other_ms, other)),
        threading.Thread(target=weigh),
    ]
    for watcher in watchers:
        watcher.start()
    try:
        yield felt
    finally:
        ended.set()
        for watcher in watchers:
            watcher.join()
        # An attack can be over before the first look.
        felt.most_mib = max(felt.most_mib, rss_mib(server.process.pid))


def hold_unfinished(port: int) -> None:
    """Connections that begin a request, and leave it at that; those that were turned away do not come back."""
    head = b"POST /rpc/health_check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    begun = (b"", head[:20], head, head + b"Content-Length: 4000000\r\n\r\n" + b"a" * 60_000)
    with ExitStack() as stack:
        for number in range(UNFINISHED):
            with suppress(OSError):
                held = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
                held.settimeout(0.2)
                held.sendall(begun[number % len(begun)])
        time.sleep(PRESSED_S)


def send_one_header(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sender, suppress(OSError):
        sender.sendall(b"GET /health/liveness HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        for _ in range(HEADER_BYTES // 65_536):
            sender.sendall(b"a" * 65_536)
        time.sleep(1)


def initialize(port: int) -> None:
    client = {"name": "bench", "version": "1"}
    capabilities = {"experimental": {"a": {"b": "c" * INITIALIZE_BYTES}}}
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}
    for _ in range(INITIALIZE):
        with suppress(OSError):
            ask(port, "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})


def name_unknown(port: int) -> None:
    """Requests of four megabytes that name what there is not."""
    name = "x" * NAME_BYTES
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}
    for _ in range(4):
        with suppress(OSError):
            ask(port, "POST", "/rpc/health_check", {name: 1})
            ask(port, "POST", "/rpc/read_resource", {"uri": "resource://" + "/" * NAME_BYTES})
            ask(port, "POST", "/mcp", call)


def install_slowly(port: int) -> None:
    """Guards for repositories whose configuration is a pipe that nobody writes to; it is opened at the end."""
    with tempfile.TemporaryDirectory() as scratch:
        pipes = []
        for number in range(INSTALLATIONS):
            git = Path(scratch) / f"repository-{number}" / ".git"
            (git / "objects").mkdir(parents=True)
            (git / "refs").mkdir()
            (git / "HEAD").write_text("ref: refs/heads/main\n")
            os.mkfifo(git / "config")
            pipes.append(git / "config")
        callers = [
            threading.Thread(
                target=_quietly,
                args=(
                    port,
                    "install_precommit_guard",
                    {"project_key": PROJECT, "code_repo_path": str(pipe.parents[1])},
                ),
                daemon=True,
            )
            for pipe in pipes
        ]
        for caller in callers:
            caller.start()
        time.sleep(PRESSED_S)
        while any(caller.is_alive() for caller in callers):
            for pipe in pipes:
                with suppress(OSError):
                    os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            time.sleep(0.1)


def search_slowly(port: int) -> None:
    queries = [f"NEAR({'a ' * 480}, 1000)", '"' + "a " * 480 + '"', " OR ".join(f"{one}*" for one in "abcdefgh")]
    callers = [
        threading.Thread(
            target=_quietly,
            args=(
                port,
                "search_messages",
                {"project_key": PROJECT, "query": queries[number % 3][:1_000], "limit": 1000},
            ),
        )
        for number in range(SEARCHES)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()


def _quietly(port: int, tool: str, arguments: Json) -> None:
    with suppress(OSError, http.client.HTTPException):
        ask(port, "POST", f"/rpc/{tool}", arguments, timeout_s=200)


def fill(port: int) -> None:
    """A project with an agent, and mail of `LARGE_MAIL_BYTES` each, made of few words."""
    ask(port, "POST", "/rpc/ensure_project", {"human_key": PROJECT})
    agent = {"project_key": PROJECT, "program": "bench", "model": "none", "name": "BlueLake"}
    ask(port, "POST", "/rpc/register_agent", agent)
    words = "a b c d e f g h "
    body = words * (LARGE_MAIL_BYTES // len(words))
    for number in range(LARGE_MAILS):
        letter = {"project_key": PROJECT, "sender_name": "BlueLake", "to": ["BlueLake"], "subject": f"{number}"}
        ask(port, "POST", "/rpc/send_message", {**letter, "body_md": body})


ATTACKS: dict[str, Callable[[int], None]] = {
    f"{UNFINISHED:,} unfinished requests": hold_unfinished,
    "200 MB of one header": send_one_header,
    f"{INITIALIZE} initialize of 3 MB": initialize,
    "4 MB of unknown names": name_unknown,
    f"{INSTALLATIONS} installations on a pipe": install_slowly,
    f"{SEARCHES} slow searches": search_slowly,
}


def press(attack: Callable[[int], None], stand: Stand, **env: str) -> Felt:
    """One attack on a new server."""
    server = stand.ours(stand.scratch / attack.__name__, Rpc(), **env)
    fill(server.port)
    search = {"project_key": PROJECT, "query": "nothing of it"}
    reserve = {"project_key": PROJECT, "agent_name": "BlueLake", "paths": ["src/a.py"]}
    asked = ("search_messages", search) if attack is search_slowly else ("file_reservation_paths", reserve)
    with (
        stand.beside(attack.__name__),
        watched(server, lambda: ask(server.port, "POST", f"/rpc/{asked[0]}", asked[1])) as felt,
    ):
        attack(server.port)
    stand.kill(server)
    return felt


_WIDTHS = (32, 12, 10, 18, 16, 12)


def _row(name: str, felt: Felt) -> list[str]:
    longest = [f"{max(times, default=float('nan')):,.0f}" for times in (felt.liveness_ms, felt.other_ms)]
    return [name, f"{felt.before_mib:.0f}", f"{felt.most_mib - felt.before_mib:+.0f}", *longest, str(felt.unanswered)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pressure", description=__doc__)
    parser.add_argument("--source", type=Path, help="the `src` of another checkout, to compare with")
    parser.add_argument("--only", default="", help="attacks whose name holds this")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/pressure.json"))
    chosen = parser.parse_args(arguments)
    env = {} if chosen.source is None else {"PYTHONPATH": str(chosen.source.resolve())}
    rows = [["attack", "MiB before", "grew by", "liveness max ms", "other max ms", "unanswered"]]
    sys.stdout.write("".join(f"{cell:<{width}}" for cell, width in zip(rows[0], _WIDTHS, strict=True)) + "\n")
    with tempfile.TemporaryDirectory() as scratch, Stand(Path(scratch), is_bound=False) as stand:
        for name, attack in ATTACKS.items():
            if chosen.only not in name:
                continue
            rows.append(_row(name, press(attack, stand, **env)))
            sys.stdout.write("".join(f"{cell:<{width}}" for cell, width in zip(rows[-1], _WIDTHS, strict=True)) + "\n")
            sys.stdout.flush()
    return publish([], stand.seen, chosen.json, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
