"""Rounds of real hooks of real sessions, each of which may be killed at every place, run twice at once, or lose its
server; and what was printed of it, held against what the server says was handed over.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.domain.presence import SessionName
from tests.clients.payloads import payload
from tests.hook_faults.gate import WITHIN_S, Fate, Gate, Passage
from tests.served import Connection, Served, pause

AGENTS = ("RedStone", "GreenField")
STRANGER = "S" + "o" * 63
"""Of another project, with a name as long as names can be: what hooks tell of it is as long as it gets."""
EVENTS = (
    "UserPromptSubmit",
    "UserPromptSubmit",
    "UserPromptSubmit",
    "Stop",
    "PostToolUse",
    "PreToolUse",
    "SessionStart",
)
_PROGRAM = {"program": "tests", "model": "none"}
_PIPE_BYTES = 4_096
_JUNK = b"." * _PIPE_BYTES
_WRITES = re.compile(r"\d+ 0x1 ")
_ITEM = re.compile(r"#(\d+) from [^,\n]+, (?:un)?verified, ")
_STOP = re.compile(r"message #(\d+), urgent")
_COUNT = re.compile(r"\((\d+) unread\)|has (\d+) unread message|you are \S+, (\d+) unread")
SESSIONS_EACH = 3
WATCHED = 0.06
"""Of so many rounds one is a watcher's: it begins its look a second after its start."""
_FATES_OF_WATCHERS = (Fate.NONE, Fate.NONE, *(fate for fate in Fate if fate is not Fate.KILLED_IN_PRINT))
KILLS_OF_SERVER = 100
"""Of so many rounds one kills the server itself."""


