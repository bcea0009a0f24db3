"""Threads that work on archives: bounded, and nobody waits for one that hangs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.features.archiving import threads as crews
from mcp_agent_mail.features.archiving.threads import MOST_AT_ONCE, ArchiveThreads, NoThread, Permits

LONG_S = 60.0


@pytest.fixture
def end() -> Iterator[threading.Event]:
    """What hangs ends at the latest with the test."""
    event = threading.Event()
    yield event
    event.set()


def occupy(threads: ArchiveThreads[bool], end: threading.Event, count: int, *, patience_s: float) -> None:
    for number in range(count):
        threads.begin(ProjectId(number), lambda: end.wait(LONG_S), patience_s=patience_s)


def test_so_many_are_at_work_and_no_more(end: threading.Event) -> None:
    threads: ArchiveThreads[bool] = ArchiveThreads()
    occupy(threads, end, MOST_AT_ONCE, patience_s=LONG_S)

    assert not threads.has_room()


def test_a_thread_that_cannot_be_had_is_told_and_nothing_is_at_work(
    end: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: ArchiveThreads[bool] = ArchiveThreads()

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refused)
        with pytest.raises(NoThread):
            threads.begin(ProjectId(0), end.is_set)

    assert not threads.is_at_work(ProjectId(0))
    occupy(threads, end, MOST_AT_ONCE, patience_s=LONG_S)


def test_what_is_set_aside_leaves_its_place_to_others(end: threading.Event) -> None:
    threads: ArchiveThreads[bool] = ArchiveThreads()
    occupy(threads, end, MOST_AT_ONCE, patience_s=0.0)

    assert threads.has_room()
    assert not threads.is_busy()
    assert threads.is_at_work(ProjectId(0))


def test_beyond_so_many_set_aside_they_keep_their_places(end: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "MOST_SET_ASIDE", 3)
    threads: ArchiveThreads[bool] = ArchiveThreads()
    occupy(threads, end, 3 + MOST_AT_ONCE, patience_s=0.0)

    was_full = not threads.has_room()
    end.set()
    while threads.is_at_work(ProjectId(0)):
        threads.wait(LONG_S)
        threads.collect()

    assert was_full
    assert threads.has_room()


def test_what_a_thread_failed_of_is_told_to_whoever_collects(end: threading.Event) -> None:
    threads: ArchiveThreads[bool] = ArchiveThreads()

    def fail() -> bool:
        raise ValueError("broken")

    threads.begin(ProjectId(1), fail)
    while not (ended := threads.collect()):
        threads.wait(LONG_S)

    assert [str(job.failure) for job in ended] == ["broken"]
    assert not end.is_set()


def test_what_comes_back_after_the_end_writes_into_no_other_file(end: threading.Event) -> None:
    threads: ArchiveThreads[bool] = ArchiveThreads()
    occupy(threads, end, 1, patience_s=0.0)
    threads = [thread for thread in threading.enumerate() if thread.name == "archive"]
    threads.close()
    reading, writing = os.pipe()
    try:
        os.set_blocking(reading, False)
        end.set()
        for thread in threads:
            thread.join(LONG_S)

        with pytest.raises(BlockingIOError):
            os.read(reading, 1)
    finally:
        os.close(reading)
        os.close(writing)


def test_permits_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    permits = Permits(1)
    first = permits.take("one"), permits.take("two"), permits.take("three")
    permits.give_back("one")

    assert first == (True, False, False)
    assert (permits.is_turn_of("two"), permits.is_turn_of("three")) == (True, False)
    assert (permits.take("three"), permits.take("two")) == (False, True)


def test_who_gives_up_its_place_in_the_line_keeps_nobody_waiting() -> None:
    permits = Permits(1)
    for slug in ("one", "two", "three"):
        permits.take(slug)
    permits.give_back("two")
    permits.give_back("one")

    assert permits.take("three")
