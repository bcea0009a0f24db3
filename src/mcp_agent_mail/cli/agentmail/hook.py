"""`agentmail receive --hook`: an agent's client runs it at the end of a turn. Mail goes to standard error with 2;
everything else, errors too, is silence and 0, within a second.
"""

from __future__ import annotations

import os
import signal

from mcp_agent_mail.cli.agentmail.commands import message_text, taken
from mcp_agent_mail.cli.agentmail.door import DoorClient
from mcp_agent_mail.cli.agentmail.environment import DoorSettings
from mcp_agent_mail.cli.agentmail.place import find_place
from mcp_agent_mail.clients.hook.descriptors import write_words_within

GOT_MAIL = 2
ALARM_S = 0.85
"""Of the second that a run may take; Python's own start is the rest."""
SERVER_WITHIN_S = 0.6
SETTLED_WITHIN_S = 0.2
"""Of the same time, kept for the word to the server: without it what was not told comes again half a minute later."""

_STDERR = 2


class _Alarm:
    """Ends the process when time is over: with what it has printed by then."""

    def __init__(self) -> None:
        self.code = 0
        signal.signal(signal.SIGALRM, self._over)
        signal.signal(signal.SIGINT, self._over)
        signal.setitimer(signal.ITIMER_REAL, ALARM_S)

    def _over(self, _number: int, _frame: object) -> None:
        os._exit(self.code)


def receive_by_hook() -> int:
    """The exit code. Never raises."""
    alarm = _Alarm()
    try:
        return _receive(alarm)
    except Exception:  # noqa: BLE001  # whatever it is: the client goes on
        return alarm.code
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _receive(alarm: _Alarm) -> int:
    settings = DoorSettings(os.environ)
    place = find_place(settings, os.environ)
    door = DoorClient(settings, starts=False)
    door.within_s = SERVER_WITHIN_S
    message = taken(door, place)
    if message is None:
        return 0
    # Once it is told, its code says so; what was told and not settled is given once more.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGINT])
    left_s = max(0.0, signal.getitimer(signal.ITIMER_REAL)[0] - SETTLED_WITHIN_S)
    is_told = write_words_within(_STDERR, f"You got new mail\n{message_text(message)}", left_s)
    alarm.code = GOT_MAIL if is_told else 0
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM, signal.SIGINT])
    door.settle(message["ticket"], is_heard=is_told)
    return alarm.code
