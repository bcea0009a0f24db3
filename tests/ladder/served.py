"""A server in the test's own loop: a real store, the real application and real sockets, which are watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import Micros, system_clock
from mcp_agent_mail.server.assembly import build_http_app
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx
from tests.ladder.doors import Person
from tests.ladder.history import BLUE, FOX, GREEN, RED
from tests.ladder.witness import Witness
from tests.seeded_store import add_agent, add_project, token_of
from tests.server import hosted as hosting
from tests.server.whole_app import OPERATOR, PLACE, settings_of

KERNEL_BYTES = 8_192


class ShiftedClock:
    def __init__(self) -> None:
        self._shift = 0
        self.latest = 0

    def __call__(self) -> Micros:
        now = Micros(system_clock() + self._shift)
        self.latest = max(self.latest, now)
        return now

    def shift(self, seconds: float) -> None:
        self._shift += int(seconds * 1_000_000)


class HostedServer:
    """Not to be killed: `strike` ends no process, and cuts nothing."""

    def __init__(self, services: Services, store: Store, clock: ShiftedClock, witness: Witness, port: int) -> None:
        self._services = services
        self._store = store
        self._clock = clock
        self.witness: Witness | None = witness
        self.port = port

    @property
    def now(self) -> int:
        return self._clock()

    @property
    def latest(self) -> int:
        return self._clock.latest

    async def settle(self) -> None:
        await self._services.delivery_marks.write()

    async def shift_clock(self, seconds: float) -> None:
        self._clock.shift(seconds)
        await self._store.end_expired()

    async def strike(self) -> None:
        await asyncio.sleep(0)

    async def people(self, name: str) -> dict[str, Person]:
        """Of two new projects."""

        def unit(tx: Tx) -> dict[str, Person]:
            people = {}
            for path, names in ((f"/ladder/{name}", (BLUE, RED, GREEN)), (f"/ladder/{name}-far", (FOX,))):
                project = add_project(tx, path)
                for one in names:
                    add_agent(tx, project, one)
                    people[one] = Person(one, path, token_of(one, project))
            return people

        return await self._store.write(unit)


@asynccontextmanager
async def open_hosted(directory: Path) -> AsyncIterator[HostedServer]:
    settings = settings_of(directory)
    clock, witness = ShiftedClock(), Witness()
    async with Store(settings.database_path, clock=clock) as store:
        services = build_services(settings, store, place=PLACE, operator_token=OPERATOR, clock=clock)
        try:
            app = build_http_app(settings, services, operator_token=OPERATOR)
            async with hosting.hosted(app, kernel_keeps_bytes=KERNEL_BYTES, watch=witness.watch) as url:
                yield HostedServer(services, store, clock, witness, int(url.rpartition(":")[2]))
        finally:
            await services.close(timeout_s=1.0)
