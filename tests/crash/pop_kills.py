"""A mailbox at a door, whose server is killed over and over while somebody takes its mail away.

What a client was answered in full it has had. What it was told to be there comes, sooner or later, and once: twice may
come only the last answer that a client had before a kill, which had been written and not yet been marked.
"""

from __future__ import annotations

import http.client
import json
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.failpoints import FailPoint
from tests.crash.launched import LaunchedServer
from tests.served import Connection

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
    """Sent without an answer: sent again under the same id."""
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


def outlive(root: Path, kills: Sequence[PopKill], seed: int) -> Outlived:
    """So many kills of one store's server; afterwards all that is left is taken."""
    chance, taken = random.Random(seed), Taken()
    server = LaunchedServer(root, settings={"POSTAL_ENABLED": "true"})
    by_kill: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    try:
        for number, kill in enumerate(kills):
            server.doom(**kill.doom(chance))
            server.start()
            _send(server, taken, number)
            by_kill += _new(taken, seen, kills[number - 1].name if number else "")
            _die(server, taken, kill, chance)
        server.doom()
        server.start()
        _send(server, taken, len(kills), count=0)
        _take_until(server, taken, lambda _: False)
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


def _send(server: LaunchedServer, taken: Taken, number: int, count: int = SENT_EACH_ROUND) -> None:
    """What nobody answered for before comes first, from its own sender and under its own id."""
    repeated = [("carol", body) for body in taken.unsure]
    taken.unsure.clear()
    with server.connect() as connection:
        for sender, body in [*repeated, *(("alice", f"{number}.{index}") for index in range(count))]:
            assert _call(connection, sender, "send_to_agent", name="bob", msg=body, msg_id=body) == body
            taken.promised.append(body)


def _die(server: LaunchedServer, taken: Taken, kill: PopKill, chance: random.Random) -> None:
    pid = server.pid
    if kill.point is not None:
        server.arm()
        _take_until(server, taken, lambda _: False, forever=True)
        assert server.await_own_end() == -signal.SIGKILL
        return
    if kill is AT_ONCE:
        after = chance.randint(1, SENT_EACH_ROUND)

        def is_over(had: int) -> bool:
            if had == after:
                server.kill_at_once([pid])
            return had >= after

        _take_until(server, taken, is_over)
    else:
        timer = threading.Timer(chance.uniform(0, _AT_MOST_S), server.kill_at_once, ([pid],))
        timer.start()
        _take_until(server, taken, lambda _: False, forever=True)
        timer.join()
    server.await_own_end()


def _take_until(server: LaunchedServer, taken: Taken, is_over: Callable[[int], bool], *, forever: bool = False) -> None:
    """Readers take mail until the server is gone, or `is_over` says so of what one of them has had; without `forever`
    until there is none. With it one more sends meanwhile.
    """
    readers = [threading.Thread(target=_read, args=(server, taken, is_over, forever)) for _ in range(READERS)]
    if forever:
        readers.append(threading.Thread(target=_keep_sending, args=(server, taken)))
    for one in readers:
        one.start()
    for one in readers:
        one.join()


def _read(server: LaunchedServer, taken: Taken, is_over: Callable[[int], bool], forever: bool) -> None:
    had = 0
    last: str | None = None
    try:
        with server.connect() as connection:
            while (message := _call(connection, "bob", "check_mail")) is not None or forever:
                if message is None:
                    continue
                last, had = message["content"], had + 1
                over = is_over(had)
                with taken.lock:
                    taken.had.append(message["content"])
                if over:
                    break
    except (OSError, http.client.HTTPException):
        pass
    if last is not None:
        with taken.lock:
            taken.last.append(last)


def _keep_sending(server: LaunchedServer, taken: Taken) -> None:
    number = 0
    try:
        with server.connect() as connection:
            while True:
                body = f"{server.pid}.{number}"
                number += 1
                taken.unsure.append(body)
                assert _call(connection, "carol", "send_to_agent", name="bob", msg=body, msg_id=body) == body
                taken.unsure.remove(body)
                taken.promised.append(body)
    except (OSError, http.client.HTTPException):
        pass


# Plain JSON, as the door gives it.
def _call(connection: Connection, agent: str, tool: str, **args: str) -> Any:
    body = json.dumps({"tool": tool, "args": args}).encode()
    answer = connection.request("POST", f"/agents/{agent}/mcp/", body, {"Content-Type": "application/json"})
    if answer.status != http.client.OK:
        raise ConnectionError(f"{answer.status} {answer.value!r:.200}")
    return answer.value
