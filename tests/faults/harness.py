"""The whole product but for HTTP, in the test's own process: tools over a real store, a real archiver beside it.

What a tool answers here is what an agent sees; what breaks it are real means wherever there are any.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import Clock, system_clock
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.failpoints import FaultHook, Faults, no_fault
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.doctor.verify import VerifyReport, verify_archives
from mcp_agent_mail.features.doctor.verify_store import verify_store
from mcp_agent_mail.features.health.results import ServerPlace
from mcp_agent_mail.store.database import Store
from tests.archive_harness import git
from tests.served import pause

T = TypeVar("T")

WITHIN_S = 15.0
PROJECT = "/code/app"
BLUE, RED = "BlueLake", "RedStone"
OPERATOR_TOKEN = "amo_operator-of-these-tests"
WINDOW = "0b0c7f9e-5b0a-4f0e-9d55-5d2f6f1f6b01"
PLACE = ServerPlace(
    environment="tests",
    http_host="127.0.0.1",
    http_port=0,
    http_path="/mcp",
    database_url="sqlite:///",
    version="0",
)


@dataclass
class Harness:
    """A project with two agents. `sent` holds the ids of all mail whose send was answered."""

    root: Path
    store: Store
    services: Services
    sent: list[int] = field(default_factory=list)
    slug: str = ""

    @property
    def database(self) -> Path:
        return self.root / "mail.sqlite3"

    @property
    def archive(self) -> Path:
        return self.root / "projects" / self.slug

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        return await self.services.tools.run(tool, arguments, Credentials(via="rpc"))

    async def call_as_operator(self, tool: str, /, **arguments: Any) -> Any:
        operator = Credentials(via="rpc", bearer_token=OPERATOR_TOKEN, window_id=WINDOW)
        return await self.services.tools.run(tool, arguments, operator)

    async def move_in(self) -> None:
        self.slug = (await self.call("ensure_project", human_key=PROJECT))["slug"]
        for name in (BLUE, RED):
            await self.call("register_agent", project_key=PROJECT, name=name, program="tests", model="none")

    async def send(self, subject: str = "Plan", *, body_md: str = "body", **more: Any) -> int:
        """From blue to red; the id once it is acknowledged."""
        answer = await self.call(
            "send_message", project_key=PROJECT, sender_name=BLUE, to=[RED], subject=subject, body_md=body_md, **more
        )
        message_id: int = answer["deliveries"][0]["payload"]["id"]
        if message_id not in self.sent:
            self.sent.append(message_id)
        return message_id

    async def refused(self, tool: str, /, **arguments: Any) -> AgentMailError:
        """The refusal that this call must get."""
        with pytest.raises(AgentMailError) as caught:
            await self.call(tool, **arguments)
        return caught.value

    async def refused_send(self, subject: str = "Plan", *, body_md: str = "body", **more: Any) -> AgentMailError:
        arguments = {"project_key": PROJECT, "sender_name": BLUE, "to": [RED], "subject": subject, "body_md": body_md}
        return await self.refused("send_message", **arguments, **more)

    async def inbox(self) -> list[int]:
        """Ids of red's mail, oldest first."""
        page = await self.call("fetch_inbox", project_key=PROJECT, agent_name=RED, after_id=0, limit=1000)
        return [item["id"] for item in page]

    async def search(self, query: str) -> list[int]:
        answer = await self.call("search_messages", project_key=PROJECT, query=query)
        return sorted(item["id"] for item in answer["result"])

    async def health(self) -> Any:
        return await self.call("health_check")

    async def archive_error(self) -> str | None:
        error: str | None = (await self.health())["archive"]["last_error"]
        return error

    async def until_archive_says(self, *words: str) -> str:
        """The last error of the archive once it holds all these words."""

        async def look() -> str | None:
            error = await self.archive_error()
            return error if error is not None and all(word in error for word in words) else None

        return await until(look, lambda: f"the archive never said {words}: {self.services.archiving.problem()}")

    async def until_archived(self) -> None:
        """Everything acknowledged is in Git, and health says that nothing is wrong (any more)."""

        async def look() -> bool:
            health = await self.health()
            return bool(health["status"] == "ok" and health["archive"]["pending_events"] == 0)

        await until(look, lambda: f"not archived: {self.services.archiving.problem()}")

    async def until_idle(self) -> None:
        """Nothing is left to do: the index is refreshed and the note of an unclean stop is gone."""
        note = self.archive / ".git" / "agent-mail" / "open"

        async def look() -> bool:
            return not note.exists()

        await until(look, lambda: "the archiver never became idle")

    def verify(self) -> VerifyReport:
        return verify_archives(self.root, self.database, progress=lambda _done, _total: None)

    def mail_in_git(self, box: str = f"agents/{RED}/inbox/") -> list[int]:
        """Ids of the messages that the branch holds in this folder."""
        listed = git(self.archive, "ls-tree", "-r", "--name-only", "main").splitlines()
        return sorted(int(path.rpartition("__")[2].removesuffix(".md")) for path in listed if path.startswith(box))

    async def require_nothing_lost(self) -> None:
        """What was acknowledged is in the inbox and in Git, exactly once; store and archive agree to the byte."""
        await self.until_archived()
        assert [number for number in await self.inbox() if number in self.sent] == self.sent
        assert [number for number in self.mail_in_git() if number in self.sent] == self.sent
        assert verify_store(self.database) == []
        assert self.verify().findings == ()


async def until(look: Callable[[], Awaitable[T | None]], why: Callable[[], str]) -> T:
    """What `look` gives as soon as that is something; there is no event for what another process does."""
    deadline = time.monotonic() + WITHIN_S
    while not (found := await look()):
        assert time.monotonic() < deadline, why()
        await asyncio.to_thread(pause)
    return found


def _settings(root: Path, given: Mapping[str, str]) -> Settings:
    root.mkdir(parents=True, exist_ok=True)
    environ = {"STORAGE_ROOT": str(root), "AGENT_MAIL_ENV_FILE": os.devnull, **given}
    return load_settings(environ, cwd=root).settings


@asynccontextmanager
async def harness(
    root: Path,
    *,
    fault_hook: FaultHook = no_fault,
    clock: Clock = system_clock,
    elapsed: Callable[[], float] = time.monotonic,
    starts: bool = True,
    given: Mapping[str, str] | None = None,
) -> AsyncIterator[Harness]:
    """Opened as a server opens it, the agents registered (again, if the store is older). `starts`: the archiver too.
    `given` are settings by their names.
    """
    loaded = _settings(root, given or {})
    async with Store(root / "mail.sqlite3", clock=clock, elapsed=elapsed, fault_hook=fault_hook) as store:
        services = build_services(
            loaded, store, place=PLACE, operator_token=OPERATOR_TOKEN, clock=clock, faults=Faults(fault_hook=fault_hook)
        )
        if starts:
            services.start()
        opened = Harness(root, store, services)
        try:
            await opened.move_in()
            yield opened
        finally:
            await services.close(timeout_s=WITHIN_S)
