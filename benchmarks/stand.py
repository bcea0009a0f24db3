"""The stand a benchmark runs on: which cores are whose, the servers that stand there, and what each phase saw.

Servers have the last core; the client, the sampler, the archiver and Git have the others. Not the other way round: the
first core also runs the kernel's block and interrupt work, and there a busy server holds up its own disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import mcp_agent_mail
from benchmarks import evidence
from benchmarks.evidence import Seen, Use, used
from benchmarks.kernel import (
    Binding,
    ThreadSeen,
    all_pids,
    binding,
    command_line,
    process_tree,
    stolen_s,
    threads_of,
)
from benchmarks.processes import Server, start_floor, start_ours
from benchmarks.versions import HERE, compile_source
from benchmarks.wire import Dialect, Refused

PACKAGES = (Path(mcp_agent_mail.__file__).parent, HERE / "benchmarks")
"""What the servers under test are started from, beside installed libraries."""

ARCHIVER_WITHIN_S = 20.0
_ARCHIVER = "mcp_agent_mail.archiver"
_PARTS = {"store-writer": "writer", "long-reads": "search"}
_POLL_S = 0.02


class Stand:
    """One run's cores and servers; leaving it stops the servers. Binds the benchmark's own process at once.

    With `is_bound` false nothing is bound anywhere, for what measures how a machine of several cores is used.
    """

    def __init__(self, scratch: Path, *, is_bound: bool = True) -> None:
        self.scratch = scratch
        self.servers_on, self.others_on = share_out() if is_bound else (frozenset(), frozenset())
        self.seen: list[Seen] = []
        self._running: list[Server] = []
        self._stopping = ExitStack()
        if self.others_on:
            os.sched_setaffinity(0, self.others_on)

    def __enter__(self) -> Self:
        for package in PACKAGES:
            compile_source(package)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.close()

    @property
    def objections(self) -> list[str]:
        """What speaks against the run, phase by phase; empty for evidence."""
        return [f"{seen.phase}: {objection}" for seen in self.seen for objection in seen.objections]

    def floor(self, dialect: Dialect, *, module: str = "benchmarks.floor") -> Server:
        return self._keep(start_floor(self.scratch, set(self.servers_on), dialect, module=module))

    def ours(self, root: Path, dialect: Dialect, *, launcher: str | None = None, **env: str) -> Server:
        return self._keep(start_ours(root, set(self.servers_on), dialect, launcher=launcher, **env))

    def stop(self, server: Server) -> None:
        """Before the end of the run, one of several."""
        self._running.remove(server)
        server.stop()

    def kill(self, server: Server) -> None:
        """What need not end in order."""
        self._running.remove(server)
        server.process.kill()
        server.process.wait()

    def _keep(self, server: Server) -> Server:
        self._running.append(server)
        self._stopping.callback(self._stop_if_running, server)
        return server

    def _stop_if_running(self, server: Server) -> None:
        if server in self._running:
            self.stop(server)

    @contextmanager
    def phase(self, name: str, server: Server) -> Iterator[Seen]:
        """Put everything where it belongs; when the block has ended, ask the kernel who did what, and where.

        What `server` used is filled in at the end.
        """
        self._place()
        tree = process_tree(server.process.pid)
        with self._watched(name) as (seen, before):
            switches = _bindings(before, tree)
            yield seen
            after = list(threads_of(process_tree(server.process.pid)))
        seen.uses = _uses(server, before, after, switches)
        seen.objections += self.misplaced(before)

    @contextmanager
    def beside(self, name: str) -> Iterator[None]:
        """A phase without a server at work, or while one starts and its children are where they were born: only
        others' work speaks against it."""
        with self._watched(name):
            yield

    @contextmanager
    def _watched(self, name: str) -> Iterator[tuple[Seen, list[ThreadSeen]]]:
        seen = Seen(phase=name, seconds=0.0)
        before, taken_before = list(threads_of(all_pids())), self._stolen()
        began = time.perf_counter()
        yield seen, before
        seen.seconds = time.perf_counter() - began
        after, taken = list(threads_of(all_pids())), self._stolen()
        seen.objections += evidence.foreign(before, after, self._our_pids(), seen.seconds)
        seen.objections += evidence.stolen(taken_before, taken, seen.seconds)
        self.seen.append(seen)

    def _place(self) -> None:
        """Children of servers onto the others' cores; the archiver is waited for: it comes after readiness."""
        if not self.others_on:
            return
        for server in self._running:
            if server.name != "floor":
                require_archiver(server)
            for child in process_tree(server.process.pid)[1:]:
                bind(child, self.others_on)

    def _our_pids(self) -> set[int]:
        ours = set(process_tree(os.getpid()))
        for server in self._running:
            ours |= set(process_tree(server.process.pid))
        return ours

    def misplaced(self, before: Sequence[ThreadSeen] = ()) -> list[str]:
        """Threads of this run that worked since `before`, or may work, on a core that is not theirs."""
        if not self.servers_on:
            return []
        servers = {server.process.pid for server in self._running}
        found = []
        for pids, home in ((servers, self.servers_on), (self._our_pids() - servers, self.others_on)):
            threads = list(threads_of(pids))
            allowed = {tid: seen.allowed for (_, tid), seen in _bindings(threads, pids).items()}
            found += evidence.misplaced(before, threads, allowed, home)
        return found

    def _stolen(self) -> dict[int, float]:
        return {core: stolen_s(core) for core in self.servers_on | self.others_on}


