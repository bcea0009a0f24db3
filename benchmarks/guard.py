"""What a commit and an edit wait for: `python -m benchmarks.guard [--leases N] [--runs N] [--json FILE]`.

Wall time of the guard's process, start to exit, with a server up and down, in alternation with an empty Python.
Live leases: half exclusive literal paths, a quarter shared `dir/**`, a quarter shared `**/*.ext`; the paths
asked about meet none. The interpreter is started as the installed hooks start it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import mcp_agent_mail
from benchmarks.processes import Server
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import call
from benchmarks.stand import Stand
from benchmarks.wire import Rpc
from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.domain.leases import LeaseKind, NewLease
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import stored_pattern
from mcp_agent_mail.store.database import Store

TARGET_MS = 100.0
WITHIN_S = 60.0
LOOK_S = 0.05
LOT = 500

_PROGRAM = "import sys; sys.path.append(sys.argv.pop(1)); from mcp_agent_mail.__main__ import main; main()"
_GUARD = [sys.executable, "-I", "-c", _PROGRAM, str(Path(mcp_agent_mail.__file__).parents[1]), "guard"]
_QUESTIONS = {
    "empty python": [sys.executable, "-I", "-c", "pass"],
    "check": [*_GUARD, "check", "app/free.py"],
    "pre-commit": [*_GUARD, "hook", "pre-commit"],
}


def pattern(number: int) -> str:
    if number % 2 == 0:
        return f"src/part{number % 100}/file{number}.py"
    return f"lib/part{number}/**" if number % 4 == 1 else f"**/*.ext{number}"


def settle(server: Server, project: str) -> None:
    call(server, "ensure_project", human_key=project)
    for name in ("BlueLake", "RedStone"):
        call(server, "register_agent", project_key=project, name=name, program="bench", model="none")


async def fill(root: Path, project: str, count: int) -> None:
    """`count` live leases of one agent."""
    async with Store(root / "mail.sqlite3") as store:
        known = await store.read(lambda view: view.projects.find_by_human_key(project))
        assert known is not None
        agent = await store.read(lambda view: view.agents.find_by_name(known.id, "RedStone"))
        assert agent is not None
        expires = Micros(system_clock() + 86_400 * SECOND)
        leases = [
            NewLease(
                project_id=agent.project_id,
                agent_id=agent.id,
                agent=agent.name,
                kind=LeaseKind.FILE,
                path_pattern=pattern(number),
                keys=keys_of(stored_pattern(pattern(number))),
                exclusive=number % 2 == 0,
                reason="measured",
                expires_ts=expires,
            )
            for number in range(count)
        ]
        for start in range(0, count, LOT):
            lot = leases[start : start + LOT]
            await store.write(lambda tx: tx.leases.add_many(lot, tx.now))  # noqa: B023  # waited for


def has_leases(root: Path, count: int) -> bool:
    return any(file.read_bytes().count(b'"fencing"') == count for file in (root / "projects").glob("*.leases.json"))


def wait_for(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < until, "it never happened"
        time.sleep(LOOK_S)


@dataclass(slots=True)
class Took:
    """Milliseconds of each run: on the wall, and of CPU (with Git's), which a busy machine changes less."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def measure(code: Path, environ: Mapping[str, str], runs: int) -> dict[str, Took]:
    """The questions in turn."""
    took = {name: Took() for name in _QUESTIONS}
    for _ in range(runs):
        for name, command in _QUESTIONS.items():
            before, started = cpu_s(), time.perf_counter()
            done = subprocess.run(command, cwd=code, env=environ, capture_output=True, check=False)
            took[name].wall.append((time.perf_counter() - started) * 1_000)
            took[name].cpu.append((cpu_s() - before) * 1_000)
            assert done.returncode == 0, done.stderr
    return took


def cpu_s() -> float:
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def at(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def figures(state: str, took: Mapping[str, Took]) -> list[Figure]:
    found = []
    for name, of in took.items():
        target = None if name == "empty python" else TARGET_MS
        found += [
            Figure(name=f"{name}, server {state}: p50", values=[at(of.wall, 0.5)], unit="ms", target=target),
            Figure(name=f"{name}, server {state}: p99", values=[at(of.wall, 0.99)], unit="ms"),
            Figure(name=f"{name}, server {state}: CPU, p50", values=[at(of.cpu, 0.5)], unit="ms"),
        ]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--leases", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/guard.json"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, Stand(Path(scratch).resolve()) as stand:
        root, code = stand.scratch / "store", stand.scratch / "code"
        subprocess.run(["git", "init", "-q", str(code)], check=True)
        (code / "free.py").write_text("x\n")
        subprocess.run(["git", "-C", str(code), "add", "-A"], check=True)
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        environ = {**kept, "HOME": str(stand.scratch), "STORAGE_ROOT": str(root), "AGENT_NAME": "BlueLake"}
        server = stand.ours(root, Rpc())
        settle(server, str(code))
        stand.stop(server)
        asyncio.run(fill(root, str(code), chosen.leases))
        server = stand.ours(root, Rpc())
        wait_for(lambda: has_leases(root, chosen.leases))
        time.sleep(2)  # The archiver and the collector come to rest.
        with stand.phase("server up", server):
            found = figures("up", measure(code, environ, chosen.runs))
        stand.stop(server)
        with stand.beside("server down"):
            found += figures("down", measure(code, environ, chosen.runs))
    print(table(f"{chosen.leases} live leases, {chosen.runs} runs", found))
    return publish(found, stand.seen, chosen.json)


if __name__ == "__main__":
    sys.exit(main())
