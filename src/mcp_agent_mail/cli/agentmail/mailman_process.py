"""`agentmail mailman`: types into windows with unread mail, so that an agent which is ready looks at it.

One process for each project. It hears of mail from the server, by a request that waits; it polls nothing. It types into
a window whose agent is ready and whose prompt is empty, and not again for a minute. It ends with its tmux session.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from mcp_agent_mail.cli.agentmail.arguments import parse
from mcp_agent_mail.cli.agentmail.commands import print_out
from mcp_agent_mail.cli.agentmail.door import DoorClient
from mcp_agent_mail.cli.agentmail.environment import DoorSettings
from mcp_agent_mail.cli.agentmail.notice_writer import NoticeClock, NoticeWriter
from mcp_agent_mail.cli.agentmail.place import find_place
from mcp_agent_mail.cli.agentmail.refusals import OUTSIDE, OUTSIDE_TMUX, Failure
from mcp_agent_mail.cli.agentmail.state_files import STALE, ProjectFiles, already_running
from mcp_agent_mail.cli.agentmail.tmux_windows import TmuxSession
from mcp_agent_mail.clients.hook.descriptors import write_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

CHILD = "AGENTMAIL_DAEMON_CHILD"
STARTED_WITHIN_S = 10.0

_LOOK_EVERY_S = 0.05
_STDERR = 2


def run_mailman(arguments: Sequence[str]) -> int:
    """`agentmail mailman`, in the foreground; with `--daemon` by a child that goes on."""
    given = parse(arguments, {}, ["daemon"])
    settings = DoorSettings(os.environ)
    place = find_place(settings, os.environ)
    if place.pane is None:
        raise Failure(OUTSIDE_TMUX, OUTSIDE)
    files = ProjectFiles(os.environ, place.project)
    if (pid := files.running()) is not None:
        raise already_running(pid)
    if files.is_stale() and not os.environ.get(CHILD):
        write_words(_STDERR, f"{STALE}\n")
    if "daemon" in given.flags and not os.environ.get(CHILD):
        return _start_child(files)
    held = files.take()
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)
        if os.environ.get(CHILD):
            os.ftruncate(_STDERR, 0)
        else:
            print_out(f"Mailman daemon started (PID: {os.getpid()})\n")
        asks, listens = DoorClient(settings, starts=True), DoorClient(settings, starts=False)
        return NoticeWriter(TmuxSession(os.environ), place.project, asks, listens, NoticeClock()).run()
    except _Ended:
        return 0
    finally:
        files.leave(held)


class _Ended(Exception):
    """Whoever started it wants it to end."""


def _end(_number: int, _frame: FrameType | None) -> None:
    raise _Ended


def _start_child(files: ProjectFiles) -> int:
    """It outlives this terminal, and is known to run when this returns. Raises Failure where it has ended."""
    import subprocess

    os.makedirs(files.folder, mode=0o700, exist_ok=True)
    # Not emptied yet: it is the log of whoever was faster, if one was.
    log = os.open(files.path("mailman.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "mcp_agent_mail.cli.agentmail.entry", "mailman"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, CHILD: "1"},
            start_new_session=True,
        )
    finally:
        os.close(log)
    until = time.monotonic() + STARTED_WITHIN_S
    while files.running() != child.pid and time.monotonic() < until:
        if child.poll() is not None:
            if (faster := files.running()) is not None:
                raise already_running(faster)
            raise Failure(f"the mailman daemon has ended: see {files.path('mailman.log')}")
        time.sleep(_LOOK_EVERY_S)
    print_out(f"Mailman daemon started in background (PID: {child.pid})\n")
    child.returncode = 0  # It goes on: nobody waits for it.
    return 0
