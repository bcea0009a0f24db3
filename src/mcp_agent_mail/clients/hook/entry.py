"""`am hook CLIENT EVENT`: what an agent CLI runs at its events. `main(arguments)` gives the exit code.

It ends with 0 and the contract's neutral output whatever happens, or with the one refusal that a contract knows; after
a second at the latest, by an alarm. The standard library alone, and little of that: a client waits for it.
"""

from __future__ import annotations

import os
import signal

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.hook.descriptors import write_words
from mcp_agent_mail.clients.hook.output import HookOutput, neutral
from mcp_agent_mail.clients.hook.payload import HookPayload, read_payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from mcp_agent_mail.clients.hook.run import Reply

    # Any: see Contract.
    Json = Any

ALARM_S = 0.9
"""Of the second that a run may take; Python's own start is the rest."""

_STDOUT, _STDERR = 1, 2


class _Alarm:
    """Prints the neutral output when time is over, unless something was printed, and ends the process. So does Ctrl-C:
    a code of its own, or a signal's, is a refusal to some clients.
    """

    def __init__(self) -> None:
        self.neutral = HookOutput()
        self.is_printing = False
        self._code = 0
        signal.signal(signal.SIGALRM, self._over)
        signal.signal(signal.SIGINT, self._over)
        signal.setitimer(signal.ITIMER_REAL, ALARM_S)

    def _over(self, _number: int, _frame: object) -> None:
        if not self.is_printing:
            write_words(_STDOUT, self.neutral.stdout)
        os._exit(self._code)

    def off(self) -> None:
        """Before Python ends: by then it has put the signal's default back, which kills."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def print(self, printed: HookOutput) -> bool:
        """Whether all of it has gone to the client. Standard error first, which can prove nothing."""
        self.is_printing = True
        self._code = printed.code
        write_words(_STDERR, printed.stderr)
        return write_words(_STDOUT, printed.stdout)


def main(arguments: Sequence[str]) -> int:
    """Never raises."""
    if "--wake" in arguments:
        from mcp_agent_mail.clients.hook.wake import main as wake  # noqa: PLC0415  # it waits, so it has no alarm

        return wake([one for one in arguments if one != "--wake"])
    alarm = _Alarm()
    try:
        return _run(arguments, alarm)
    finally:
        alarm.off()


def _run(arguments: Sequence[str], alarm: _Alarm) -> int:
    reply: Reply | None = None
    try:
        reply = _reply(arguments, alarm)
    except Exception as failed:  # noqa: BLE001  # whatever it is: the client goes on
        alarm.neutral.stderr = f"agent-mail hook: {type(failed).__name__}; nothing was done.\n"
    printed = alarm.neutral if reply is None else reply.printed
    is_flushed = alarm.print(printed)
    if reply is not None:
        try:
            reply.after(is_flushed=is_flushed)
        except Exception:  # noqa: BLE001  # as above; what was printed is printed
            return printed.code
    return printed.code


def _reply(arguments: Sequence[str], alarm: _Alarm) -> Reply | None:
    """What is to be printed; None for the neutral output."""
    client, name = [*arguments, "", ""][:2]
    if client not in CLIENTS:
        alarm.neutral.stderr = f"agent-mail hook: no client is called {client[:40]!r}: {', '.join(CLIENTS)}.\n"
        return None
    contract = read_contract(client)
    event: Json = contract["events"].get(name)
    alarm.neutral = neutral(contract["neutral"] if event is None else event["neutral"])
    if event is None:
        known = ", ".join(contract["events"])
        alarm.neutral.stderr = f"agent-mail hook: {client} has no event {name[:40]!r}: {known}.\n"
        return None
    value = read_payload()
    if value is None:
        return None
    payload = HookPayload(contract, value)
    if payload.is_foreign():
        return None
    from mcp_agent_mail.clients.hook.run import HookRun  # noqa: PLC0415  # only where there is something to do

    return HookRun(contract, name, payload, os.environ).reply()
