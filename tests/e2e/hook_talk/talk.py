"""A conversation of three agents in three clients, as their hooks see it: a script says who sends what at which instant
of whose turn, real `am hook` processes say what each client is told, and each contract at which event that must be.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.clients.contracts.reader import read_contract
from mcp_agent_mail.domain.hooks.announcements import MAX_STOPS
from tests.clients.payloads import payload
from tests.served import Served

TURNS = 100
RANKS = {"urgent": 0, "high": 1, "normal": 2, "low": 2}
_TELLS = {"urgent": 0, "high": 1, "any": 2}
_WITHIN_S = 30.0
_ITEM = re.compile(r"#(\d+) from [^,\n]+, (?:un)?verified, ")
_STOP = re.compile(r"message #(\d+), urgent")
_PROGRAM = {"program": "tests", "model": "none"}
_REPRIMED = "Agent mail: you are "
MAX_ITEMS = 3
MAX_REPRIMED_ITEMS = 1
"""Beside words of who the agent is there is room for one; the others wait for the next slot of theirs."""

Tokens = Callable[[str], int]
Payload = dict[str, Any]
Hook = Callable[[str, str, Payload, Mapping[str, str]], str]
"""Runs the hook of a client at an event, with its payload and its environment; what it prints."""

LATE_S = 0.3
"""A hook of a process of its own that took longer may have had no answer of the server in time, which is no fault."""


class TooBusy(Exception):
    """The machine is: what was told late says nothing of what is told when."""


def real_hook(client: str, event: str, told: Payload, environ: Mapping[str, str]) -> str:
    """`am hook` as a client runs it."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", "hook", client, event],
        cwd=told["cwd"],
        env={**kept, **environ},
        input=json.dumps(told).encode(),
        capture_output=True,
        check=True,
        timeout=_WITHIN_S,
    )
    return done.stdout.decode()


@dataclass(slots=True, kw_only=True)
class _Letter:
    id: int
    rank: int
    is_stop: bool


@dataclass(slots=True, kw_only=True)
class Talker:
    """An agent, the names of its client's events by their moments, and its mail that was not told yet, oldest first."""

    client: str
    name: str
    events: dict[str, str]
    waiting: list[_Letter] = field(default_factory=list)
    told: list[int] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    stops: int = 0

    def tells(self, moment: str) -> int:
        """The lowest rank that is told at the event of this moment; -1 for none."""
        level = read_contract(self.client)["events"][self.events[moment]]["tells"]
        return -1 if level is None else _TELLS[level]

    def can(self, moment: str, what: str) -> bool:
        return what in read_contract(self.client)["events"][self.events[moment]]["can"]


@dataclass(slots=True, kw_only=True)
class Turn:
    """What one turn was told. `tokens` are those of all that was injected, with a re-prime at its start or without."""

    number: int
    talker: str
    has_mail: bool
    is_reprimed: bool
    tokens: int = 0
    texts: list[str] = field(default_factory=list)


