"""`agentmail mailman` beside a real tmux and a real server: whom it tells, when, and that there is one."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.cli.agentmail.notice_writer import NOTICE
from mcp_agent_mail.cli.agentmail.state_files import ProjectFiles
from tests.cli.agentmail.test_commands import sent
from tests.cli.agentmail.tmux_session import WITHIN_S, AgentMailHome, TmuxSession, command, eventually, needs_tmux
from tests.served import Served

pytestmark = needs_tmux


def _files(home: AgentMailHome) -> ProjectFiles:
    return ProjectFiles(home.environment(), str(home.code))


def _started(session: TmuxSession, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=session.home.code,
        env=session.home.environment(session.environ("a1")),
    )


@contextmanager
def mailman(session: TmuxSession) -> Iterator[subprocess.Popen[str]]:
    """In the foreground of a terminal of its own, at work."""
    process = _started(session, "mailman")
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert process.stdout.readline() == f"Mailman daemon started (PID: {process.pid})\n"
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(WITHIN_S)
        process.stdout.close()
        process.stderr.close()


def _told(session: TmuxSession, window: str) -> int:
    """How often the notice stands there with its Enter: `cat` gives back each line."""
    return session.screen(window).count(NOTICE) // 2


def test_a_ready_window_is_told_of_its_mail_with_an_enter_once(session: TmuxSession) -> None:
    session.says("a2", "status", "ready")
    session.says("a3", "status", "work")
    with mailman(session) as process:
        for window in ("a2", "a3", "a2"):
            session.says("a1", "send", window, "hi")
        eventually(lambda: _told(session, "a2") == 1)
        session.says("a1", "send", "a2", "more")
        session.says("a3", "status", "ready")
        eventually(lambda: _told(session, "a3") == 1)
        pid = _files(session.home).running()

    assert pid == process.pid
    assert process.returncode == 0
    assert _told(session, "a2") == 1
    assert _files(session.home).running() is None


def test_mail_that_was_there_before_is_told_of(session: TmuxSession) -> None:
    session.says("a1", "send", "a2", "hi")
    with mailman(session):
        eventually(lambda: _told(session, "a2") == 1)


def test_who_has_typed_something_is_not_written_into(session: TmuxSession) -> None:
    session.tmux("send-keys", "-t", session.panes["a2"], "-l", "half a thought")
    with mailman(session):
        session.says("a1", "send", "a2", "hi")
        session.says("a1", "send", "a3", "hi")
        eventually(lambda: _told(session, "a3") == 1)
        before = session.screen("a2")
        session.tmux("send-keys", "-t", session.panes["a2"], "Enter")
        eventually(lambda: _told(session, "a2") == 1)

    assert NOTICE not in before


def test_a_window_that_is_opened_or_renamed_meanwhile_is_told(session: TmuxSession) -> None:
    session.says("a1", "send", "a2", "noted")
    session.says("a2", "receive")
    with mailman(session):
        session.open("late")
        session.tmux("rename-window", "-t", session.panes["a2"], "b2")
        session.says("a1", "send", "late", "hi")
        session.says("a1", "send", "b2", "hi")
        eventually(lambda: _told(session, "late") == 1)
        eventually(lambda: _told(session, "a2") == 1)


def test_it_survives_its_server_and_ends_with_its_session(session: TmuxSession, server: Served) -> None:
    """Whoever of the two asks first, the mailman or the sender, starts the next server: the test does not."""
    try:
        with mailman(session) as process:
            server.kill()
            sent(session.says("a1", "send", "a2", "hi"))
            eventually(lambda: _told(session, "a2") == 1)
            session.tmux("kill-server")

            assert process.wait(WITHIN_S) == 0
            assert process.stderr is not None
            assert process.stderr.read().endswith("[mailman] the tmux session is gone\n")
    finally:
        session.home.stop_server()


def test_in_the_background_there_is_one_and_a_second_is_refused(session: TmuxSession) -> None:
    out, err, code = session.says("a1", "mailman", "--daemon")
    pid = _files(session.home).running()
    assert pid is not None
    try:
        refused = [session.says("a2", "mailman", *more) for more in ([], ["--daemon"])]
        session.says("a1", "send", "a2", "hi")
        eventually(lambda: _told(session, "a2") == 1)
    finally:
        os.kill(pid, signal.SIGTERM)
        eventually(lambda: _files(session.home).running() is None)

    assert (out, err, code) == (f"Mailman daemon started in background (PID: {pid})\n", "", 0)
    assert refused == [("", f"error: mailman daemon already running (PID: {pid})\n", 2)] * 2


def test_of_many_that_are_started_at_once_one_runs_and_each_other_says_so(session: TmuxSession) -> None:
    several = [_started(session, "mailman", "--daemon") for _ in range(6)]
    ended = [(*one.communicate(timeout=WITHIN_S), one.returncode) for one in several]
    pid = _files(session.home).running()
    assert pid is not None
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: _files(session.home).running() is None)

    assert sorted(ended, key=lambda one: one[2]) == [
        (f"Mailman daemon started in background (PID: {pid})\n", "", 0),
        *[("", f"error: mailman daemon already running (PID: {pid})\n", 2)] * 5,
    ]


def test_a_number_that_was_left_is_cleaned_up_and_nonsense_is_refused(session: TmuxSession) -> None:
    path = Path(_files(session.home).path("mailman.pid"))
    path.parent.mkdir(parents=True)
    path.write_text("999999\n")
    out, err, code = session.says("a1", "mailman", "--daemon")
    pid = _files(session.home).running()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: _files(session.home).running() is None)
    path.write_text("nonsense")

    corrupt = session.says("a1", "mailman")

    assert (out, code) == (f"Mailman daemon started in background (PID: {pid})\n", 0)
    assert err == "Warning: Stale PID file found, cleaning up\n"
    assert corrupt == ("", f"error: corrupt PID file: {path}\n", 1)


@pytest.mark.parametrize("environ", [{}, {"AGENTMAIL_NAME": "out"}])
def test_outside_tmux_there_is_nothing_to_type_into(environ: dict[str, str], home: AgentMailHome) -> None:
    done = home.run("mailman", environ=environ)

    assert (done.stdout, done.stderr, done.returncode) == (
        "",
        "error: agentmail must run inside a tmux session\n",
        2,
    )
