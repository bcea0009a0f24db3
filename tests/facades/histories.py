"""Random histories over all doors: the same seed plays the same steps. A model says what each step may give."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mcp_agent_mail.domain.identity.names import has_names_form
from tests.facades.correspondents import (
    AgentMail,
    Claims,
    ClaudeMailbox,
    Correspondent,
    Mail,
    Native,
    Postal,
    Server,
    Taker,
    begin,
    come,
    correspondents,
)
from tests.served import Served

_SEND, _TAKE, _TAKE_NATIVELY, _RACE, _RETRY = "send", "take", "take natively", "race", "retry"
_RESTART, _KILL = "restart", "kill"
_WEIGHTS = {_SEND: 100, _TAKE: 70, _TAKE_NATIVELY: 10, _RACE: 10, _RETRY: 10}
_ENDS = {_RESTART: 0.6, _KILL: 0.4}
"""A server is stopped or killed in so many of a hundred steps."""


class _Given:
    """What was taken already, in the order in which it waited: who was first of two at once, nobody knows."""

    def __init__(self, mail: list[Mail], waits: list[str]) -> None:
        self._mail = sorted(mail, key=lambda one: waits.index(one.text) if one.text in waits else -1)

    def take(self) -> list[Mail]:
        return self._mail


@dataclass
class History:
    """`waiting` is what nobody has consumed, by its recipient's name, oldest first, each there once. `unmarked` was
    given since the last write that is known to be on disk, so that a kill may have come before its mark: then it is
    `maybe_again`, and is given once more before anything newer. `doubled` counts what was.
    """

    server: Server
    people: list[Correspondent]
    chance: random.Random
    waiting: dict[str, list[str]]
    steps: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    consumed: int = 0
    doubled: int = 0
    unmarked: dict[str, set[str]] = field(default_factory=dict)
    maybe_again: dict[str, set[str]] = field(default_factory=dict)
    retried: tuple[Postal, str, str, str] | None = None

    def go_on(self, length: int) -> None:
        """So many steps, with a kill and a stop among them at least, then everybody takes what is left."""
        for number in range(length):
            if number == length // 2:
                self._ends(_KILL)
            if number == length * 3 // 4:
                self._ends(_RESTART)
            self._step()
        for person in self.people:
            while self._takes(person, person.name):
                pass
        assert {name: mail for name, mail in self.waiting.items() if mail} == {}
        assert self.consumed == self.sent

    def _step(self) -> None:
        kinds = {**_WEIGHTS, **{kind: share * sum(_WEIGHTS.values()) / 100 for kind, share in _ENDS.items()}}
        (kind,) = self.chance.choices(list(kinds), list(kinds.values()))
        self.steps[kind] += 1
        person = self.chance.choice(self.people)
        if kind == _SEND:
            self._sends(person)
        elif kind == _TAKE:
            self._takes(person, person.name)
        elif kind == _TAKE_NATIVELY:
            if has_names_form(person.name):
                self._takes(Native(self.server, person.name), person.name)
        elif kind == _RACE:
            self._race(person)
        elif kind == _RETRY:
            self._retries()
        else:
            self._ends(kind)

    def _sends(self, sender: Correspondent) -> None:
        to = self.chance.choice(self.people)
        self.sent += 1
        text = f"letter {self.sent}\n\n{sender.way} for {to.way}"
        if isinstance(sender, Postal):
            # To oneself the same id is, once the letter was taken, that of an answer to it: a letter more.
            self.retried = None if to is sender else (sender, to.name, text, f"m-{self.sent}")
            sender.send(to.name, text, f"m-{self.sent}")
        else:
            sender.send(to.name, text)
        self.waiting[to.name].append(text)
        self.unmarked.clear()

    def _retries(self) -> None:
        """The last letter by postal again, with its id: still one message."""
        if self.retried is not None:
            sender, to, text, number = self.retried
            sender.send(to, text, number)

    def _takes(self, reader: Taker, name: str) -> bool:
        """What it is given is the oldest of what waits, and never anything else."""
        given, waits = [mail.text for mail in reader.take()], self.waiting[name]
        doubtful = self.maybe_again.setdefault(name, set())
        again = [text for text in given if text in doubtful]
        self.doubled += len(again)
        self.unmarked.setdefault(name, set()).update(given)
        given = [text for text in given if text not in again]
        assert given == waits[: len(given)], (reader, given, waits)
        assert given or again or not waits, f"{name} has {len(waits)} letters and is given none"
        del waits[: len(given)]
        self.consumed += len(given)
        doubtful.difference_update(doubtful.copy() if given else again)
        return bool(given or again)

    def _race(self, reader: Correspondent) -> None:
        """Two by one door at once: together they are given the oldest, and nothing twice."""
        if isinstance(reader, Native | Claims):
            return
        with ThreadPoolExecutor(2) as threads:
            both = [running.result() for running in [threads.submit(reader.take) for _ in range(2)]]
        self._takes(_Given([mail for given in both for mail in given], self.waiting[reader.name]), reader.name)

    def _ends(self, kind: str) -> None:
        """What was being given as it was killed may be given again, and nothing else."""
        self.steps[f"{kind}s"] += 1
        if kind == _KILL:
            self.server.served.kill()
            for name, given in self.unmarked.items():
                self.maybe_again.setdefault(name, set()).update(given)
        else:
            self.server.served.stop()
        self.unmarked.clear()
        self.server.served.start()


@contextmanager
def played(root: Path, seed: int, length: int) -> Iterator[tuple[History, Served]]:
    """A history that has ended; its server stands, and all is in Git."""
    with begin(root) as served:
        server = Server(served, str(root / "work"))
        people = [
            *correspondents(server),
            AgentMail(server, "ann"),
            Postal(server, "quinn"),
            ClaudeMailbox(server, "Dôra"),
        ]
        for person in people:
            come(person)
        chance = random.Random(seed)
        history = History(server=server, people=people, chance=chance, waiting={one.name: [] for one in people})
        history.go_on(length)
        served.await_drained()
        yield history, served
