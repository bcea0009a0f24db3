"""Wall time of `agentmail` as agents and their hooks start it, start to exit, in alternation with `am --version`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from benchmarks.report import Figure
from benchmarks.scenarios import wait_drained
from benchmarks.stand import Stand
from benchmarks.wire import Refused, Rpc

HOOK_LONGEST_MS = 1_000.0
"""The promise of the hook."""
VERSION = "am --version"
SEND = "agentmail send"
HOOK = "agentmail receive --hook"
HOOK_IDLE = "agentmail receive --hook without mail"
_GOT_MAIL = 2
_VERSION = (str(Path(sys.executable).with_name("am")), "--version")
_AGENTMAIL = str(Path(sys.executable).with_name("agentmail"))
_HOOK = (_AGENTMAIL, "receive", "--hook")
_WITHIN_S = 30.0

Turns = dict[str, list[float]]
"""What was run -> ms of each run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Rounds of so many turns; in a turn everything is run once."""

    rounds: int
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Where commands are run: the surroundings of who sends and of who receives, and the latter's name."""

    name: str
    sender: Mapping[str, str]
    reader: Mapping[str, str]
    reads_as: str


def _require_scripts() -> None:
    """Raises Refused where the distribution is not installed with the console scripts."""
    for command in (_VERSION, _HOOK):
        if not Path(command[0]).exists():
            raise Refused(f"there is no {command[0]}: install this version into the environment of the benchmark")


def run(stand: Stand, plan: Plan) -> dict[str, list[Turns]]:
    """By seat, each round's times. The server is its own and has ended when it returns."""
    _require_scripts()
    root, code = stand.scratch / "commands", stand.scratch / "code"
    subprocess.run(["git", "init", "-q", str(code)], check=True)
    server = stand.ours(root, Rpc(), AGENTMAIL_ENABLED="true")
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
    environ = {**kept, "HOME": str(stand.scratch), "STORAGE_ROOT": str(root)}
    found: dict[str, list[Turns]] = {}
    with _seats(stand.scratch, environ) as seats:
        for seat in seats:
            _run(_HOOK, seat.reader, code, 0)  # Who has looked for mail once can be written to.
            _turn(seat, code)
            wait_drained(server)
        for number in range(plan.rounds):
            for seat in seats if number % 2 == 0 else reversed(seats):
                with stand.phase(f"agentmail {seat.name}", server):
                    turns = [_turn(seat, code, is_reversed=bool(turn % 2)) for turn in range(plan.turns)]
                wait_drained(server)
                found.setdefault(seat.name, []).append({name: [turn[name] for turn in turns] for name in turns[0]})
            _say(number, plan, found)
    stand.stop(server)
    return found


@contextmanager
def _seats(scratch: Path, environ: Mapping[str, str]) -> Iterator[list[Seat]]:
    """By name; and in two windows of a tmux of its own, where there is one."""
    named = Seat(
        name="by AGENTMAIL_NAME",
        sender={**environ, "AGENTMAIL_NAME": "writer"},
        reader={**environ, "AGENTMAIL_NAME": "reader"},
        reads_as="reader",
    )
    tmux = which("tmux")
    if tmux is None:
        print("there is no tmux: agentmail is measured by AGENTMAIL_NAME alone", file=sys.stderr)
        yield [named]
        return
    socket = scratch / "tmux"
    ask = [tmux, "-S", str(socket), "-f", os.devnull]
    subprocess.run([*ask, "new-session", "-d", "-s", "bench", "-n", "east", "cat"], check=True, env=dict(environ))
    try:
        subprocess.run([*ask, "new-window", "-d", "-n", "west", "cat"], check=True)
        listed = [*ask, "list-panes", "-s", "-F", "#{pid} #{pane_id} #{window_name}"]
        told = subprocess.run(listed, check=True, capture_output=True, text=True).stdout
        panes = {name: (pid, pane) for pid, pane, name in (line.split() for line in told.splitlines())}
        of_window = {
            name: {**environ, "TMUX": f"{socket},{pid},0", "TMUX_PANE": pane} for name, (pid, pane) in panes.items()
        }
        in_windows = Seat(name="in tmux", sender=of_window["east"], reader=of_window["west"], reads_as="west")
        yield [named, in_windows]
    finally:
        subprocess.run([*ask, "kill-server"], check=False)


def _turn(seat: Seat, code: Path, *, is_reversed: bool = False) -> dict[str, float]:
    """Everything once: a send, what the hook tells of it, a hook that has nothing to tell, and the version, which
    comes first in every other turn.
    """
    took = {VERSION: _run(_VERSION, seat.sender, code, 0)} if is_reversed else {}
    took[SEND] = _run((_AGENTMAIL, "send", seat.reads_as, "The build is green again."), seat.sender, code, 0)
    took[HOOK] = _run(_HOOK, seat.reader, code, _GOT_MAIL)
    took[HOOK_IDLE] = _run(_HOOK, seat.reader, code, 0)
    if not is_reversed:
        took[VERSION] = _run(_VERSION, seat.sender, code, 0)
    return took


def _run(command: Sequence[str], environ: Mapping[str, str], code: Path, expected: int) -> float:
    """Milliseconds, start to exit. Raises Refused for another exit code."""
    began = time.perf_counter()
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=code,
        env=dict(environ),
        check=False,
        timeout=_WITHIN_S,
    )
    took_ms = 1e3 * (time.perf_counter() - began)
    if done.returncode != expected:
        said = (done.stdout + done.stderr)[-600:]
        raise Refused(f"{' '.join(command)} ended with {done.returncode}, not {expected}: {said!r}")
    return took_ms


def _say(number: int, plan: Plan, found: Mapping[str, Sequence[Turns]]) -> None:
    told = "; ".join(
        f"{seat}: {', '.join(f'{name} {_middle(times):.0f} ms' for name, times in rounds[-1].items())}"
        for seat, rounds in found.items()
    )
    print(f"round {number + 1}/{plan.rounds}: {told}", file=sys.stderr, flush=True)


def _middle(times: Sequence[float]) -> float:
    return sorted(times)[len(times) // 2]


def figures(found: Mapping[str, Sequence[Turns]]) -> list[Figure]:
    """Medians of each round by that of `am --version` in the same round, and the times themselves."""
    made = []
    for seat, rounds in found.items():
        for name in (SEND, HOOK, HOOK_IDLE):
            times = [_middle(one[name]) / _middle(one[VERSION]) for one in rounds]
            made.append(Figure(name=f"{name}, {seat}: times {VERSION}", values=times, unit="x"))
        made += [
            Figure(name=f"{name}, {seat}: wall", values=[_middle(one[name]) for one in rounds], unit="ms")
            for name in (VERSION, SEND, HOOK, HOOK_IDLE)
        ]
    hooks = [ms for rounds in found.values() for one in rounds for name in (HOOK, HOOK_IDLE) for ms in one[name]]
    longest = Figure(name=f"longest of {len(hooks)} hooks", values=[max(hooks)], unit="ms", target=HOOK_LONGEST_MS)
    return [*made, longest]
