"""The door over this server's services: what lets its idle mailboxes retire works while the door is open."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.server.dispatch import Calls
from mcp_agent_mail.server.doors import ServerParts
from mcp_agent_mail.server.mailbox_door import make_mailbox
from tests.mcp_way import HAS_FAST_PATH
from tests.server.whole_app import open_services, settings_of

AGED = "UPDATE agents SET last_active_ts = 1 WHERE name = 'idle'"
RETIRED = "SELECT name FROM agents WHERE retired_ts IS NOT NULL"


async def test_while_it_is_open_long_idle_mailboxes_retire(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, CLAUDE_MAILBOX_DELETE_AFTER_MINUTES="1")
    async with open_services(settings) as (services, _):
        for name in ("idle", "seen"):
            await services.mailboxes.touch(DoorCaller(door=Door.CLAUDE_MAILBOX, name=name))
        await services.activity.flush()
        await services.activity.close()
        store = services.mailboxes._store
        await store.write(
            lambda tx: (
                tx.agents._connection.execute("UPDATE agents SET last_active_ts = 1 WHERE name = 'idle'").rowcount
            )
        )
        calls = Calls(services.tools, services.resources)
        door = make_mailbox(settings, services, calls, ServerParts(calls, has_fast_path=HAS_FAST_PATH))
        assert [kept.name for kept in services.also_kept] == ["idle-mailboxes"]

        async with door.opened(), asyncio.timeout(10):
            while not (names := await store.write(lambda tx: tx.agents._connection.execute(RETIRED).fetchall())):
                pass

    assert names == [("idle",)]


@pytest.mark.parametrize("name", ["CLAUDE_MAILBOX_SWEEP_INTERVAL_MINUTES", "CLAUDE_MAILBOX_DELETE_AFTER_MINUTES"])
async def test_without_a_pace_or_a_time_nothing_sweeps(tmp_path: Path, name: str) -> None:
    settings: Settings = settings_of(tmp_path, **{name: "0"})
    async with open_services(settings) as (services, _):
        calls = Calls(services.tools, services.resources)
        make_mailbox(settings, services, calls, ServerParts(calls, has_fast_path=HAS_FAST_PATH))

        assert services.also_kept == []
