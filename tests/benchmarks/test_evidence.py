"""A yardstick that cannot lie: what stands on the wrong core, or beside the run, is found and the run refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import evidence
from benchmarks.evidence import Seen
from benchmarks.kernel import ThreadSeen, binding, process_tree, threads_of
from benchmarks.report import NO_EVIDENCE, Figure, publish
from benchmarks.stand import Stand, share_out

BUSY = ThreadSeen(
    pid=50,
    tid=50,
    parent=1,
    name="make",
    started=1,
    core=1,
    on_cpu_s=3.0,
    waited_s=0.5,
    blocked_s=0.0,
    major_faults=0,
    process_s=3.0,
    reaped_s=0.0,
    is_kernel=False,
)
needs_cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="one core, or none can be bound"
)


@contextmanager
def _child(cores: set[int]) -> Iterator[int]:
    """A process that has begun, bound to `cores`."""
    says_so = "import sys; print('here', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", says_so],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),  # noqa: PLW1509  # no threads here
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"here\n"
        yield child.pid
        child.communicate()


@contextmanager
def _stand(scratch: Path) -> Iterator[Stand]:
    """A stand in this very process, whose own binding is put back."""
    before = os.sched_getaffinity(0)
    try:
        with Stand(scratch) as stand:
            yield stand
    finally:
        os.sched_setaffinity(0, before)


@needs_cores
def test_a_process_of_ours_on_the_servers_core_is_named(tmp_path: Path) -> None:
    with _stand(tmp_path) as stand, _child(set(stand.servers_on)) as strayed:
        found = stand.misplaced()

    assert any(f"process {strayed}," in objection for objection in found)


@needs_cores
def test_a_process_where_it_belongs_is_not_named(tmp_path: Path) -> None:
    with _stand(tmp_path) as stand, _child(set(stand.others_on)) as settled:
        found = stand.misplaced()

    assert not any(f"process {settled}," in objection for objection in found)


@needs_cores
def test_a_process_that_may_run_on_the_wrong_core_is_named_though_it_did_not_yet() -> None:
    servers, others = share_out()
    with _child(set(servers | others)) as pid:
        threads = list(threads_of([pid]))
        allowed = {thread.tid: binding(pid, thread.tid).allowed for thread in threads}

        found = [evidence.misplaced([], [replace(thread, core=min(others))], allowed, others) for thread in threads]

    assert all(len(objections) == 1 for objections in found)


def test_a_thread_that_was_moved_and_slept_since_is_not_named_and_one_that_worked_is() -> None:
    home, allowed = frozenset({0}), {50: frozenset({0})}

    assert evidence.misplaced([BUSY], [BUSY], allowed, home) == []
    assert evidence.misplaced([BUSY], [replace(BUSY, on_cpu_s=3.1)], allowed, home) != []


def test_servers_have_the_last_core_and_nobody_else() -> None:
    servers, others = share_out()

    assert servers == {max(os.sched_getaffinity(0))}
    assert servers.isdisjoint(others) or servers == others


def test_others_beside_the_run_are_found_by_what_they_used_in_the_phase() -> None:
    later = replace(BUSY, on_cpu_s=3.3)

    assert evidence.foreign([BUSY], [later], ours=(), seconds=4.0) == [
        "others had 7 % of core 1: make (50) 7 %",
    ]
    assert evidence.foreign([BUSY], [replace(BUSY, on_cpu_s=3.1)], ours=(), seconds=4.0) == []
    assert evidence.foreign([BUSY], [later], ours={50}, seconds=4.0) == []
    assert evidence.foreign([BUSY], [replace(later, is_kernel=True)], ours=(), seconds=4.0) == []


def test_a_process_that_came_and_went_shows_in_its_parent() -> None:
    reaped = replace(BUSY, reaped_s=2.0)

    found = evidence.foreign([BUSY], [reaped], ours=(), seconds=4.0)

    assert found == ["others had 50 % of core 1: make (50) 50 %"]


def test_what_a_child_had_used_before_the_phase_is_not_its_parents_when_it_ends() -> None:
    child = replace(BUSY, pid=51, tid=51, parent=50, on_cpu_s=9.0, process_s=9.0)
    reaped = replace(BUSY, reaped_s=9.1)

    found = evidence.foreign([BUSY, child], [reaped], ours=(), seconds=4.0)

    assert found == []


def test_what_a_thread_had_that_ended_in_the_phase_is_its_processs() -> None:
    ended = replace(BUSY, tid=51, on_cpu_s=2.0, process_s=0.0)

    found = evidence.foreign(
        [replace(BUSY, process_s=5.0), ended], [replace(BUSY, process_s=5.4)], ours=(), seconds=4.0
    )

    assert found == ["others had 10 % of core 1: make (50) 10 %"]


def test_a_thread_of_others_counts_on_the_core_where_it_stands() -> None:
    second = replace(BUSY, tid=51, core=0, on_cpu_s=2.0, process_s=0.0)

    found = evidence.foreign(
        [replace(BUSY, process_s=5.0), second],
        [replace(BUSY, process_s=5.4), replace(second, on_cpu_s=2.4)],
        ours=(),
        seconds=4.0,
    )

    assert found == ["others had 10 % of core 0: make (50) 10 %"]


def test_what_the_clock_rounds_is_nobodys_work() -> None:
    rounded = replace(BUSY, process_s=3.02, reaped_s=0.01)

    assert evidence.foreign([BUSY], [rounded], ours=(), seconds=0.5) == []


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the kernel does not say")
def test_the_kernel_tells_what_a_thread_had_that_has_ended() -> None:
    program = """
