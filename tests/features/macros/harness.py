"""All services over a real store, called as a server calls them; a team that begins with nothing at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.settings.server import load_settings
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.health.results import ServerPlace
from mcp_agent_mail.store.database import Store
from tests.seeded_store import SetClock

APP = "/code/app"
LIB = "/code/lib"
NOBODY = Credentials(via="mcp")
PLACE = ServerPlace(
    environment="test", http_host="127.0.0.1", http_port=1, http_path="/mcp", database_url="", version="0"
)


@dataclass
class MacrosHarness:
    services: Services
    store: Store
    clock: SetClock
    tokens: dict[tuple[str, str], str] = field(default_factory=dict)

    async def call(self, tool: str, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        self.clock.step()
        return await self.services.tools.run(tool, arguments, credentials)

    async def start(self, name: str | None = None, project: str = APP, /, **arguments: Any) -> Any:
        """A session of the agent of this name."""
        given = {"human_key": project, "program": "tests", "model": "none", **arguments}
        if name is not None:
            given["agent_name"] = name
        started = await self.call("macro_start_session", **given)
        if token := started["agent"].get("registration_token"):
            self.tokens[project, started["agent"]["name"]] = token
        return started

    async def join(self, name: str | None = None, **arguments: Any) -> Any:
        """The thread plan-1 of /code/app, unless said otherwise."""
        given = {"project_key": APP, "thread_id": "plan-1", "program": "tests", "model": "none", **arguments}
        return await self.call("macro_prepare_thread", **given, **({} if name is None else {"agent_name": name}))

    async def shake(self, requester: str | None = "BlueLake", target: str | None = "RedStone", **arguments: Any) -> Any:
        given = {"project_key": APP, "requester": requester, "target": target, **arguments}
        return await self.call("macro_contact_handshake", **given)

    async def cycle(self, name: str, *paths: str, **arguments: Any) -> Any:
        given = {"project_key": APP, "agent_name": name, "paths": list(paths), **arguments}
        return await self.call("macro_file_reservation_cycle", **given)

    async def policy(self, name: str, policy: str, project: str = APP) -> None:
        await self.call("set_contact_policy", project_key=project, agent_name=name, policy=policy)

    async def send(self, sender: str, *to: str, **arguments: Any) -> Any:
        given = {"project_key": APP, "sender_name": sender, "to": list(to), "subject": "Plan", "body_md": "b"}
        return await self.call("send_message", **{**given, **arguments})

    async def subjects(self, name: str, project: str = APP) -> list[str]:
        """Of its inbox, newest first."""
        inbox = await self.call("fetch_inbox", project_key=project, agent_name=name, limit=100)
        return [item["subject"] for item in inbox]

    def waiting(self) -> int:
        """How many calls stand in the line for reservations."""
        return len(self.services.leases.reservations._reserver._queue)

    def proof(self, name: str, project: str = APP) -> Credentials:
        return Credentials(via="mcp", agent_token=self.tokens[project, name])

    def rows(self, sql: str, *values: object) -> list[Any]:
        return self.store._reading.execute(sql, values).fetchall()

    def everything(self) -> dict[str, list[Any]]:
        """All that a call could leave behind."""
        tables = ("projects", "agents", "contacts", "messages", "recipients", "leases", "outbox", "counters")
        return {table: self.rows(f"SELECT * FROM {table}") for table in tables}


async def refused(awaitable: Any) -> AgentMailError:
    try:
        await awaitable
    except AgentMailError as error:
        return error
    raise AssertionError("nothing was refused")


@asynccontextmanager
async def open_macros(directory: Path, **settings: str) -> AsyncIterator[MacrosHarness]:
    environment = {"STORAGE_ROOT": str(directory / "store"), **settings}
    loaded = load_settings(environment, cwd=directory).settings
    loaded.storage_root.mkdir()
    clock = SetClock()
    async with Store(loaded.database_path, clock=clock) as store:
        services = build_services(loaded, store, place=PLACE, operator_token="unused", clock=clock)
        try:
            yield MacrosHarness(services, store, clock)
        finally:
            await services.close(timeout_s=1.0)
