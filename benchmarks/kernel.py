"""What the kernel says of processes and threads: where they ran, how long they worked and how long they waited (Linux).

Order of calls proves nothing: a child that is started later stands where its parent stood. So nothing here is
remembered from what was asked for; everything is read from `/proc`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD among the flags of a task
_STEAL = 8  # column of a core's line in /proc/stat, its name counted
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")

# Columns of /proc/<pid>/stat behind the name in brackets, see proc(5).
_USER, _SYSTEM = 11, 12
_PARENT, _FLAGS, _MAJOR_FAULTS, _REAPED_USER, _REAPED_SYSTEM, _STARTED, _CORE, _BLOCKED = 1, 6, 9, 13, 14, 19, 36, 39


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSeen:
    """One thread at one instant. Times are seconds since it began; `waited_s` is time in a run queue.

    On the first thread alone: `process_s`, the CPU of all threads of its process, those that have ended too, and
    `reaped_s`, that of its children that have ended; both in whole ticks of the clock.
    """

    pid: int
    tid: int
    parent: int
    name: str
    started: int
    core: int
    on_cpu_s: float
    waited_s: float
    blocked_s: float
    major_faults: int
    process_s: float
    reaped_s: float
    is_kernel: bool

    @property
    def key(self) -> tuple[int, int, int]:
        """Numbers come back; a number and the instant it began do not."""
        return self.pid, self.tid, self.started


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Where a thread may run, and how often it left its core by itself or was taken off it."""

    allowed: frozenset[int]
    gave_way: int
    was_moved: int


def threads_of(pids: Iterable[int]) -> Iterator[ThreadSeen]:
    """All threads of those processes; one that ends meanwhile is left out."""
    for pid in pids:
        with suppress(OSError):
            for task in sorted((_PROC / str(pid) / "task").iterdir(), key=lambda path: int(path.name)):
                with suppress(OSError):
                    yield _thread(pid, task)


def all_pids() -> list[int]:
    """Of the whole machine; none where the system is another than Linux."""
    return [int(path.name) for path in _PROC.iterdir() if path.name.isdigit()] if _PROC.exists() else []


def _thread(pid: int, task: Path) -> ThreadSeen:
    head, _, tail = (task / "stat").read_text().rpartition(")")
    fields = tail.split()
    on_cpu_ns, waited_ns, _ = (task / "schedstat").read_text().split()
    of_process = reaped = 0
    if int(task.name) == pid:
        of_all = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        of_process = int(of_all[_USER]) + int(of_all[_SYSTEM])
        reaped = int(of_all[_REAPED_USER]) + int(of_all[_REAPED_SYSTEM])
    return ThreadSeen(
        pid=pid,
        tid=int(task.name),
        parent=int(fields[_PARENT]),
        name=head.partition("(")[2],
        started=int(fields[_STARTED]),
        core=int(fields[_CORE]),
        on_cpu_s=int(on_cpu_ns) / 1e9,
        waited_s=int(waited_ns) / 1e9,
        blocked_s=int(fields[_BLOCKED]) / _TICKS_PER_S,
        major_faults=int(fields[_MAJOR_FAULTS]),
        process_s=of_process / _TICKS_PER_S,
        reaped_s=reaped / _TICKS_PER_S,
        is_kernel=bool(int(fields[_FLAGS]) & _KERNEL_THREAD),
    )


def binding(pid: int, tid: int) -> Binding:
    """Raises OSError once the thread has gone."""
    fields = {}
    for line in (_PROC / str(pid) / "task" / str(tid) / "status").read_text().splitlines():
        name, _, value = line.partition(":")
        fields[name] = value.strip()
    return Binding(
        allowed=_cores(fields["Cpus_allowed_list"]),
        gave_way=int(fields["voluntary_ctxt_switches"]),
        was_moved=int(fields["nonvoluntary_ctxt_switches"]),
    )


def _cores(listed: str) -> frozenset[int]:
    """`0-2,5` is 0, 1, 2 and 5."""
    found: set[int] = set()
    for part in listed.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def process_tree(pid: int) -> list[int]:
    """The process and everything it started, by Linux's list of children."""
    found = [pid]
    for parent in found:
        with suppress(OSError):  # It has ended meanwhile.
            for task in (_PROC / str(parent) / "task").glob("*/children"):
                with suppress(OSError):
                    found += [int(child) for child in task.read_text().split()]
    return found


def command_line(pid: int) -> str:
    """Empty once it has gone."""
    with suppress(OSError):
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def stolen_s(core: int) -> float:
    """What the host of a virtual machine gave to others while this core had work."""
    with suppress(OSError):
        for line in (_PROC / "stat").read_text().splitlines():
            fields = line.split()
            if fields and fields[0] == f"cpu{core}":
                return int(fields[_STEAL]) / _TICKS_PER_S
    return 0.0
