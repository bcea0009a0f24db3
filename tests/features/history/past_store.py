"""A store with a past: what was sent, held, read, purged, reserved and changed, hour by hour, each hour in Git."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.core.clock import SECOND, Micros, iso
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.archiving.protocol import archive_path
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View, open_view
from tests.seeded_store import SetClock
from tests.server.whole_app import OPERATOR, PLACE, settings_of

APP, LIB = "/code/app", "/code/lib"
HOUR = 3_600 * SECOND
_BEGUN = Micros(1_800_000_000 * SECOND)
TEXT = "Who takes the parser?\n\nI have the *lexer*.\n"

Call = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class PastStore:
    """`at` gives the time of a moment by its name; `inboxes` what fetch_inbox said of RedStone's then."""

    root: Path
    at: dict[str, Micros] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    inboxes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        return self.root / "mail.sqlite3"

    def archive_of(self, key: str) -> Path:
        with self.view() as view:
            project = view.projects.find_by_human_key(key)
        assert project is not None
        return archive_path(self.root, project.slug)

    @contextmanager
    def view(self) -> Iterator[View]:
        with open_view(self.database) as view:
            yield view

    def agent(self, view: View, name: str, project: str = APP) -> tuple[Agent, Project]:
        home = view.projects.find_by_human_key(project)
        assert home is not None
        agent = view.agents.find_by_name(home.id, name)
        assert agent is not None
        return agent, home

    def execute(self, sql: str) -> None:
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute(sql)

    def iso(self, moment: str) -> str:
        return iso(self.at[moment])


def make_past_store(folder: Path) -> PastStore:
    settings = settings_of(folder)
    past = PastStore(settings.storage_root)
    asyncio.run(_Story(settings, past).tell())
    return past


class _Story:
    def __init__(self, settings: Settings, past: PastStore) -> None:
        self._settings = settings
        self._past = past
        self._clock = SetClock(now=_BEGUN)

    async def tell(self) -> None:
        async with Store(self._settings.database_path, clock=self._clock) as store:
            self._store = store
            services = build_services(self._settings, store, place=PLACE, operator_token=OPERATOR, clock=self._clock)
            self._run = services.tools.run
            await self._begin()
            await self._write()
            await self._change()
            await self._purge()
            await services.close(timeout_s=30)
            await self._archive()

    async def _call(self, tool: str, /, **arguments: Any) -> Any:
        given = arguments if tool == "ensure_project" else {"project_key": APP, **arguments}
        return await self._run(tool, given, Credentials(via="local", bearer_token=OPERATOR))

    async def _moment(self, name: str) -> None:
        """All so far is in Git, and the next hour begins after it."""
        self._past.at[name] = self._clock()
        self._past.inboxes[name] = list(
            await self._call("fetch_inbox", agent_name="RedStone", include_bodies=True, limit=100)
        )
        await self._archive()
        self._clock.step(3_600)

    async def _archive(self) -> None:
        assert await drain_in_process(self._store, archiver_settings(self._settings), timeout_s=60) == []

    async def _begin(self) -> None:
        for key, names in ((APP, ("BlueLake", "RedStone", "GrayFox", "ShyOwl")), (LIB, ("GreenField", "BlueLake"))):
            await self._call("ensure_project", human_key=key)
            for name in names:
                await self._call("register_agent", project_key=key, name=name, program="claude-code", model="opus")
        await self._call("set_contact_policy", project_key=LIB, agent_name="GreenField", policy="contacts_only")
        for name in ("GrayFox", "ShyOwl"):
            await self._call("set_contact_policy", agent_name=name, policy="contacts_only")
        await self._moment("begun")

    async def _send(self, name: str, **given: Any) -> None:
        sent = await self._call("send_message", **{"sender_name": "BlueLake", "subject": "Plan", **given})
        self._past.ids[name] = sent["deliveries"][0]["payload"]["id"]

    async def _write(self) -> None:
        await self._send(
            "plan",
            to=["RedStone"],
            bcc=["Human"],
            body_md=TEXT,
            ack_required=True,
            attachment_paths=["data:text/plain;base64,VGhlIG5vdGVzIG9mIHRoZW4u"],
        )
        await self._send("held", to=["RedStone", "ShyOwl", "GreenField@code-lib"], subject="Ours", body_md="Shared")
        await self._send("refused", to=["GrayFox"], subject="May I?", body_md="No")
        await self._moment("sent")
        await self._call("mark_message_read", agent_name="RedStone", message_id=self._past.ids["plan"])
        await self._call("acknowledge_message", agent_name="Human", message_id=self._past.ids["plan"])
        await self._moment("read")
        await self._call("acknowledge_message", agent_name="RedStone", message_id=self._past.ids["plan"])
        await self._call(
            "respond_contact",
            project_key=LIB,
            to_agent="GreenField",
            from_agent="BlueLake",
            from_project=APP,
            accept=True,
        )
        await self._call("respond_contact", to_agent="ShyOwl", from_agent="BlueLake", accept=True)
        await self._call("respond_contact", to_agent="GrayFox", from_agent="BlueLake", accept=False)
        await self._moment("answered")

    async def _change(self) -> None:
        await self._call("file_reservation_paths", agent_name="BlueLake", paths=["src/**", "docs/a.md"], reason="one")
        await self._call("release_file_reservations", agent_name="BlueLake", paths=["src/**"])
        await self._call("file_reservation_paths", agent_name="RedStone", paths=["src/app.py"], reason="two")
        await self._call("file_reservation_paths", agent_name="GrayFox", paths=["app/[id]/page.tsx", "tool://deploy"])
        await self._call("set_contact_policy", agent_name="RedStone", policy="open")
        await self._moment("opened")
        await self._call("deregister_agent", agent_name="RedStone")
        await self._moment("retired")
        await self._call("unretire_agent", agent_name="RedStone")
        await self._moment("returned")

    async def _purge(self) -> None:
        self._clock.step(40 * 24 * 3_600)
        noted = "data:text/plain;base64,VGhlIG5vdGVzLg=="
        await self._send("late", to=["RedStone"], subject="Later", body_md="New", attachment_paths=[noted])
        purged = await self._call("purge_old_messages", max_age_days=30, dry_run=False)
        assert purged["messages_affected"] == 4, purged  # The letter, and three requests that were answered.
        await self._call("file_reservation_paths", agent_name="GrayFox", paths=["src/late.py"], reason="three")
        await self._moment("purged")