class Talk:
    """Over a server at `root`. `faults` is what was told at another event than its slot, twice, or not at all."""

    def __init__(self, root: Path, seed: int, tokens: Tokens, hook: Hook = real_hook) -> None:
        self.root = root.resolve()
        self._hook = hook
        self.chance = random.Random(seed)
        self.tokens = tokens
        self.faults: list[str] = []
        self.turns: list[Turn] = []
        self.slots: Counter[str] = Counter()
        self.events = 0
        self.served = Served(self.root / "store")
        self.talkers = [
            Talker(client="claude", name="BlueLake", events=_moments("claude")),
            Talker(client="codex", name="RedStone", events=_moments("codex")),
            Talker(client="gemini", name="GreenField", events=_moments("gemini")),
        ]

    @property
    def code(self) -> Path:
        return self.root / "code"

    def play(self, turns: int = TURNS) -> None:
        (self.code / ".git" / "objects").mkdir(parents=True)
        with self.served, self.served.connect() as call:
            self._call = call
            call.call("ensure_project", human_key=str(self.code))
            for one in self.talkers:
                call.call("register_agent", project_key=str(self.code), name=one.name, **_PROGRAM)
            for number in range(turns):
                self._turn(number, self.talkers[number % len(self.talkers)])
            for one in self.talkers:
                # Whatever is left comes with the next turns.
                while one.waiting and not self.faults:
                    self._turn(len(self.turns), one)

    # --- One turn ---

    def _turn(self, number: int, talker: Talker) -> None:
        is_first = number < len(self.talkers)
        has_mail = bool(talker.waiting)
        turn = Turn(number=number, talker=talker.name, has_mail=has_mail, is_reprimed=is_first)
        self.turns.append(turn)
        if is_first:
            self._event(turn, talker, "start")
        elif self.chance.random() < 0.08:
            turn.is_reprimed = True
            self._compact(turn, talker)
        self._event(turn, talker, "turn")
        for _ in range(self.chance.randint(1, 3)):
            self._tool(turn, talker)
        self._somebody_writes(turn, talker)
        is_continued = False
        while self._event(turn, talker, "turn_end", stop_hook_active=is_continued) and not self.faults:
            is_continued = True
            self._tool(turn, talker)
        self._read(talker)
        self._write_to_others(talker)

    def _tool(self, turn: Turn, talker: Talker) -> None:
        if self._event(turn, talker, "before_tool"):
            return  # The call was refused.
        self._somebody_writes(turn, talker)
        self._event(turn, talker, "after_tool")

    def _compact(self, turn: Turn, talker: Talker) -> None:
        if "compact" in talker.events:
            self._event(turn, talker, "compact")
        else:
            self._event(turn, talker, "start", source="compact")

    # --- Mail ---

    def _somebody_writes(self, turn: Turn, to: Talker) -> None:
        """To whoever is in its turn."""
        if self.chance.random() < 0.12 and len(to.waiting) < MAX_ITEMS:
            sender = self.chance.choice([one for one in self.talkers if one is not to])
            self._send(sender, to, self.chance.choice(("urgent", "urgent", "high", "normal")))
            turn.has_mail = True

    def _write_to_others(self, sender: Talker) -> None:
        for to in self.talkers:
            if to is not sender and self.chance.random() < 0.3 and len(to.waiting) < MAX_ITEMS:
                self._send(sender, to, self.chance.choice(("low", "normal", "normal", "high", "urgent")))

    def _send(self, sender: Talker, to: Talker, importance: str) -> None:
        is_stop = importance == "urgent" and self.chance.random() < 0.25 and to.stops < MAX_STOPS
        to.stops += is_stop
        number = len(self.turns)
        sent = self._call.call(
            "send_message",
            project_key=str(self.code),
            sender_name=sender.name,
            to=[to.name],
            subject=f"Turn {number}: the parser of dates and its callers",
            body_md=f"I changed parse_date in core/dates.py in turn {number}. Please look at your callers.\n\nDetails.",
            importance=importance,
            **({"topic": "stop"} if is_stop else {}),
        )
        message_id = sent["deliveries"][0]["payload"]["id"]
        to.waiting.append(_Letter(id=message_id, rank=RANKS[importance], is_stop=is_stop))
        to.unread.append(message_id)

    def _read(self, talker: Talker) -> None:
        """What it was told of it has read by the end of its turn."""
        read = [one for one in talker.unread if one in talker.told]
        if read:
            who = {"project_key": str(self.code), "agent_name": talker.name}
            self._call.call("mark_message_read", **who, message_ids=read)
            talker.unread = [one for one in talker.unread if one not in read]

    # --- One event ---

    def _event(self, turn: Turn, talker: Talker, moment: str, **more: Any) -> bool:
        """Whether anything of mail was told: a turn's end goes on then, a tool call is refused."""
        event = talker.events[moment]
        words = self._injected(talker, event, {"session_id": f"{talker.client}-of-the-talk", **more})
        # Whether it is one rests on the clock too: two starts within three seconds are one.
        wanted = self._due(talker, moment, MAX_REPRIMED_ITEMS if _REPRIMED in words else MAX_ITEMS)
        found = [int(one) for one in (*_ITEM.findall(words), *_STOP.findall(words))]
        what = f"turn {turn.number} of {talker.name}, {event}"
        self._judge(what, found, [one.id for one in wanted], words)
        # A stop that waits for the next call of a tool counts as unread meanwhile.
        is_counted = moment == "turn" and any(one.is_stop for one in talker.waiting)
        if words and not found and not is_counted and not (turn.is_reprimed and moment in ("start", "turn")):
            self.faults.append(f"{what}: {words!r} without mail")
        if again := set(found) & set(talker.told):
            self.faults.append(f"{what}: told {again} again")
        talker.told += found
        talker.waiting = [one for one in talker.waiting if one not in wanted]
        self.slots[f"{talker.client} {event}"] += len(found)
        if words:
            turn.texts.append(words)
            turn.tokens += self.tokens(words)
        return bool(found)

    def _judge(self, what: str, found: list[int], due: list[int], words: str) -> None:
        if found == due:
            return
        if self._took_s > LATE_S and self._hook is real_hook:
            raise TooBusy(f"a hook took {self._took_s:.2f} s")
        self.faults.append(f"{what}: told {found}, due {due}: {words!r}")

    def _due(self, talker: Talker, moment: str, most: int) -> list[_Letter]:
        """By the contract, and by what waits: the most important first, then the oldest."""
        if moment == "before_tool":
            stops = [one for one in talker.waiting if one.is_stop] if talker.can(moment, "refuse") else []
            return stops[:1]
        level = talker.tells(moment)
        due = [one for one in talker.waiting if one.rank <= level]
        if talker.can("before_tool", "refuse"):
            due = [one for one in due if not one.is_stop]
        return sorted(due, key=lambda one: (one.rank, one.id))[:most]

    def _injected(self, talker: Talker, event: str, more: dict[str, Any]) -> str:
        self.events += 1
        told = payload(talker.client, event, str(self.code), **more)
        environ = {
            "HOME": str(self.root / "home"),
            "STORAGE_ROOT": str(self.root / "store"),
            "AGENT_NAME": talker.name,
            "AGENT_MAIL_PROJECT": str(self.code),
        }
        began_s = time.monotonic()
        printed = self._hook(talker.client, event, told, environ)
        self._took_s = time.monotonic() - began_s
        return _words(printed)


def _moments(client: str) -> dict[str, str]:
    """Of each moment the first event that the contract has."""
    found: dict[str, str] = {}
    for name, event in read_contract(client)["events"].items():
        found.setdefault(event["moment"], name)
    return found


def _words(printed: str) -> str:
    """All that the model is shown of what was printed: what stands behind a key whose value is prose."""
    if not printed.strip():
        return ""
    found: list[str] = []
    rest: list[Any] = [json.loads(printed)]
    while rest:
        one = rest.pop()
        if isinstance(one, dict):
            rest += [
                value for key, value in one.items() if key not in ("hookEventName", "decision", "permissionDecision")
            ]
        elif isinstance(one, str):
            found.append(one)
    return "\n".join(found)
