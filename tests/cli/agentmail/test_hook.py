"""`agentmail receive --hook`: mail on standard error with 2, else silence, and never for more than a second."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.agentmail.test_commands import NONE, sent
from tests.cli.agentmail.tmux_session import WITHIN_S, AgentMailHome, TmuxSession, needs_tmux
from tests.served import Served

_PATIENT = """
import sys
from mcp_agent_mail.cli.agentmail import entry, hook
hook.ALARM_S, hook.SERVER_WITHIN_S = 40.0, 20.0
sys.argv[0] = "agentmail"
entry.main()
"""

_NOTED = """
import signal, sys
from mcp_agent_mail.cli.agentmail import entry
from mcp_agent_mail.core import running_server

def timer(which, seconds):
    print("alarm", seconds, flush=True)

class Deadline(running_server.Deadline):
    def __init__(self, seconds):
        print("server", seconds, flush=True)
        super().__init__(seconds)

signal.setitimer, running_server.Deadline = timer, Deadline
sys.argv[0] = "agentmail"
entry.main()
"""
"""Says how long it lets itself be kept, and is not ended."""
_HURRIED = """
import sys
from mcp_agent_mail.cli.agentmail import entry, hook, tmux_windows
hook.ALARM_S = 0.05
tmux_windows.run.__kwdefaults__["within_s"] = 3_600.0
sys.argv[0] = "agentmail"
entry.main()
"""


def _run(
    home: AgentMailHome, program: str, environ: dict[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", program, "receive", "--hook"],
        capture_output=True,
        check=False,
        timeout=WITHIN_S,
        cwd=cwd or home.code,
        env=home.environment(environ),
        stdin=subprocess.DEVNULL,
    )


def _hook(home: AgentMailHome, environ: dict[str, str], *, cwd: Path | None = None) -> tuple[bytes, bytes, int]:
    """On a machine that is busy too."""
    done = _run(home, _PATIENT, environ, cwd)
    return done.stdout, done.stderr, done.returncode


@needs_tmux
def test_mail_is_told_on_standard_error_once(session: TmuxSession) -> None:
    number = sent(session.says("a1", "send", "a2", "hi\nthere"))

    told, again = (_hook(session.home, session.environ("a2")) for _ in range(2))

    assert told == (b"", f"You got new mail\nFrom: a1\nID: {number}\n\nhi\nthere".encode(), 2)
    assert again == (b"", b"", 0)
    assert session.says("a2", "receive") == NONE


def test_outside_of_everything_and_without_a_server_it_is_silent(home: AgentMailHome, tmp_path: Path) -> None:
    me = {"AGENTMAIL_NAME": "me"}

    runs = [_hook(home, {}), _hook(home, me, cwd=tmp_path), _hook(home, me)]

    assert runs == [(b"", b"", 0)] * 3
    assert not home.store.exists()


def test_a_server_whose_door_is_shut_is_silence(home: AgentMailHome) -> None:
    with Served(home.store):
        assert _hook(home, {"AGENTMAIL_NAME": "me"}) == (b"", b"", 0)


def test_a_server_that_does_not_answer_is_left_within_a_second(home: AgentMailHome) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = _run(home, _NOTED, {"AGENTMAIL_NAME": "me", "AGENT_MAIL_URL": url})

    words = [line.split() for line in done.stdout.decode().splitlines()]
    assert [what for what, _ in words] == ["alarm", "server", "alarm"]
    alarm_s, server_s, off_s = (float(seconds) for _, seconds in words)
    # A tenth and more of the second is for Python's start, and for what comes behind an answer.
    assert server_s < alarm_s <= 0.9
    assert off_s == 0.0
    assert (done.stderr, done.returncode) == (b"", 0)


def test_what_hangs_before_the_server_is_ended_by_the_alarm(home: AgentMailHome, tmp_path: Path) -> None:
    """A tmux that does not answer, and is waited for as if there were an hour."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "tmux").write_text("#!/bin/sh\nexec sleep 60\n")
    (tools / "tmux").chmod(0o755)
    environ = {"PATH": f"{tools}:{os.environ['PATH']}", "TMUX": "/s,1,0", "TMUX_PANE": "%0"}

    done = _run(home, _HURRIED, environ)

    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


def _told_into(session: TmuxSession, descriptor: int) -> subprocess.CompletedProcess[bytes]:
    """The hook of `a2`, whose client has this end for its words."""
    return subprocess.run(
        [sys.executable, "-c", _PATIENT, "receive", "--hook"],
        stderr=descriptor,
        check=False,
        timeout=WITHIN_S,
        cwd=session.home.code,
        env=session.home.environment(session.environ("a2")),
        stdin=subprocess.DEVNULL,
    )


@needs_tmux
def test_mail_that_nobody_could_be_told_is_kept(session: TmuxSession) -> None:
    sent(session.says("a1", "send", "a2", "hi"))
    read, write = os.pipe()
    os.close(read)
    try:
        done = _told_into(session, write)
    finally:
        os.close(write)

    assert done.returncode == 0
    assert session.says("a2", "receive")[0].endswith("hi")


@needs_tmux
def test_a_client_that_reads_nothing_of_it_holds_nobody_and_loses_nothing(session: TmuxSession) -> None:
    long = "x" * 100_000
    sent(session.says("a1", "send", "a2", long))
    read, write = os.pipe()
    try:
        done = _told_into(session, write)
    finally:
        os.close(read)
        os.close(write)

    assert done.returncode == 0
    assert session.says("a2", "receive")[0].endswith(long)


@pytest.mark.parametrize("arguments", [("--hook", "extra"), ("--hook", "--nonsense")])
def test_whatever_stands_beside_the_flag_it_is_a_hook(arguments: tuple[str, ...], home: AgentMailHome) -> None:
    done = home.run("receive", *arguments)

    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