import os, sys, threading, time

def work(until_s):
    while time.thread_time() < until_s:
        pass

def begin(until_s, may_end):
    thread = threading.Thread(target=lambda: (work(until_s), worked.set(), may_end.wait()))
    thread.start()
    return thread

may_end, worked = threading.Event(), threading.Event()
earlier = begin(0.3, may_end)
worked.wait()
print("here", flush=True)
sys.stdin.readline()
may_end.set()
earlier.join()
begin(0.2, may_end).join()
while len(os.listdir("/proc/self/task")) > 1:
    time.sleep(0.001)
print("done", flush=True)
sys.stdin.readline()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        before = list(threads_of([child.pid]))
        child.stdin.write(b"\n")
        child.stdin.flush()
        child.stdout.readline()
        after = list(threads_of([child.pid]))
        found = evidence.foreign(before, after, ours=(), seconds=1.0)
        child.communicate()

    assert (len(before), len(after), len(found)) == (2, 1, 1)
    assert f"({child.pid})" in found[0]


def test_what_the_host_took_is_found() -> None:
    assert evidence.stolen({0: 1.0, 1: 1.0}, {0: 1.1, 1: 1.4}, seconds=4.0) == ["the host took 10 % of core 1"]


def test_a_refused_run_says_so_writes_so_and_ends_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = Seen(phase="mixed", seconds=4.0, objections=["others had 50 % of core 1"])
    met = Figure(name="share", values=[0.6], target=0.5, at_least=True)

    code = publish([met], [seen], tmp_path / "figures.json")

    assert code == NO_EVIDENCE
    assert "NO EVIDENCE" in capsys.readouterr().out
    assert '"is_evidence": false' in (tmp_path / "figures.json").read_text()


def test_the_tree_of_a_process_holds_its_children() -> None:
    with _child(set(os.sched_getaffinity(0))) as pid:
        assert pid in process_tree(os.getpid())


def test_a_median_that_the_spread_cannot_tell_from_the_bound_meets_it() -> None:
    swinging = Figure(name="p50", values=[2.1, 2.6, 2.2, 2.5, 2.0, 2.7, 2.2, 2.6], target=2.2)
    steady = Figure(name="p50", values=[2.41, 2.40, 2.42, 2.40, 2.41, 2.42, 2.40, 2.41], target=2.2)

    assert swinging.verdict == "met within the spread"
    assert steady.verdict == "missed"


def test_few_pairs_have_no_spread_to_hide_behind() -> None:
    few = Figure(name="p50", values=[1.5, 4.0, 2.3], target=2.2)

    assert few.spread == (1.0, 1.0)
    assert few.verdict == "missed"
