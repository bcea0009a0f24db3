"""`am hook CLIENT EVENT --wake`: waits beside an idle session, and wakes it when mail comes.

The client (Claude Code by `asyncRewake`, OpenCode by our plugin) runs it in the background at each end of a turn: the
`event` of the contract's `wake`. It ends with 2 and the mail on standard error, which is given to the model, else
with 0. (docs/adr/0160)
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time

from mcp_agent_mail.clients.contracts.reader import CLIENTS, can_refuse, read_contract
from mcp_agent_mail.clients.hook import text
from mcp_agent_mail.clients.hook.descriptors import write_words
from mcp_agent_mail.clients.hook.environment import HookSettings
from mcp_agent_mail.clients.hook.identity import find_hook_identity
from mcp_agent_mail.clients.hook.payload import HookPayload, read_payload
from mcp_agent_mail.clients.hook.run_entries import begin_asking, end_asking
from mcp_agent_mail.clients.hook.session_file import SessionFile, plain_name, state_folder
from mcp_agent_mail.core import running_server as wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from mcp_agent_mail.clients.contracts.reader import Contract

    # Any: JSON of the server, and our own.
    Json = Any

WOKEN, SLEPT = 2, 0
LIFE_S = 86_400.0
BEGUN_WITHIN_S = 5.0
"""Until it knows whose session it waits beside: a client that says nothing more, and a folder that takes long."""
FIRST_LOOK_AFTER_S = 1.0
"""The hook of the same end of a turn tells first what may go on with the turn: it has a second."""
SLICE_S = 50
CHECK_EVERY_S = 1.0
AGAIN_AFTER_S = (0.5, 1.0, 2.0, 5.0)
MOST_REFUSALS = 12
"""In a row, of those that waiting does not change: then it is no server that has just started anew."""

_WAIT = "/rpc/wait_for_messages"
_POSITION = "/rpc/fetch_inbox_events"
_STDERR = 2
_MAX_WIRE_SESSION = 200


def main(arguments: Sequence[str]) -> int:
    """The exit code. Never raises."""
    try:
        for number in (signal.SIGALRM, signal.SIGINT):
            signal.signal(number, lambda *_: os._exit(SLEPT))
        signal.setitimer(signal.ITIMER_REAL, BEGUN_WITHIN_S)
        watcher = _watcher(arguments)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if watcher is None:
            return SLEPT
        signal.signal(signal.SIGINT, lambda *_: os._exit(WOKEN if watcher.has_told else SLEPT))
        return watcher.run()
    except Exception:  # noqa: BLE001  # whatever it is: a session is not woken by it
        return SLEPT


def _watcher(arguments: Sequence[str]) -> Watcher | None:
    """None where nobody can be woken: another client or event, a sub-agent, a session without a name of its own."""
    client, event = [*arguments, "", ""][:2]
    if client not in CLIENTS or event != (contract := read_contract(client))["wake"]["event"]:
        return None
    value = read_payload()
    if value is None:
        return None
    payload = HookPayload(contract, value)
    if payload.is_foreign() or payload.is_subagents or payload.session is None:
        return None
    watcher = Watcher(contract, payload, os.environ)
    return watcher if watcher.agent is not None else None


class Watcher:
    """One session's. A later one takes its place, and so does a turn that begins: it ends then, within a second."""

    def __init__(self, contract: Contract, payload: HookPayload, environ: Mapping[str, str]) -> None:
        self._settings = HookSettings(environ)
        client, session = contract["client"], payload.session or ""
        self._client = client
        self._can_refuse = can_refuse(contract)
        self._folder, self._name = state_folder(environ), plain_name(client, session)
        self._file = SessionFile(self._folder, self._name)
        state = self._file.read()
        self._turned = state.get("turned")
        identity = find_hook_identity(self._settings, state, payload.work_folder, environ)
        self.agent = identity.agent
        self._place = {"project_key": identity.project, "agent_name": identity.agent}
        self._session = plain_name(client, session, _MAX_WIRE_SESSION)
        self._key = [os.getpid(), time.time()]
        self._parent = os.getppid()
        self._until = time.monotonic() + LIFE_S
        self._cursor: int | None = None
        self._is_waking = threading.Lock()
        self.has_told = False

    def run(self) -> int:
        """Until there is mail to wake for, or nobody is left to wake."""
        self._file.change(lambda state: state.update(watcher=self._key))
        if not self._is_noted():
            return SLEPT
        threading.Thread(target=self._end_when_over, name="wake", daemon=True).start()
        time.sleep(FIRST_LOOK_AFTER_S)
        failures = refusals = 0
        while time.monotonic() < self._until:
            try:
                if self._look():
                    return WOKEN
                failures = refusals = 0
                continue
            except wire.NoAnswer:
                failures += 1
            except wire.Refused as refused:
                # As a rule by a server that stops, or has started anew. The next look finds what came meanwhile.
                failures, refusals = failures + 1, refusals + refused.is_lasting
                self._cursor = None
            if refusals >= MOST_REFUSALS:
                return SLEPT
            time.sleep(AGAIN_AFTER_S[min(failures, len(AGAIN_AFTER_S)) - 1])
        return SLEPT

    def _is_noted(self) -> bool:
        """Does the disk have it? Else nothing would end this one: no later watcher, and no turn that begins."""
        return SessionFile(self._folder, self._name).read().get("watcher") == self._key

    def _look(self) -> bool:
        """Whether the session was told of mail; without any it returns after a while. Raises as the server's `ask`."""
        server = wire.find_server(self._settings)
        if server is None:
            raise wire.NoAnswer("no server runs")
        if self._cursor is None:
            value = {**self._place, "position_now": True}
            self._cursor = _cursor_in(server.ask(_POSITION, value, wire.Deadline(10.0)))
        elif not self._has_news(server):
            return False
        self._rest()
        while True:
            with self._is_waking:
                if not self._is_wanted():
                    os._exit(SLEPT)
                # What started late, at an end from which the turn went on, waits for the next end, or a later one.
                if self._file.read().get("ended") is not False:
                    return self._wake(server)
            time.sleep(CHECK_EVERY_S)

    def _has_news(self, server: wire.RunningServer) -> bool:
        value = {**self._place, "after_cursor": self._cursor, "timeout_s": SLICE_S}
        answer = server.ask(_WAIT, value, wire.Deadline(SLICE_S + 10.0))
        self._cursor = _cursor_in(answer)
        return bool(text.items(answer.get("messages"), 1))

    def _rest(self) -> None:
        """Two agents that wake each other do it at most so often."""
        woken_at = self._file.read().get("woken_at")
        if isinstance(woken_at, (int, float)) and (since_s := time.time() - woken_at) >= 0:
            time.sleep(max(0.0, self._settings.interval_s - since_s))

    def _wake(self, server: wire.RunningServer) -> bool:
        """Look again: the server decides what is still to be told, and gives it to this session alone, once."""
        entry = [os.getpid(), time.time()]
        self._file.change(lambda state: begin_asking(state, entry))
        try:
            answer = self._ask(server)
        except (wire.NoAnswer, wire.Refused) as failed:
            is_lost = not (isinstance(failed, wire.Refused) and failed.is_lasting)
            self._file.change(lambda state: end_asking(state, entry, is_lost=is_lost))
            raise
        has_mail = bool(text.items(answer.get("messages"), 1))
        self.has_told = has_mail and write_words(_STDERR, self._lines(answer))
        if not self.has_told:
            self._file.change(lambda state: end_asking(state, entry, is_lost=has_mail))
            return False
        self._file.change(lambda state: self._note(state, entry, text.whole(answer.get("unread"))))
        claim = answer.get("claim")
        if isinstance(claim, str):
            try:
                told = {**self._place, "session": self._session, "claim": claim}
                server.ask(wire.HOOK_TOLD, told, wire.Deadline(5.0))
            except (wire.NoAnswer, wire.Refused):
                return True  # Told, and not confirmed: it counts as unread like all other mail.
        return True

    def _ask(self, server: wire.RunningServer) -> dict[str, Json]:
        value = {**self._place, "session": self._session, "client": self._client, "event": "idle", "least": "any"}
        value |= {"limit": text.MAX_ITEMS, "stop": False, "can_refuse": self._can_refuse, "reprime": False}
        answer = server.ask(wire.HOOK_EVENT, value, wire.Deadline(5.0))
        if not isinstance(answer, dict):
            raise wire.NoAnswer(wire.STRANGER)
        return answer

    def _lines(self, answer: dict[str, Json]) -> str:
        return text.fit(text.mail_lines(self.agent or "", answer, project=self._place["project_key"])) + "\n"

    def _note(self, state: dict[str, Json], entry: list[Json], unread: int) -> None:
        """What was told has the count in it."""
        end_asking(state, entry)
        state.update(woken_at=time.time(), said=unread, must=False)

    def _is_wanted(self) -> bool:
        """Is this the session's watcher still, in its time; is no turn under way, and is somebody there to read?"""
        if time.monotonic() >= self._until:
            return False
        state = self._file.read()
        # Another time than at the start, not a later one: clocks are set back.
        is_idle = state.get("turned") == self._turned
        return (
            state.get("watcher") == self._key and is_idle and os.getppid() == self._parent and not _is_broken(_STDERR)
        )

    def _end_when_over(self) -> None:
        """On a thread: whoever waits for the server does not look. It ends the process, but never between a claim and
        its words.
        """
        while True:
            time.sleep(CHECK_EVERY_S)
            with self._is_waking:
                if self.has_told:
                    return  # The words count by the code that it is about to end with.
                if not self._is_wanted():
                    os._exit(SLEPT)


def _cursor_in(answer: Json) -> int:
    try:
        return int(answer["next_cursor"])
    except (KeyError, TypeError, ValueError):
        raise wire.NoAnswer(wire.STRANGER) from None


def _is_broken(descriptor: int) -> bool:
    """Has whoever reads the pipe gone?"""
    looked = select.poll()
    looked.register(descriptor, 0)
    return any(happened & (select.POLLERR | select.POLLNVAL) for _, happened in looked.poll(0))
