"""The archiver by what it is told and what it says: main over two pipes, in this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail import archiver
from mcp_agent_mail.archive.locks import ArchiveLock
from mcp_agent_mail.archiver import QUIET_S, SOON_S, Instructions, WorkEnd
from mcp_agent_mail.features.archiving.protocol import (
    DRAIN,
    LOCK_FILE,
    PING,
    WAKE,
    ArchiverSettings,
    Blocked,
    CheckedOut,
    CheckOut,
    Committed,
    Drained,
    Pong,
    Ready,
    Report,
    from_line,
)
from tests.archive_harness import open_archive_harness

ENDS_WITHIN_S = 30.0


class Server:
    """The other end of both pipes."""

    def __init__(self) -> None:
        self.stdin, self._say = os.pipe()
        self._hear, self.stdout = os.pipe()
        self._reports = os.fdopen(self._hear, "rb")
        self._is_gone = False

    def say(self, line: bytes) -> None:
        os.write(self._say, line)

    def hear(self) -> Report:
        return from_line(self._reports.readline())

    def hear_until(self, kind: type[Report]) -> Report:
        while not isinstance(report := self.hear(), kind):
            pass
        return report

    def go(self) -> None:
        if not self._is_gone:
            self._is_gone = True
            os.close(self._say)

    def close(self) -> None:
        self.go()
        os.close(self.stdin)
        os.close(self.stdout)
        self._reports.close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    opened = Server()
    monkeypatch.setattr(archiver, "_STDIN", opened.stdin)
    monkeypatch.setattr(archiver, "_STDOUT", opened.stdout)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield opened
    for number, handler in before.items():
        signal.signal(number, handler)
    opened.close()


@pytest.fixture
def settings(tmp_path: Path) -> ArchiverSettings:
    """Of a store with a project and mail, all of it pending."""
    with open_archive_harness(tmp_path) as harness:
        project = harness.add_project("/code/app")
        harness.send(harness.add_agent(project, "BlueLake"), [harness.add_agent(project, "RedStone")])
        return harness.settings


def run(server: Server, talk: Callable[[], None]) -> int:
    """The archiver's exit code, while `talk` goes on in a thread; at its end the server is gone."""

    def talk_and_go() -> None:
        try:
            talk()
        finally:
            server.go()

    talking = threading.Thread(target=talk_and_go)
    talking.start()
    code = archiver.main()
    talking.join(ENDS_WITHIN_S)
    return code


def test_what_is_pending_is_committed_without_a_word_and_a_drain_ends_it(
    server: Server, settings: ArchiverSettings
) -> None:
    heard: list[Report] = []

    def talk() -> None:
        server.say(settings.to_line())
        heard.append(server.hear())
        heard.append(server.hear_until(Committed))
        server.say(WAKE * 3 + DRAIN + b" 10\n")
        heard.append(server.hear_until(Drained))

    code = run(server, talk)

    ready, committed, drained = heard
    assert code == 0
    assert ready == Ready(pid=os.getpid(), unfinished=0)
    assert isinstance(committed, Committed)
    assert (committed.project, drained) == ("code-app", Drained(pending=0))


def test_each_question_is_answered_and_a_signal_ends_nothing(server: Server, settings: ArchiverSettings) -> None:
    heard: list[Report] = []

    def talk() -> None:
        server.say(settings.to_line())
        server.hear_until(Ready)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        server.say(PING + PING)
        heard.extend(server.hear_until(Pong) for _ in range(2))

    assert run(server, talk) == 0
    assert heard == [Pong(), Pong()]


def test_a_month_that_is_asked_for_is_answered_by_its_number(server: Server, settings: ArchiverSettings) -> None:
    heard: list[Report] = []

    def talk() -> None:
        server.say(settings.to_line() + CheckOut(number=7, project="code-app", month="1999-01").to_line())
        heard.append(server.hear_until(CheckedOut))

    run(server, talk)

    (answer,) = heard
    assert isinstance(answer, CheckedOut)
    assert (answer.request, answer.is_unknown) == (7, True)


@pytest.mark.parametrize("is_told", [True, False])
def test_it_ends_when_its_server_is_gone(server: Server, settings: ArchiverSettings, is_told: bool) -> None:
    def talk() -> None:
        if is_told:
            server.say(settings.to_line())
            server.hear_until(Ready)

    assert run(server, talk) == 0


def test_lines_come_whole_in_whatever_pieces_they_were_sent(server: Server) -> None:
    instructions = Instructions()

    server.say(b"wake\npi")
    first, between = instructions.next(None), instructions.next(0)
    server.say(b"ng\n")
    second = instructions.next(None)
    server.go()

    assert (first, between, second) == (b"wake", None, b"ping")
    with pytest.raises(EOFError):
        instructions.next(None)


