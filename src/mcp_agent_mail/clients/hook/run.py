"""One event of a client: who the session is, what the server says, and what is printed of it.

The server decides what is told, and notes it as given to this session. What was printed and flushed is confirmed
afterwards. A run that ends in between leaves its entry in the session's file: the next one says how much is unread.
"""

from __future__ import annotations

import os
import time

from mcp_agent_mail.clients.contracts.reader import can_refuse
from mcp_agent_mail.clients.hook import text
from mcp_agent_mail.clients.hook.environment import HookSettings
from mcp_agent_mail.clients.hook.identity import find_hook_identity, known_name, project_of_here, registered
from mcp_agent_mail.clients.hook.output import HookOutput, encode, neutral
from mcp_agent_mail.clients.hook.run_entries import asking_in, begin_asking, end_asking, is_alive, is_within, seconds
from mcp_agent_mail.clients.hook.session_file import SessionFile, plain_name, state_folder
from mcp_agent_mail.core import running_server as wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcp_agent_mail.clients.contracts.reader import Contract
    from mcp_agent_mail.clients.hook.identity import HookIdentity
    from mcp_agent_mail.clients.hook.payload import HookPayload

    # Any: JSON of the server, and our own.
    Json = Any

WIRE_EVENTS = {
    "start": "start",
    "turn": "turn",
    "before_tool": "tool",
    "after_tool": "tool",
    "turn_end": "idle",
    "compact": "tool",
    "end": "end",
    "subagent": "tool",
    "other": "tool",
}
"""What the server calls the moments of a contract."""

MAX_CONTINUED = 3
"""So often in a row a turn goes on for mail; what is new then waits for the next turn. Clients stop at 5 or 8."""

_ONE_START_S = 3.0
"""Two starts of one session within this time are one: its hook is installed twice."""

_MAX_WIRE_SESSION = 200
_WITH_MORE = 1


class Reply:
    """What is printed, and what is done once that was flushed, or could not be."""

    __slots__ = ("_run", "printed", "said")

    def __init__(self, printed: HookOutput, run: HookRun | None = None, said: dict[str, Json] | None = None) -> None:
        self.printed = printed
        self._run = run
        self.said = said

    def after(self, *, is_flushed: bool) -> None:
        if self._run is not None:
            self._run.finish(self.said, is_flushed=is_flushed)