@dataclass(slots=True)
class ClientSession:
    """One session of a client, and what its hooks have printed. `flushed` is what came out of a whole print; `counted`
    what was unread when a count was printed.
    """

    agent: str
    name: str
    seen: Counter[int] = field(default_factory=Counter)
    flushed: set[int] = field(default_factory=set)
    counted: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What one hook has printed, and how it went."""

    text: str
    code: int
    passage: Passage

    @property
    def is_clean(self) -> bool:
        """It had its answer, printed, and confirmed what it was given."""
        answer = self.passage.answer
        is_answered = self.passage.is_passed and isinstance(answer, dict) and "unread" in answer
        return self.code == 0 and is_answered and (answer["claim"] is None or self.passage.is_confirmed)


class Rounds:
    """Over a server at `root`, whose hooks go through a gate. `faults` is what must not be, `done` what was tried."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root.resolve()
        self.chance = random.Random(seed)
        self.faults: list[str] = []
        self.done: Counter[str] = Counter()
        self.served = Served(self.root / "store", CONTACT_ENFORCEMENT_ENABLED="false")
        self.sessions: list[ClientSession] = []
        self.handed = 0
        self._flushed: set[tuple[str, int]] = set()
        self._names = 0

    @property
    def elsewhere(self) -> Path:
        return self.root / "another-project-whose-name-is-long-enough-to-take-much-of-what-a-hook-may-say"

    @property
    def code(self) -> Path:
        return self.root / "code"

    def play(self, count: int) -> None:
        """So many rounds, and at the end one clean event of each session."""
        (self.code / ".git" / "objects").mkdir(parents=True)
        with self.served, Gate(self.served.port) as gate:
            self._gate = gate
            with self.served.connect() as call:
                for project, names in ((self.code, ("BlueLake", *AGENTS)), (self.elsewhere, (STRANGER,))):
                    call.call("ensure_project", human_key=str(project))
                    for name in names:
                        call.call("register_agent", project_key=str(project), name=name, **_PROGRAM)
            self._open_sessions()
            for number in range(count):
                self.round(number)
                if self.faults:
                    return
            for session in self.sessions:
                self._clean_event(session)
            self._check_handed()

    def round(self, number: int) -> None:
        with self.served.connect() as call:
            self._mail(call)
        session = self.chance.choice(self.sessions)
        if number % KILLS_OF_SERVER == KILLS_OF_SERVER - 1:
            self._kill_server(session)
        elif (chance := self.chance.random()) < 0.15:
            self._two_at_once(session)
        elif chance > 1 - WATCHED:
            self._watch(session)
        else:
            fate = self.chance.choice((Fate.NONE, Fate.NONE, *Fate))
            self._one(session, self.chance.choice(EVENTS), fate)
        self._check_handed()
        if self.chance.random() < 0.03:
            self._clean_event(session)
            self.sessions.remove(session)
            self._open_sessions()

    # --- Mail ---

    def _mail(self, call: Connection) -> None:
        who = {"project_key": str(self.code)}
        if self.chance.random() < 0.8:
            importance = self.chance.choice(("low", "normal", "normal", "high", "urgent"))
            topic = {"topic": "stop"} if importance == "urgent" and self.chance.random() < 0.4 else {}
            size = self.chance.choice((10, 10, 512))
            by: dict[str, Any] = {**who, "sender_name": "BlueLake", "to": [self.chance.choice(AGENTS)]}
            if self.chance.random() < 0.4:
                to = f"{self.chance.choice(AGENTS)}@{self.code}"
                by = {"project_key": str(self.elsewhere), "sender_name": STRANGER, "to": [to]}
            letter = {"subject": "S" * size, "body_md": "b" * size, "ack_required": size > 10}
            call.call("send_message", **by, **letter, **topic, importance=importance)
        if self.chance.random() < 0.3:
            agent = self.chance.choice(AGENTS)
            unread = sorted(self._unread(agent))
            if unread:
                some = self.chance.sample(unread, min(len(unread), 3))
                if self.chance.random() < 0.8:
                    call.call("mark_message_read", **who, agent_name=agent, message_ids=some)
                else:
                    for project, sender in ((self.code, "BlueLake"), (self.elsewhere, STRANGER)):
                        by_one = {"project_key": str(project), "sender_name": sender}
                        call.rpc("withdraw_message", {**by_one, "message_id": some[0]})

    def _rows(self, sql: str, *values: object) -> list[tuple[int, ...]]:
        with closing(sqlite3.connect(f"file:{self.served.database}?mode=ro", uri=True)) as connection:
            return connection.execute(sql, values).fetchall()

    def _unread(self, agent: str) -> set[int]:
        sql = """SELECT r.message_id FROM recipients r JOIN agents a ON a.id = r.agent_id
                 WHERE a.name = ? AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL"""
        return {number for (number,) in self._rows(sql, agent)}

    def _waiting_stops(self, session: ClientSession) -> set[int]:
        """What is to refuse the session's next tool call, and was given to no hook of it: no other event tells it."""
        sql = """SELECT r.message_id FROM recipients r JOIN agents a ON a.id = r.agent_id
                 JOIN messages m ON m.id = r.message_id
                 WHERE a.name = ? AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL AND m.importance = 'urgent'
                 AND r.topic_key = 'stop' AND m.project_id = a.project_id AND NOT EXISTS (
                     SELECT 1 FROM announcements g JOIN hook_sessions h ON h.id = g.session_id
                     WHERE g.message_id = r.message_id AND h.session_hash = ?)"""
        name = SessionName(f"claude-{session.name}", is_proven=False)  # The hooks bring no token.
        return {number for (number,) in self._rows(sql, session.agent, name.hash)}

    # --- Hooks ---

    def _open_sessions(self) -> None:
        for agent in AGENTS:
            while sum(one.agent == agent for one in self.sessions) < SESSIONS_EACH:
                self._names += 1
                self.sessions.append(ClientSession(agent, f"s{self._names}"))

    def _one(self, session: ClientSession, event: str, fate: Fate) -> Ran:
        passage = Passage(fate, self.chance.uniform(0, 0.006))
        self._gate.expect(f"claude-{session.name}", [passage])
        ran = self._run(session, event, passage)
        self._gate.settle()
        self.done[fate.value] += 1
        self._note(session, event, ran)
        return ran

    def _two_at_once(self, session: ClientSession) -> None:
        passages = [Passage(), Passage()]
        self._gate.expect(f"claude-{session.name}", passages)
        ran: list[Ran] = []
        threads = [
            threading.Thread(target=lambda one=one: ran.append(self._run(session, "UserPromptSubmit", one)))
            for one in passages
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._gate.settle()
        self.done["two at once"] += 1
        for one in ran:
            self._note(session, "UserPromptSubmit", one, is_alone=False)

    def _watch(self, session: ClientSession) -> None:
        """The turn has ended; a watcher is killed some time after it has asked, if it has not woken anybody by then."""
        self._one(session, "Stop", Fate.NONE)
        passage = Passage(self.chance.choice(_FATES_OF_WATCHERS), self.chance.uniform(0, 0.006))
        self._gate.expect(f"claude-{session.name}", [passage])
        process = self._started(["Stop", "--wake"], session, passage, err=subprocess.PIPE)
        assert process.stdin is not None
        with process.stdin:
            process.stdin.write(json.dumps(payload("claude", "Stop", str(self.code), session_id=session.name)).encode())
        # Where its hook went on with the turn, or nobody could note that it ended, it does not ask.
        passage.is_over.wait(5.0)
        with suppress(subprocess.TimeoutExpired):
            process.wait(self.chance.uniform(0, 1.5))
        process.kill()
        assert process.stderr is not None
        with process.stderr:
            text = process.stderr.read().decode()
        process.wait(WITHIN_S)
        self._gate.settle()
        self.done[f"watcher, {passage.fate.value}"] += 1
        self.done["told by a watcher"] += len(_ITEM.findall(text))
        self._note_words(session, text)

    def _kill_server(self, session: ClientSession) -> None:
        """While a hook is at work."""
        passage = Passage()
        self._gate.expect(f"claude-{session.name}", [passage])
        ran: list[Ran] = []
        thread = threading.Thread(target=lambda: ran.append(self._run(session, "UserPromptSubmit", passage)))
        thread.start()
        threading.Event().wait(self.chance.uniform(0.02, 0.2))
        self.served.kill()
        thread.join()
        self._gate.settle()
        self.served.start()
        self._gate.server_port = self.served.port
        self.done["server killed"] += 1
        self._note(session, "UserPromptSubmit", ran[0], is_alone=False)

    def _run(self, session: ClientSession, event: str, passage: Passage) -> Ran:
        told = payload("claude", event, str(self.code), session_id=session.name)
        reading, writing = os.pipe()
        is_blocked = passage.fate is Fate.KILLED_IN_PRINT
        if is_blocked:
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            os.write(writing, _JUNK)
        process = self._started([event], session, passage, out=writing)
        os.close(writing)
        assert process.stdin is not None
        with process.stdin:
            process.stdin.write(json.dumps(told).encode())
        if is_blocked:
            self._kill_in_print(process)
        with os.fdopen(reading, "rb") as output:
            text = output.read().removeprefix(_JUNK if is_blocked else b"").decode()
        return Ran(text=text, code=process.wait(WITHIN_S), passage=passage)

    def _started(
        self,
        event: list[str],
        session: ClientSession,
        passage: Passage,
        *,
        out: int | None = None,
        err: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        environment = {
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            "HOME": str(self.root / "home"),
            "AGENT_NAME": session.agent,
            "AGENT_MAIL_PROJECT": str(self.code),
            # A watcher need not rest.
            **({"AGENT_MAIL_INTERVAL": "0"} if "--wake" in event else {}),
            "AGENT_MAIL_URL": f"http://127.0.0.1:{self._gate.port}",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "mcp_agent_mail", "hook", "claude", *event],
            cwd=self.code, env=environment, stdin=subprocess.PIPE, stdout=out, stderr=err,
        )  # fmt: skip
        passage.process = process
        passage.has_begun.set()
        return process

    def _kill_in_print(self, process: subprocess.Popen[bytes]) -> None:
        """Once it stands in its write of standard output, or has ended without one."""
        deadline = time.monotonic() + WITHIN_S
        while process.poll() is None and time.monotonic() < deadline:
            try:
                if _WRITES.match(Path(f"/proc/{process.pid}/syscall").read_text()):
                    process.kill()
                    self.done["killed while it wrote"] += 1
                    return
            except OSError:
                return
            pause()

    # --- What must not be ---

    def _note(self, session: ClientSession, event: str, ran: Ran, *, is_alone: bool = True) -> None:
        if ran.code != 0 and not ran.passage.fate.name.startswith("KILLED"):
            self.faults.append(f"{session.name}, {event}: ended with {ran.code}")
        words, unread = self._note_words(session, ran.text), self._unread(session.agent)
        if is_alone and event == "UserPromptSubmit" and ran.is_clean:
            self.done["clean"] += 1
            if lost := unread - session.flushed - session.counted - self._waiting_stops(session):
                self.faults.append(f"{session.name}: {sorted(lost)} neither told nor counted: {words!r}")

    def _note_words(self, session: ClientSession, text: str) -> str:
        words = _injected(text)
        self._note_told(session, [int(one) for one in (*_ITEM.findall(words), *_STOP.findall(words))])
        unread = self._unread(session.agent)
        if str(len(unread)) in {one for groups in _COUNT.findall(words) for one in groups}:
            session.counted |= unread
        return words

    def _note_told(self, session: ClientSession, ids: list[int]) -> None:
        session.seen.update(ids)
        if twice := [one for one, count in session.seen.items() if count > 1]:
            self.faults.append(f"{session.name} was told {twice} twice")
        session.flushed |= set(ids)
        self._flushed |= {(session.agent, one) for one in ids}
        self.done["told"] += len(ids)

    def _clean_event(self, session: ClientSession) -> None:
        """As often as it takes, a busy machine may be late; and calls of tools, until no stop waits any more: so many
        are refused, and then they are items after a tool.
        """
        if not any(self._one(session, "UserPromptSubmit", Fate.NONE).is_clean for _ in range(20)):
            self.faults.append(f"{session.name} had no clean event in 20")
        waiting = self._waiting_stops(session)
        for _ in range(20 + 2 * len(waiting)):
            if not waiting:
                return
            for event in ("PreToolUse", "PostToolUse"):
                self._one(session, event, Fate.NONE)
            waiting = self._waiting_stops(session)
        self.faults.append(f"{session.name}: {sorted(waiting)} refused no tool call, and are no items")

    def _check_handed(self) -> None:
        sql = """SELECT r.agent_id, r.message_id, a.name FROM recipients r JOIN agents a ON a.id = r.agent_id
                 WHERE r.handed_ts IS NOT NULL"""
        handed = {(str(name), int(number)) for _, number, name in self._rows(sql)}
        self.handed = len(handed)
        if unprinted := handed - self._flushed:
            self.faults.append(f"handed over and not printed: {sorted(unprinted)}")


def _injected(text: str) -> str:
    """What a client puts before its model of what was printed, or shows it as a reason."""
    try:
        printed = json.loads(text)
    except ValueError:
        return text
    found: list[str] = []
    rest = [printed]
    while rest:
        one = rest.pop()
        if isinstance(one, dict):
            rest += one.values()
        elif isinstance(one, list):
            rest += one
        elif isinstance(one, str):
            found.append(one)
    return "\n".join(found)
