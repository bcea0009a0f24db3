"""Who is told of mail, window by window, for as long as a session of tmux stands: what `agentmail mailman` does."""

from __future__ import annotations

import time

from mcp_agent_mail.cli.agentmail.notice_rules import COALESCED_S, Notices
from mcp_agent_mail.cli.agentmail.refusals import Failure
from mcp_agent_mail.cli.agentmail.tmux_windows import TmuxSilent, remember
from mcp_agent_mail.clients.hook.descriptors import write_words
from mcp_agent_mail.core import running_server as wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcp_agent_mail.cli.agentmail.door import DoorClient
    from mcp_agent_mail.cli.agentmail.tmux_windows import SessionWindows, TmuxSession

    # Any: JSON of the server.
    Json = Any

NOTICE = "Check your agentmail"
ENTER_AFTER_S = 1.0

_MAX_WINDOWS = 200
_AGAIN_AFTER_S = (0.5, 1.0, 2.0, 5.0)
_MAX_COALESCED = 10
_ANSWER_AFTER_S = 10.0
_STDERR = 2
_NAME = "mailman"


class NoticeClock:
    """The clock on the wall, as the server's are, and what is waited by it."""

    __slots__ = ()

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class NoticeWriter:
    """`run` until the session is gone."""

    def __init__(
        self, session: TmuxSession, project: str, asks: DoorClient, listens: DoorClient, clock: NoticeClock
    ) -> None:
        """`asks` may start a server and does so once; `listens` never does."""
        self._session = session
        self._project = project
        self._door = asks
        self._later = listens
        self._clock = clock
        self._notices = Notices()
        self._failures = 0
        self._said = ""

    def run(self) -> int:
        """The exit code."""
        seen: str | None = None
        wait_s = 0.0
        while (windows := self._find_windows()) is not None:
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
            for name in self._notices.due(state["mailboxes"], self._clock.now()):
                self._tell(windows, name)
            wait_s = self._notices.wait_s(state["mailboxes"], self._clock.now())
        log("the tmux session is gone")
        return 0

    def _find_windows(self) -> SessionWindows | None:
        """None once the session is gone. A tmux that says nothing may stand still for a moment: it is asked again."""
        while True:
            try:
                return self._session.find_windows(self._project)
            except TmuxSilent as silent:
                self._say(f"tmux says nothing: {silent}")
                self._clock.sleep(_AGAIN_AFTER_S[-1])

    def _move_renamed(self, windows: SessionWindows, names: list[str]) -> None:
        """The mailboxes of windows that were renamed come along."""
        for name in names:
            if (was := windows.was_called(name)) is not None:
                try:
                    self._door.ask("rename", {"project": self._project, "name": name, "was": was})
                except (wire.NoAnswer, Failure) as failed:
                    self._say(str(failed))
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
            self._say(str(failed))
            # What was stopped on purpose is not started again by who only listens.
            self._door = self._later
            self._clock.sleep(_AGAIN_AFTER_S[min(self._failures, len(_AGAIN_AFTER_S) - 1)])
            self._failures += 1
            return None
        self._door, self._failures, self._said = self._later, 0, ""
        return answer

    # The answer is plain JSON.
    def _coalesced(self, names: list[str], state: dict[str, Json]) -> dict[str, Json]:
        """The state once nothing has changed for a moment."""
        for _ in range(_MAX_COALESCED):
            self._clock.sleep(COALESCED_S)
            later = self._watch(names, None, 0.0)
            if later is None or later["seen"] == state["seen"]:
                break
            state = later
        return state

    def _say(self, words: str) -> None:
        """Once, however long it stays so: nobody empties the log."""
        if words != self._said:
            self._said = words
            log(words)

    def _tell(self, windows: SessionWindows, name: str) -> None:
        pane = windows.pane_of(name)
        try:
            if not self._session.is_free(pane):
                self._notices.note_held_back(name)
                return
            log(f"{name} has unread mail")
            self._session.type(pane, NOTICE, enter_after_s=ENTER_AFTER_S, sleep=self._clock.sleep)
        except TmuxSilent as silent:
            self._say(f"tmux says nothing: {silent}")
            self._notices.note_held_back(name)
        else:
            self._notices.note_told(name, self._clock.now())


def log(words: str) -> None:
    """One line, for whoever looks why."""
    write_words(_STDERR, f"[mailman] {words}\n")
