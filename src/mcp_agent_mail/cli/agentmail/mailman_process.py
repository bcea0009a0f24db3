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
from mcp_agent_mail.cli.agentmail.notice_rules import COALESCED_S, Notices
from mcp_agent_mail.cli.agentmail.place import find_place
from mcp_agent_mail.cli.agentmail.refusals import OUTSIDE, OUTSIDE_TMUX, Failure
from mcp_agent_mail.cli.agentmail.state_files import STALE, ProjectFiles, already_running
from mcp_agent_mail.cli.agentmail.tmux_windows import TmuxSession, remember
from mcp_agent_mail.clients.hook.descriptors import write_words
from mcp_agent_mail.core import running_server as wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import Any

    from mcp_agent_mail.cli.agentmail.tmux_windows import SessionWindows

    # Any: JSON of the server.
    Json = Any

NOTICE = "Check your agentmail"
ENTER_AFTER_S = 1.0
CHILD = "AGENTMAIL_DAEMON_CHILD"
STARTED_WITHIN_S = 10.0

_MAX_WINDOWS = 200
_AGAIN_AFTER_S = (0.5, 1.0, 2.0, 5.0)
_MAX_COALESCED = 10
_LOOK_EVERY_S = 0.05
_ANSWER_AFTER_S = 10.0
_STDERR = 2
_NAME = "mailman"


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
        if not os.environ.get(CHILD):
            print_out(f"Mailman daemon started (PID: {os.getpid()})\n")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)
        return NoticeWriter(settings, TmuxSession(os.environ), place.project).run()
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
    log = os.open(files.path("mailman.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
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
            raise Failure(f"the mailman daemon has ended: see {files.path('mailman.log')}")
        time.sleep(_LOOK_EVERY_S)
    print_out(f"Mailman daemon started in background (PID: {child.pid})\n")
    child.returncode = 0  # It goes on: nobody waits for it.
    return 0


class NoticeWriter:
    """`run` until the session is gone."""

    def __init__(self, settings: DoorSettings, session: TmuxSession, project: str) -> None:
        self._session = session
        self._project = project
        self._door = DoorClient(settings, starts=True)
        self._later = DoorClient(settings, starts=False)
        self._notices = Notices()
        self._failures = 0

    def run(self) -> int:
        """The exit code."""
        seen: str | None = None
        wait_s = 0.0
        while (windows := self._session.find_windows(self._project)) is not None:
            names = windows.names[:_MAX_WINDOWS]
            self._notices.keep(names)
            self._move_renamed(windows, names)
            state = self._watch(names, seen, wait_s)
            if state is None:
                wait_s = 0.0
                continue
            if seen is not None and state["seen"] != seen:
                state = self._coalesced(names, state)
            seen = str(state["seen"])
            for name in self._notices.due(state["mailboxes"], time.time()):
                self._tell(windows, name)
            wait_s = self._notices.wait_s(state["mailboxes"], time.time())
        log("the tmux session is gone")
        return 0

    def _move_renamed(self, windows: SessionWindows, names: list[str]) -> None:
        """The mailboxes of windows that were renamed come along."""
        for name in names:
            if (was := windows.was_called(name)) is not None:
                try:
                    self._door.ask("rename", {"project": self._project, "name": name, "was": was})
                except (wire.NoAnswer, Failure) as failed:
                    log(str(failed))
                else:
                    remember(self._session.environ, self._project, windows.unnoted(name), name)

    # The answer is plain JSON.
    def _watch(self, names: list[str], seen: str | None, wait_s: float) -> dict[str, Json] | None:
        """None where there is no answer, after a while."""
        whole_s = max(0, round(wait_s + 0.4))
        value = {"project": self._project, "name": _NAME, "windows": names, "seen": seen, "wait_s": whole_s}
        try:
            answer = self._door.ask("watch", value, answers="mailboxes", within_s=whole_s + _ANSWER_AFTER_S)
        except (wire.NoAnswer, Failure) as failed:
            log(str(failed))
            # What was stopped on purpose is not started again by who only listens.
            self._door = self._later
            time.sleep(_AGAIN_AFTER_S[min(self._failures, len(_AGAIN_AFTER_S) - 1)])
            self._failures += 1
            return None
        self._door, self._failures = self._later, 0
        return answer

    # The answer is plain JSON.
    def _coalesced(self, names: list[str], state: dict[str, Json]) -> dict[str, Json]:
        """The state once nothing has changed for a moment."""
        for _ in range(_MAX_COALESCED):
            time.sleep(COALESCED_S)
            later = self._watch(names, None, 0.0)
            if later is None or later["seen"] == state["seen"]:
                break
            state = later
        return state

    def _tell(self, windows: SessionWindows, name: str) -> None:
        pane = windows.pane_of(name)
        if not self._session.is_free(pane):
            self._notices.note_held_back(name)
            return
        log(f"{name} has unread mail")
        self._session.type(pane, NOTICE, enter_after_s=ENTER_AFTER_S)
        self._notices.note_told(name, time.time())


def log(words: str) -> None:
    """One line, for whoever looks why."""
    write_words(_STDERR, f"[mailman] {words}\n")