class HookRun:
    """`event` is the contract's row of the event that the client calls `name`."""

    def __init__(
        self,
        contract: Contract,
        name: str,
        payload: HookPayload,
        environ: Mapping[str, str],
        patience: wire.Deadline | None = None,
    ) -> None:
        self._contract = contract
        self._name = name
        self._event: Contract = contract["events"][name]
        self._payload = payload
        self._environ = environ
        self._settings = HookSettings(environ)
        self._patience = patience or wire.Deadline()
        self._server: wire.RunningServer | None = None
        self._session = payload.session
        client = contract["client"]
        self._file = SessionFile(state_folder(environ), plain_name(client, self._session or ""))
        self._key = [os.getpid(), time.time()]
        self._identity: HookIdentity | None = None
        self._state: dict[str, Json] = {}
        self._missed: list[Json] = []
        self._notice: list[str] = []
        self._is_asking = False
        self._is_reprimed = False

    # --- What is asked ---

    @property
    def _moment(self) -> str:
        return str(self._event["moment"])

    @property
    def _ends_turn(self) -> bool:
        return self._moment == "turn_end" and not self._payload.is_subagents

    def _can(self, what: str) -> bool:
        return what in self._event["can"] and not self._payload.is_subagents

    def reply(self) -> Reply:
        """What the client gets. Raises nothing that is expected."""
        identity = self._find_identity()
        self._server = wire.find_server(self._settings)
        if identity.agent is None:
            identity.agent = self._of_window(identity.project)
        if self._session is None or identity.agent is None:
            return self._as_nobody(identity)
        answer = self._ask_event(identity)
        if self._moment == "end":
            self._file.forget()
        if answer is None:
            return self._without_mail(identity)
        return self._with(answer, identity)

    def _find_identity(self) -> HookIdentity:
        payload = self._payload
        folder = payload.work_folder
        self._state = self._file.read() if self._session is not None else {}
        if self._session is not None and self._moment == "after_tool" and not payload.is_subagents:
            found = registered(self._contract, payload)
            project = project_of_here(found[1], self._settings, folder, self._environ) if found is not None else None
            if found is not None and project is not None:
                self._state = self._file.change(lambda state: state.update(agent=found[0], project=project))
                self._say_which_name(found[0])
        self._identity = find_hook_identity(self._settings, self._state, folder, self._environ)
        return self._identity

    def _say_which_name(self, registered_as: str) -> None:
        named = self._settings.agent
        if named is not None and named.lower() != registered_as.lower() and self._can("inject"):
            from mcp_agent_mail.clients.hook.notices import other_name_line  # noqa: PLC0415  # for this alone

            self._notice = [other_name_line(registered_as, named)]

    def _say_why(self, refused: wire.Refused, identity: HookIdentity) -> None:
        """Where a session starts or goes by another name. Else it is silence: it would be said at every turn."""
        from mcp_agent_mail.clients.hook.notices import other_name_line, refused_lines  # noqa: PLC0415  # as above

        if self._moment == "start" and self._can("inject"):
            self._notice = refused_lines(refused, identity.agent, identity.project)
        elif self._notice and refused.kind == "NOT_FOUND":
            self._notice = [other_name_line(str(self._state.get("agent")), str(identity.agent), is_known=False)]

    def _of_window(self, project: str) -> str | None:
        """Whom registrations from this terminal window go by; the session remembers it."""
        window = self._settings.window
        if window is None or self._session is None or self._server is None:
            return None
        if (known := known_name(self._state, "window_agent")) is not None:
            return known
        from mcp_agent_mail.clients.hook.windows import find_name  # noqa: PLC0415  # for sessions without another name

        name = find_name(self._server, window, project, self._patience)
        if name is not None:
            self._state = self._file.change(lambda state: state.update(window_agent=name))
        return name

    def _as_nobody(self, identity: HookIdentity) -> Reply:
        """Silence, and the guard; but a session that starts in a project that is known hears how to register."""
        if self._moment != "start" or not self._can("inject") or self._session is None or self._server is None:
            return self._without_mail(identity)
        asked: Json = {"project": identity.project, "agent": None, "author": None, "hook": "check", "paths": []}
        try:
            self._server.ask(wire.GUARD_CHECK, asked, self._patience)
        except (wire.NoAnswer, wire.Refused) as why:
            if isinstance(why, wire.Refused) and self._settings.project is not None:
                self._say_why(why, identity)
            return self._nothing()
        from mcp_agent_mail.clients.hook.notices import nameless_lines  # noqa: PLC0415  # for this alone

        lines = nameless_lines(identity.project, is_misnamed=self._settings.is_misnamed)
        return Reply(self._told("inject", text.fit(lines)))

    def _ask_event(self, identity: HookIdentity) -> Json:
        """The server's answer to this event; None without one. What it may give is noted before it is asked."""
        self._is_reprimed = is_reprimed = self._wants_reprime()
        least = self._least()
        asks_stop = self._moment == "before_tool" and self._can("refuse") and not self._is_our_tool()
        is_noted = self._moment in ("compact", "turn") or self._ends_turn
        if least is not None or asks_stop or is_reprimed or is_noted:
            self._state = self._file.change(self._begin)
        if self._server is None:
            return None
        value = {
            **self._who(identity),
            "client": self._contract["client"],
            "event": WIRE_EVENTS[self._moment],
            "least": least,
            "limit": _WITH_MORE if is_reprimed or self._notice else text.MAX_ITEMS,
            "stop": asks_stop,
            "can_refuse": can_refuse(self._contract),
            "reprime": is_reprimed,
            "subagent": self._payload.is_subagents,
        }
        try:
            answer = self._server.ask(wire.HOOK_EVENT, value, self._patience)
        except wire.NoAnswer:
            return None
        except wire.Refused as refused:
            if refused.is_lasting:
                # Nothing was given: an unknown name or project, a token that is wrong.
                self._file.change(self._refused)
                self._is_asking = False
            self._say_why(refused, identity)
            return None
        return answer if isinstance(answer, dict) else None

    def _is_our_tool(self) -> bool:
        from mcp_agent_mail.clients.hook.our_tools import is_ours  # noqa: PLC0415  # before a tool call alone

        return is_ours(self._contract, self._payload)

    def _who(self, identity: HookIdentity) -> dict[str, Json]:
        session = plain_name(self._contract["client"], self._session or "", _MAX_WIRE_SESSION)
        return {"project_key": identity.project, "agent_name": identity.agent, "session": session}

    def _least(self) -> str | None:
        if self._payload.is_subagents or self._event["tells"] is None:
            return None
        if (
            self._moment == "turn_end"
            and self._payload.is_continued
            and text.whole(self._state.get("row")) >= MAX_CONTINUED
        ):
            return None
        least: str = self._event["tells"]
        return least

    def _wants_reprime(self) -> bool:
        if self._moment in ("turn", "after_tool") and self._can("inject") and self._state.get("owed") is True:
            return True
        if not self._can("reprime"):
            return False
        if self._moment != "start":
            return self._state.get("compacted") is True
        last = self._state.get("reprimed")
        is_same = isinstance(last, list) and last[:1] == [self._payload.start_source]
        return not (is_same and isinstance(last, list) and is_within(seconds(last[1:]), _ONE_START_S))

    def _begin(self, state: dict[str, Json]) -> None:
        """Note that we ask, and find out whether an earlier run of this session was cut off."""
        now = time.time()
        self._missed = [one for one in asking_in(state) if not is_alive(one, now)]
        begin_asking(state, self._key)
        self._is_asking = True
        if self._is_reprimed and self._moment == "start":
            state["reprimed"] = [self._payload.start_source, now]
        if self._is_reprimed:
            state["compacted"] = False
            state["owed"] = True  # Until it is printed, whatever the moment: who is killed pays nothing.
        if self._moment == "compact":
            state["compacted"] = True
        if self._moment == "turn":
            state["row"] = 0
            state["turned"] = now
        if self._moment == "turn" or self._ends_turn:
            state["ended"] = self._moment != "turn"

    # --- What is printed ---

    def _nothing(self) -> Reply:
        if self._notice:
            return Reply(self._told("inject", text.fit(self._notice)), self)
        return Reply(neutral(self._event["neutral"]), self)

    def _told(self, kind: str, words: str) -> HookOutput:
        return encode(self._event["output"], self._name, kind, words)

    def _without_mail(self, identity: HookIdentity) -> Reply:
        return self._guarded(identity, None) if self._moment == "before_tool" else self._nothing()

    def _with(self, answer: dict[str, Json], identity: HookIdentity) -> Reply:
        if self._moment == "before_tool":
            return self._guarded(identity, answer)
        if self._moment == "start" and self._is_reprimed and self._settings.is_misnamed:
            from mcp_agent_mail.clients.hook.notices import MISNAMED  # noqa: PLC0415  # for this alone

            self._notice = [MISNAMED]
        lines = self._lines(answer)
        said = {"unread": text.whole(answer.get("unread")), "claim": answer.get("claim"), "has_told": bool(lines)}
        if not lines and not self._notice:
            return Reply(neutral(self._event["neutral"]), self, said)
        kind = "inject" if "inject" in self._event["can"] else "continue"
        return Reply(self._told(kind, text.fit([*self._notice, *lines])), self, said)

    def _lines(self, answer: dict[str, Json]) -> list[str]:
        agent, project = self._agent(), self._identity.project if self._identity is not None else None
        has_mail = text.items(answer.get("messages"), 1)
        room = text.MAX_BYTES - len("\n".join([*self._notice, ""]).encode("utf-8", "replace"))
        lines = text.mail_lines(agent, answer, self._event["tells"], room, project=project) if has_mail else []
        reprimed = answer.get("reprime")
        if isinstance(reprimed, dict):
            from mcp_agent_mail.clients.hook.reprime_text import reprime_beside  # noqa: PLC0415  # at a start alone

            told = reprime_beside(reprimed, [*self._notice, *lines], agent, project, says_how=not lines)
            return [*told, *lines]
        if lines or not self._counts(text.whole(answer.get("unread"))):
            return lines
        return [text.count_line(agent, text.whole(answer.get("unread")), project)]

    def _agent(self) -> str:
        return (self._identity.agent if self._identity is not None else None) or ""

    def _counts(self, unread: int) -> bool:
        """Is the bare count worth saying here? Where all mail is told, if it changed, and not too often."""
        if self._event["tells"] != "any" or not self._can("inject") or not unread:
            return False
        if self._missed or self._state.get("must") is True:
            return True
        is_changed = unread != self._state.get("said")
        return is_changed and not is_within(seconds([self._state.get("said_at")]), self._settings.interval_s)

    def _guarded(self, identity: HookIdentity, answer: dict[str, Json] | None) -> Reply:
        """Before a tool call: a stop refuses it, else the guard may."""
        stop = answer.get("stop") if answer is not None else None
        said = {"unread": text.whole(answer.get("unread")), "claim": answer.get("claim")} if answer else None
        if isinstance(stop, dict) and "refuse" in self._event["can"]:
            words = text.fit(text.stop_lines(stop, identity.agent, identity.project))
            return Reply(self._told("refuse", words), self, said)
        return Reply(self._ask_guard(identity), self, said)

    def _ask_guard(self, identity: HookIdentity) -> HookOutput:
        from mcp_agent_mail.clients.hook.targets import targets  # noqa: PLC0415  # before a tool call alone

        nothing = neutral(self._event["neutral"])
        paths = targets(self._contract, self._name, self._payload)
        if not paths or "refuse" not in self._event["can"]:
            return nothing
        from mcp_agent_mail.clients.hook.guard import ask_guard  # noqa: PLC0415  # for edits alone

        verdict = ask_guard(paths, identity, self._environ, self._patience)
        if verdict is not None and verdict.is_refused:
            return self._told("refuse", text.fit(verdict.lines))
        lines = [] if verdict is None else verdict.lines
        if lines and "say" in self._event["can"]:
            return self._told("say", text.fit(lines))
        nothing.stderr = f"{lines[0]}\n" if lines else ""
        return nothing

    # --- Afterwards ---

    def finish(self, said: dict[str, Json] | None, *, is_flushed: bool) -> None:
        """Confirm what was printed, and note what the session has been told."""
        claim = said.get("claim") if said is not None else None
        if is_flushed and isinstance(claim, str) and self._server is not None and self._identity is not None:
            try:
                self._server.ask(wire.HOOK_TOLD, {**self._who(self._identity), "claim": claim}, self._patience)
            except (wire.NoAnswer, wire.Refused):
                claim = None  # It stays unconfirmed, and counts as unread like all other mail.
        if self._is_asking:
            self._file.change(lambda state: self._note(state, said, is_flushed=is_flushed))

    def _refused(self, state: dict[str, Json]) -> None:
        end_asking(state, self._key)
        self._owe(state)

    def _owe(self, state: dict[str, Json]) -> None:
        """What this run should have said of who the agent is, a later one says; the next start too."""
        if self._is_reprimed:
            state["owed"] = True
            if self._moment == "start":
                state.pop("reprimed", None)

    def _note(self, state: dict[str, Json], said: dict[str, Json] | None, *, is_flushed: bool) -> None:
        end_asking(state, self._key, is_lost=said is None or not is_flushed)
        if said is None or not is_flushed:
            self._owe(state)
            return
        unread = said["unread"]
        state["owed"] = state.get("owed") is True and not self._is_reprimed
        if said.get("has_told"):
            state["said"], state["said_at"], state["must"] = unread, time.time(), False
            state["asking"] = [one for one in state["asking"] if one not in self._missed]
            if self._moment == "turn_end":
                state["row"] = text.whole(state.get("row")) + 1
                state["turned"] = time.time()
                state["ended"] = False
        elif isinstance(state.get("said"), int):
            state["said"] = min(state["said"], unread)
