"""A mailbox at a door, whose server is killed over and over while somebody takes its mail away.

What a client was answered in full it has had. What it was told to be there comes, sooner or later, and once: twice may
come only the last answer that a client had before a kill, which had been written and not yet been marked. What was sent
without an answer may come or not, and once.
"""

from __future__ import annotations

import http.client
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_agent_mail.core.failpoints import FailPoint
from tests.crash.launched import LaunchedServer
from tests.crash.pop_doors import PopDoor

READERS = 2
SENT_EACH_ROUND = 6
_AT_MOST_S = 0.12
_COMMITS = 6
"""Of the first so many after it was armed a server dies at any."""


@dataclass
class Taken:
    """What clients have had, in order, and what each had last before a kill."""

    promised: list[str] = field(default_factory=list)
    had: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    """Sent without an answer: sent again under the same id, where the door knows ids."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def lost(self) -> list[str]:
        return sorted(set(self.promised) - set(self.had))

    def twice(self) -> Counter[str]:
        """How often each has come beyond the first time."""
        return Counter({body: count - 1 for body, count in Counter(self.had).items() if count > 1})

    def wrongly_twice(self) -> Counter[str]:
        return self.twice() - Counter(self.last)


@dataclass(frozen=True)
class PopKill:
    """`doom`: where in the server it is, by chance. Else `die` kills it while clients are at work."""

    name: str
    point: FailPoint | None = None

    def doom(self, chance: random.Random) -> dict[str, tuple[FailPoint, int]]:
        return {} if self.point is None else {"server": (self.point, chance.randint(1, _COMMITS))}


AT_ONCE = PopKill("at the answer")
"""By a client that has just had one: before it is marked, or after."""
AT_RANDOM = PopKill("at random")
BEFORE_COMMIT = PopKill("before a commit", FailPoint.BEFORE_COMMIT)
AFTER_COMMIT = PopKill("between pop and answer", FailPoint.AFTER_COMMIT)
KILLS = (AT_ONCE, AT_RANDOM, BEFORE_COMMIT, AFTER_COMMIT)


@dataclass(frozen=True)
class Outlived:
    taken: Taken
    twice_by_kill: Counter[str]
    kills: int

    def __str__(self) -> str:
        twice = ", ".join(f"{name} {count}" for name, count in sorted(self.twice_by_kill.items())) or "none"
        return (
            f"{self.kills} kills, {len(self.taken.promised)} messages, {len(self.taken.lost())} lost, "
            f"{self.taken.twice().total()} given twice ({twice})"
        )


@dataclass(frozen=True)
class PopStore:
    """A store whose server is killed, and the door that it is asked through."""

    server: LaunchedServer
    door: PopDoor
    taken: Taken


def outlive(root: Path, door: PopDoor, kills: Sequence[PopKill], seed: int) -> Outlived:
    """So many kills of one store's server; afterwards all that is left is taken."""
    chance, taken = random.Random(seed), Taken()
    server = LaunchedServer(root, settings=door.settings)
    store = PopStore(server, door, taken)
    by_kill: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    try:
        for number, kill in enumerate(kills):
            server.doom(**kill.doom(chance))
            server.start()
            _send(store, number)
            by_kill += _new(taken, seen, kills[number - 1].name if number else "")
            _die(store, kill, chance)
        server.doom()
        server.start()
        _send(store, len(kills), count=0)
        _take_until(store, lambda: False)
        by_kill += _new(taken, seen, kills[-1].name)
    finally:
        if server.process is not None:
            server.kill()
    return Outlived(taken, by_kill, len(kills))


def _new(taken: Taken, seen: Counter[str], name: str) -> Counter[str]:
    """What came twice since the last look, under the name of the kill that it came after."""
    new = taken.twice() - seen
    seen.update(new)
    return Counter({name: new.total()})


def _send(store: PopStore, number: int, count: int = SENT_EACH_ROUND) -> None:
    """What nobody answered for before comes first, from its own sender and under its own id."""
    taken = store.taken
    repeated = [("carol", body) for body in taken.unsure if store.door.knows_ids]
    taken.unsure.clear()
    with store.door.connect(store.server) as connection:
        for sender, body in [*repeated, *(("alice", f"{number}.{index}") for index in range(count))]:
            store.door.send(connection, sender, body)
            taken.promised.append(body)


def _die(store: PopStore, kill: PopKill, chance: random.Random) -> None:
    server = store.server
    pid = server.pid
    if kill.point is not None:
        server.arm()
        _take_until(store, lambda: False, forever=True)
        assert server.await_own_end() == -signal.SIGKILL
        return
    if kill is AT_ONCE:
        after = len(store.taken.had) + chance.randint(1, SENT_EACH_ROUND)

        def is_over() -> bool:
            if len(store.taken.had) < after:
                return False
            server.kill_at_once([pid])
            return True

        _take_until(store, is_over)
    else:
        timer = threading.Timer(chance.uniform(0, _AT_MOST_S), server.kill_at_once, ([pid],))
        timer.start()
        _take_until(store, lambda: False, forever=True)
        timer.join()
    server.await_own_end()


def _take_until(store: PopStore, is_over: Callable[[], bool], *, forever: bool = False) -> None:
    """Readers take mail until the server is gone, or `is_over` says so after one has had something; without `forever`
    until there is none. With it one more sends meanwhile.
    """
    readers = [threading.Thread(target=_read, args=(store, is_over, forever)) for _ in range(READERS)]
    if forever:
        readers.append(threading.Thread(target=_keep_sending, args=(store,)))
    for one in readers:
        one.start()
    for one in readers:
        one.join()


def _read(store: PopStore, is_over: Callable[[], bool], forever: bool) -> None:
    taken = store.taken
    last: Sequence[str] = ()
    try:
        with store.door.connect(store.server) as connection:
            while (look := store.door.look(connection)).bodies or forever:
                if not look.bodies:
                    continue
                last = look.bodies
                with taken.lock:
                    taken.had.extend(last)
                over = is_over()
                if look.settle is not None:
                    look.settle()
                    last = ()
                if over:
                    break
    except (OSError, http.client.HTTPException):
        pass
    with taken.lock:
        taken.last.extend(last)


def _keep_sending(store: PopStore) -> None:
    number, taken = 0, store.taken
    try:
        with store.door.connect(store.server) as connection:
            while True:
                body = f"{store.server.pid}.{number}"
                number += 1
                taken.unsure.append(body)
                store.door.send(connection, "carol", body)
                taken.unsure.remove(body)
                taken.promised.append(body)
    except (OSError, http.client.HTTPException):
        pass