def share_out() -> tuple[frozenset[int], frozenset[int]]:
    """(the servers' core, everybody else's): the same where there is one, none where nothing can be bound."""
    if not hasattr(os, "sched_getaffinity"):
        return frozenset(), frozenset()
    cores = sorted(os.sched_getaffinity(0))
    return frozenset(cores[-1:]), frozenset(cores[:-1] or cores)


def bind(pid: int, cores: Iterable[int]) -> None:
    """All threads of a process; those that have gone meanwhile need none."""
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(task.name), cores)


def archiver_of(server: Server) -> int | None:
    """Its process number; None while there is none."""
    children = process_tree(server.process.pid)[1:]
    return next((child for child in children if _ARCHIVER in command_line(child)), None)


def require_archiver(server: Server) -> int:
    """Its process number, waiting for it: it begins after the server answers. Raises Refused."""
    ends = time.monotonic() + ARCHIVER_WITHIN_S
    while (archiver := archiver_of(server)) is None:
        if time.monotonic() > ends:
            raise Refused(f"{server.name} has no archiver after {ARCHIVER_WITHIN_S:g} s")
        time.sleep(_POLL_S)
    return archiver


def _bindings(threads: Iterable[ThreadSeen], pids: Iterable[int]) -> dict[tuple[int, int], Binding]:
    wanted, found = set(pids), {}
    for thread in threads:
        if thread.pid in wanted:
            with suppress(OSError):
                found[thread.pid, thread.tid] = binding(thread.pid, thread.tid)
    return found


def _uses(
    server: Server,
    before: Sequence[ThreadSeen],
    after: Sequence[ThreadSeen],
    switches_before: Mapping[tuple[int, int], Binding],
) -> dict[str, Use]:
    """By part: the server's loop, writer, search and other threads, the archiver, and Git."""
    tree, archiver = set(process_tree(server.process.pid)), archiver_of(server)
    now = _bindings(after, tree)
    parts: dict[str, Use] = {}
    for thread, use in used(before, after):
        if thread.pid in tree:
            known = switches_before.get((thread.pid, thread.tid))
            here = now.get((thread.pid, thread.tid))
            if here is not None:
                use.gave_way = here.gave_way - (known.gave_way if known else 0)
                use.was_moved = here.was_moved - (known.was_moved if known else 0)
            parts.setdefault(_part(thread, server, archiver), Use()).add(use)
    reaped = {thread.pid: thread.reaped_s for thread in before if thread.pid == archiver and thread.tid == archiver}
    for thread in after:
        if thread.tid == archiver:
            parts.setdefault("git", Use()).cpu_s += thread.reaped_s - reaped.get(thread.pid, 0.0)
    return parts


def _part(thread: ThreadSeen, server: Server, archiver: int | None) -> str:
    if thread.pid == server.process.pid:
        return "loop" if thread.tid == thread.pid else _PARTS.get(thread.name, "other threads")
    return "archiver" if thread.pid == archiver else "git"
