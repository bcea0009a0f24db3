"""A burst at the door `postal`: `python -m benchmarks.doors.burst`, see docs/reference/benchmarks.md.

Eight send and four take, two of these at each of two mailboxes, as fast as they are answered. Every tenth message is
sent twice, as a client that has lost an answer does. Each message must be taken once.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.report import Figure, publish, table
from benchmarks.stand import Stand
from benchmarks.wire import Refused, Rpc

SENDERS, READERS, MAILBOXES = 8, 4, 2
PER_SECOND = 300
_RETRIED_EVERY = 10
_WITHIN_S = 60.0


class Caller:
    """One agent: a connection of its own, and what its calls took."""

    def __init__(self, port: int, name: str) -> None:
        self.name = name
        self.calls_ms: list[float] = []
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=_WITHIN_S)

    def call(self, tool: str, **arguments: str) -> str | dict[str, str] | None:
        began = time.perf_counter_ns()
        body = json.dumps({"tool": tool, "args": arguments})
        self._http.request("POST", f"/agents/{self.name}/mcp/", body, {"Content-Type": "application/json"})
        answer = self._http.getresponse()
        text = answer.read()
        if answer.status != http.client.OK:
            raise Refused(f"{tool}: {answer.status} {text[:300]!r}")
        self.calls_ms.append((time.perf_counter_ns() - began) / 1e6)
        answered: str | dict[str, str] | None = json.loads(text)
        return answered

    def close(self) -> None:
        self._http.close()


@dataclass
class Burst:
    """What was sent and what was taken, by the ids of messages; `looks` found an empty mailbox."""

    sent: set[str] = field(default_factory=set)
    taken: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    looks: int = 0
    wall_s: float = 0.0
    sends_ms: list[float] = field(default_factory=list)
    takes_ms: list[float] = field(default_factory=list)

    @property
    def doubled(self) -> int:
        return sum(count - 1 for count in self.taken.values())

    @property
    def lost(self) -> int:
        return len(self.sent - self.taken.keys())

    @property
    def strange(self) -> int:
        """Taken, and sent by nobody here."""
        return len(self.taken.keys() - self.sent)

    @property
    def per_second(self) -> float:
        """Sends and takes that came with a message: a look at an empty mailbox is cheap, and does not count."""
        return (self.requests - self.looks) / self.wall_s


class Crowd:
    """Those who send for so many seconds, and those who take until nothing is left."""

    def __init__(self, port: int, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._burst = Burst()
        self._lock = threading.Lock()
        self._all_sent = threading.Event()
        self._failures: list[Exception] = []
        self._senders = [Caller(port, f"Pen{number}") for number in range(SENDERS)]
        self._readers = [Caller(port, f"Box{number % MAILBOXES}") for number in range(READERS)]

    def run(self) -> Burst:
        """What came of it. Raises Refused where a call failed."""
        senders = [self._thread(self._send, caller, number) for number, caller in enumerate(self._senders)]
        readers = [self._thread(self._take, caller, number) for number, caller in enumerate(self._readers)]
        began = time.perf_counter()
        for thread in (*senders, *readers):
            thread.start()
        for thread in senders:
            thread.join()
        self._all_sent.set()
        for thread in readers:
            thread.join()
        self._burst.wall_s = time.perf_counter() - began
        for caller in (*self._senders, *self._readers):
            caller.close()
        if self._failures:
            raise Refused(f"{len(self._failures)} callers failed") from self._failures[0]
        return self._counted()

    def _counted(self) -> Burst:
        burst = self._burst
        burst.sends_ms = sorted(took for caller in self._senders for took in caller.calls_ms)
        burst.takes_ms = sorted(took for caller in self._readers for took in caller.calls_ms)
        burst.requests = len(burst.sends_ms) + len(burst.takes_ms)
        return burst

    def _thread(self, do: Callable[[Caller, int], None], caller: Caller, number: int) -> threading.Thread:
        def work() -> None:
            try:
                do(caller, number)
            except Exception as failed:  # noqa: BLE001  # told by whoever runs all
                self._failures.append(failed)

        return threading.Thread(target=work)

    def _send(self, caller: Caller, number: int) -> None:
        count = 0
        while time.monotonic() < self._until and not self._failures:
            count += 1
            wanted = f"{caller.name}-{count}"
            message = {"name": f"Box{number % MAILBOXES}", "msg": f"letter {wanted}", "msg_id": wanted}
            for _ in range(2 if count % _RETRIED_EVERY == 0 else 1):
                if caller.call("send_to_agent", **message) != wanted:
                    raise Refused(f"{wanted} is called otherwise")
            with self._lock:
                self._burst.sent.add(wanted)

    def _take(self, caller: Caller, _number: int) -> None:
        while not self._failures:
            is_last = self._all_sent.is_set()
            message = caller.call("check_mail")
            with self._lock:
                if isinstance(message, dict):
                    self._burst.taken[message["id"]] += 1
                else:
                    self._burst.looks += 1
            if message is None and is_last:
                return


def figures(bursts: Sequence[Burst]) -> list[Figure]:
    def of(value: Callable[[Burst], float]) -> list[float]:
        return [float(value(one)) for one in bursts]

    def p50(taken: Sequence[float]) -> float:
        return taken[len(taken) // 2]

    return [
        Figure(
            name="sends and takes, 8 send and 4 take",
            values=of(lambda one: one.per_second),
            unit="/s",
            target=PER_SECOND,
            at_least=True,
        ),
        Figure(name="messages taken twice", values=of(lambda one: one.doubled), target=0),
        Figure(name="messages sent and not taken", values=of(lambda one: one.lost), target=0),
        Figure(name="messages taken and not sent", values=of(lambda one: one.strange), target=0),
        Figure(name="messages", values=of(lambda one: len(one.sent))),
        Figure(name="looks at an empty mailbox", values=of(lambda one: one.looks)),
        Figure(name="a send, p50", values=of(lambda one: p50(one.sends_ms)), unit=" ms"),
        Figure(name="a take or a look, p50", values=of(lambda one: p50(one.takes_ms)), unit=" ms"),
    ]


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doors.burst", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long is sent (default 30)")
    parser.add_argument("--bursts", type=int, default=1, help="how many, one after the other (default 1)")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/postal-burst.json"))
    return parser.parse_args(argv)


def main() -> int:
    chosen = parse(sys.argv[1:])
    bursts = []
    with tempfile.TemporaryDirectory(prefix="agent-mail-burst-") as scratch, Stand(Path(scratch).resolve()) as stand:
        server = stand.ours(Path(scratch).resolve() / "store", Rpc(), POSTAL_ENABLED="true")
        for number in range(chosen.bursts):
            with stand.phase(f"burst {number}", server):
                bursts.append(Crowd(server.port, chosen.seconds).run())
        shown = figures(bursts)
        print(table("A burst at postal", shown), flush=True)
        return publish(shown, stand.seen, chosen.json, details=[one.requests for one in bursts])


if __name__ == "__main__":
    sys.exit(main())
