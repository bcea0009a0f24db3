"""A server process that is killed while it answers, and started again; now and then with its clock set back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.crash.launched import LaunchedServer
from tests.ladder.doors import Person
from tests.ladder.history import BLUE, FOX, GREEN, RED
from tests.ladder.witness import Witness

_MICROS = 1_000_000
_DAY_S = 86_400


class KilledServer:
    """Of its own process, so that nobody sees what its kernel takes: of an answer that was cut all may have left it,
    unless it was killed meanwhile.
    """

    witness: Witness | None = None

    def __init__(self, server: LaunchedServer) -> None:
        self._server = server
        self._days_ago = 0
        self._kills_left = 0
        self.kills = 0
        self.clocks_set_back = 0

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def now(self) -> int:
        return time.time_ns() // 1_000 - self._days_ago * _DAY_S * _MICROS

    @property
    def latest(self) -> int:
        return time.time_ns() // 1_000

    def allow(self, kills: int) -> None:
        """So many more."""
        self._kills_left = kills

    async def settle(self) -> None:
        """What is noted is written within a second, or lost: either may be seen."""

    async def shift_clock(self, seconds: float) -> None:
        """At the next start."""
        self._days_ago = min(max(self._days_ago + (1 if seconds < 0 else -1), 0), 3)
        self.clocks_set_back += seconds < 0

    async def strike(self) -> None:
        if not self._kills_left:
            return
        self._kills_left -= 1
        self.kills += 1
        self._server.kill()
        self._server.doom(days_ago=self._days_ago)
        await asyncio.to_thread(self._server.start)

    def people(self, name: str) -> dict[str, Person]:
        """Of two new projects."""
        people = {}
        with self._server.connect() as connection:
            for path, names in ((f"/ladder/{name}", (BLUE, RED, GREEN)), (f"/ladder/{name}-far", (FOX,))):
                connection.call("ensure_project", human_key=path)
                for one in names:
                    given = {"project_key": path, "name": one, "program": "tests", "model": "none"}
                    people[one] = Person(one, path, connection.call("register_agent", **given)["registration_token"])
        return people


@contextmanager
def open_killed(root: Path) -> Iterator[KilledServer]:
    server = LaunchedServer(root)
    server.start()
    try:
        yield KilledServer(server)
    finally:
        if server.process is not None:
            server.kill()
