"""What an agent waits for at each event: `python -m benchmarks.hook_times [--runs N] [--unread N] [--json FILE]`.

Wall time of `am hook`, start to exit, as its client starts it, with a server that is up, with and without unread mail,
down, and hung: in alternation with `python -I -S -c "import json, socket"`, the least that could ask a server at all.
Each run is another session, so that there is always mail to tell.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.processes import Server
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import call
from benchmarks.stand import Stand
from benchmarks.wire import Rpc
from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.domain.messages import Importance, NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.store.database import Store

MOST_TIMES = 2.5
"""So many times the bare Python a hook may take, where a server answers and where none is."""
MOST_MORE_MS = 350.0
"""Than beside a server that answers, where one hangs."""
LONGEST_MS = 1_000.0

LOT = 500
BARE = "bare python"
_EVENTS = ("UserPromptSubmit", "PostToolUse")
_BARE = [sys.executable, "-I", "-S", "-c", "import json, socket"]
_AM = Path(sys.executable).with_name("am")


@dataclass(slots=True)
class Took:
    """Milliseconds of each run on the wall, and how many of them told of mail."""

    wall: list[float] = field(default_factory=list)
    told: int = 0


def settle(server: Server, project: str) -> None:
    call(server, "ensure_project", human_key=project)
    for name in ("BlueLake", "RedStone"):
        call(server, "register_agent", project_key=project, name=name, program="bench", model="none")


async def fill(root: Path, project: str, count: int) -> None:
    """`count` unread messages of one agent's, one in ten of them urgent."""
    async with Store(root / "mail.sqlite3") as store:
        found = await store.read(lambda view: view.projects.find_by_human_key(project))
        assert found is not None
        known = found
        sender = await store.read(lambda view: view.agents.find_by_name(known.id, "RedStone"))
        reader = await store.read(lambda view: view.agents.find_by_name(known.id, "BlueLake"))
        assert sender is not None
        assert reader is not None
        recipient = NewRecipient(agent=reader, project=known, kind=RecipientKind.TO)
        messages = [
            NewMessage(
                sender=sender,
                project=known,
                thread_id=None,
                topic=None,
                subject=f"Subject {number}",
                body_md=f"The first line of {number}.\n\nAnd more.",
                importance=Importance.URGENT if number % 10 == 0 else Importance.NORMAL,
                ack_required=False,
                reply_to=None,
            )
            for number in range(count)
        ]
        for start in range(0, count, LOT):
            lot = messages[start : start + LOT]
            await store.write(lambda tx: [tx.messages.add(one, [recipient], system_clock()) for one in lot])  # noqa: B023  # waited for


@contextmanager
def hung() -> Iterator[str]:
    """The address of a server that takes every connection and says nothing."""
    taken: list[socket.socket] = []

    def take(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                taken.append(listener.accept()[0])

    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        taking = threading.Thread(target=take, args=(listener,))
        taking.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            taking.join()
            for connection in taken:
                connection.close()


def measure(state: str, code: Path, environ: Mapping[str, str], runs: int) -> dict[str, Took]:
    """A bare Python and each event in turn."""
    took = {name: Took() for name in (BARE, *_EVENTS)}
    for number in range(runs):
        for name, of in took.items():
            command = _BARE if name == BARE else [str(_AM), "hook", "claude", name]
            payload = {"session_id": f"{state}-{name}-{number}", "cwd": str(code), "tool_name": "Bash"}
            started = time.perf_counter()
            done = subprocess.run(
                command, cwd=code, env=environ, input=json.dumps(payload).encode(), capture_output=True, check=False
            )
            of.wall.append((time.perf_counter() - started) * 1_000)
            of.told += b"Agent mail" in done.stdout
            assert (done.returncode, done.stderr) == (0, b""), done
    return took


def at(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def figures(states: Mapping[str, Mapping[str, Took]]) -> list[Figure]:
    """Of each state and event the ratio to the bare Python of the same turns, or what hanging adds."""
    found, everything = [], [value for took in states.values() for event in _EVENTS for value in took[event].wall]
    for state, took in states.items():
        bare = at(took[BARE].wall, 0.5)
        found.append(Figure(name=f"{state}: {BARE}, p50", values=[bare], unit="ms"))
        for event in _EVENTS:
            wall = took[event].wall
            name = f"{state}: {event}"
            found += [
                Figure(name=f"{name}, p50", values=[at(wall, 0.5)], unit="ms"),
                Figure(name=f"{name}, p95", values=[at(wall, 0.95)], unit="ms"),
            ]
            if state == "hung":
                more = at(wall, 0.5) - at(states["up, 0 unread"][event].wall, 0.5)
                found.append(Figure(name=f"{name}, more than up", values=[more], unit="ms", target=MOST_MORE_MS))
            else:
                times = at(wall, 0.5) / bare
                found.append(Figure(name=f"{name}, times bare", values=[times], unit="x", target=MOST_TIMES))
    longest = Figure(name=f"longest of {len(everything)} runs", values=[max(everything)], unit="ms", target=LONGEST_MS)
    return [*found, longest]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hook_times", description=__doc__)
    parser.add_argument("--runs", type=int, default=63, help="of each event in each of four states: 504 in all")
    parser.add_argument("--unread", type=int, default=10_000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/hook_times.json"))
    chosen = parser.parse_args()
    states: dict[str, dict[str, Took]] = {}
    with tempfile.TemporaryDirectory() as scratch, Stand(Path(scratch).resolve()) as stand:
        root, code = stand.scratch / "store", stand.scratch / "code"
        subprocess.run(["git", "init", "-q", str(code)], check=True)
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        environ = {**kept, "HOME": str(stand.scratch), "STORAGE_ROOT": str(root), "AGENT_NAME": "BlueLake"}
        server = stand.ours(root, Rpc())
        settle(server, str(code))
        with stand.phase("up, 0 unread", server):
            states["up, 0 unread"] = measure("up, 0 unread", code, environ, chosen.runs)
        stand.stop(server)
        asyncio.run(fill(root, str(code), chosen.unread))
        server = stand.ours(root, Rpc())
        time.sleep(2)  # The archiver and the collector come to rest.
        state = f"up, {chosen.unread} unread"
        with stand.phase(state, server):
            states[state] = measure(state, code, environ, chosen.runs)
        assert all(states[state][event].told == chosen.runs for event in _EVENTS), "mail was not told in time"
        stand.stop(server)
        with stand.beside("down"):
            states["down"] = measure("down", code, environ, chosen.runs)
        with hung() as url, stand.beside("hung"):
            states["hung"] = measure("hung", code, {**environ, "AGENT_MAIL_URL": url}, chosen.runs)
    found = figures(states)
    print(table(f"am hook, {chosen.runs} runs of each", found))
    return publish(found, stand.seen, chosen.json)


if __name__ == "__main__":
    sys.exit(main())