def test_repeats_that_have_come_already_are_one(server: Server) -> None:
    instructions = Instructions()
    server.say(b"wake\nwake\nwake\nping\nwake\n")

    instructions.next(None)
    instructions.skip(b"wake")

    assert [instructions.next(None), instructions.next(None), instructions.next(0)] == [b"ping", b"wake", None]


def ended(first_line: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-m", "mcp_agent_mail.archiver"]
    return subprocess.run(command, input=first_line, capture_output=True, check=False, timeout=ENDS_WITHIN_S)


def test_archives_that_somebody_else_works_on_are_told_and_no_bug(tmp_path: Path, settings: ArchiverSettings) -> None:
    impatient = replace(settings, lock_timeout_s=0)

    with ArchiveLock(tmp_path / LOCK_FILE, timeout_s=0):
        done = ended(impatient.to_line())

    assert (done.returncode, done.stderr) == (1, b"")
    assert isinstance(from_line(done.stdout), Blocked)


def test_a_bug_ends_it_with_its_traceback() -> None:
    done = ended(b"{}\n")

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"KeyError" in done.stderr


def test_it_imports_no_framework() -> None:
    code = "import sys, mcp_agent_mail.archiver; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    for heavy in ("fastmcp", "mcp", "sqlmodel", "sqlalchemy", "aiosqlite", "typer", "asyncio", "pydantic", "git"):
        assert f"'{heavy}'" not in done.stdout


def test_memory_is_given_back_once_after_each_time_of_work() -> None:
    now = [0.0]
    work_end = WorkEnd(lambda: now[0])
    ended = []
    for now[0], line in (
        (QUIET_S - 1, None),
        (QUIET_S, None),
        (3 * QUIET_S, None),
        (4 * QUIET_S, WAKE.rstrip()),
        (5 * QUIET_S - 1, PING.rstrip()),
        (5 * QUIET_S, PING.rstrip()),
        (7 * QUIET_S, PING.rstrip()),
    ):
        ended.append(work_end.has_come(line, None))

    assert ended == [False, True, False, False, False, True, False]


def test_it_wakes_to_give_back_memory_and_not_again_before_there_was_work() -> None:
    now = [0.0]
    work_end = WorkEnd(lambda: now[0])
    while_working = [work_end.at_most(wait_s) for wait_s in (None, 1.0, 2 * QUIET_S)]
    now[0] = QUIET_S
    work_end.has_come(None, None)

    assert while_working == [QUIET_S, 1.0, QUIET_S]
    assert [work_end.at_most(wait_s) for wait_s in (None, 2 * QUIET_S)] == [None, 2 * QUIET_S]


def test_long_work_puts_it_off_to_its_end_and_far_off_work_does_not() -> None:
    now = [0.0]
    work_end = WorkEnd(lambda: now[0])
    ended = []
    for now[0], due_s in (
        (QUIET_S, 0.0),
        (2 * QUIET_S, SOON_S),
        (3 * QUIET_S - 1, QUIET_S),
        (3 * QUIET_S, QUIET_S),
        (5 * QUIET_S, QUIET_S),
        (6 * QUIET_S, 0.25),
        (7 * QUIET_S, None),
    ):
        ended.append(work_end.has_come(None, due_s))

    assert ended == [False, False, False, True, False, False, True]


def test_memory_is_given_back_after_the_first_commits(
    server: Server, settings: ArchiverSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_given_back = threading.Event()
    monkeypatch.setattr(archiver, "QUIET_S", 0.1)
    monkeypatch.setattr(archiver, "SOON_S", 0.1)
    monkeypatch.setattr(archiver, "give_back_freed", is_given_back.set)
    heard: list[bool] = []

    def talk() -> None:
        server.say(settings.to_line())
        server.hear_until(Committed)
        heard.append(is_given_back.wait(ENDS_WITHIN_S))

    run(server, talk)

    assert heard == [True]


class WatchedEnd(WorkEnd):
    """Notes when something is due: as it is told before a line is waited for, and after."""

    def __init__(self) -> None:
        super().__init__()
        self.before: list[float | None] = []
        self.after: list[float | None] = []

    def at_most(self, wait_s: float | None) -> float | None:
        self.before.append(wait_s)
        return super().at_most(wait_s)

    def has_come(self, line: bytes | None, due_s: float | None) -> bool:
        self.after.append(due_s)
        return super().has_come(line, due_s)


def test_what_the_drain_has_to_do_counts_as_work(
    server: Server, settings: ArchiverSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = WatchedEnd()
    monkeypatch.setattr(archiver, "WorkEnd", lambda: watched)

    def talk() -> None:
        server.say(settings.to_line())
        server.hear_until(Committed)
        server.say(DRAIN + b" 10\n")
        server.hear_until(Drained)

    run(server, talk)

    assert watched.after == watched.before
    assert any(due_s is not None and due_s <= SOON_S for due_s in watched.after)
