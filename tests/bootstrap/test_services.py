"""All services as one: started, woken for a stop, and closed within their time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.tools import Credentials, Json
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.reservations.wait_queue import QueueClosed
from tests.archive_harness import git
from tests.served import pause
from tests.server.whole_app import open_services, settings_of

APP = "/code/app"
ENDS_WITHIN_S = 20.0


async def call(services: Services, tool: str, /, **arguments: object) -> Json:
    return await services.tools.run(tool, arguments, Credentials(via="rpc"))


async def team(services: Services) -> None:
    """BlueLake and RedStone in a project."""
    await call(services, "ensure_project", human_key=APP)
    for name in ("BlueLake", "RedStone"):
        await call(services, "register_agent", project_key=APP, program="p", model="m", name=name)


async def test_what_was_started_is_stopped_and_what_was_written_is_in_git(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, ACK_TTL_ENABLED="true", TOOL_METRICS_EMIT_ENABLED="true")
    async with open_services(settings) as (services, _):
        await team(services)
        before = {keeper.name for keeper in services.keepers() if keeper.is_running}
        services.start()
        running = {keeper.name for keeper in services.keepers() if keeper.is_running}

        await services.close(timeout_s=ENDS_WITHIN_S)

        after = {keeper.name for keeper in services.keepers() if keeper.is_running}
        pending = (await services.archiving.status()).backlog.pending_events
    assert (before, after, pending) == ({"activity"}, set(), 0)
    assert running >= {"archiver", "guard-spool", "reservations-sweeper", "acknowledgements", "tool-metrics"}
    (found,) = settings.storage_root.glob("projects/*/.git")
    assert "agents/BlueLake/profile.json" in git(found.parent, "ls-tree", "-r", "--name-only", "main")


async def test_a_stop_is_told_to_whoever_waits_for_a_reservation(tmp_path: Path) -> None:
    async with open_services(settings_of(tmp_path)) as (services, _):
        await team(services)
        asked = {"project_key": APP, "paths": ["a"]}
        await call(services, "file_reservation_paths", agent_name="BlueLake", **asked)
        waiting = asyncio.create_task(
            call(services, "file_reservation_paths", agent_name="RedStone", wait_seconds=50, **asked)
        )
        async with asyncio.timeout(ENDS_WITHIN_S):
            while not services.leases.reservations._reserver._queue:
                await asyncio.to_thread(pause)
            services.wake()
            with pytest.raises(QueueClosed):
                await waiting


async def test_directories_are_not_looked_at_any_more_after_a_close(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, NOTIFICATIONS_ENABLED="true")
    async with open_services(settings) as (services, _):
        looks = services.all_looks()
        await services.close(timeout_s=1)

    assert len(looks) == 6
    assert services.looks in looks


async def test_mail_by_a_door_is_in_a_project_of_its_own_and_what_a_killed_server_had_given_is_given_again(
    tmp_path: Path,
) -> None:
    settings = settings_of(tmp_path)
    bob = DoorCaller(door=Door.POSTAL, name="bob")
    async with open_services(settings) as (services, _):
        await services.doors.send(DoorCaller(door=Door.POSTAL, name="claude-code"), "bob", "hi")
        first = await services.doors.pop(bob, wait_s=0)
        meanwhile = await services.doors.pop(bob, wait_s=0)
        services.start()
        await services.doors.give_back_open()

        second = await services.doors.pop(bob, wait_s=0)

        await services.close(timeout_s=ENDS_WITHIN_S)
    assert first is not None
    assert meanwhile is None
    assert second is not None
    assert second.message_id == first.message_id
    (found,) = settings.storage_root.glob("projects/*neighbours*/.git")
    assert "agents/claude-code/profile.json" in git(found.parent, "ls-tree", "-r", "--name-only", "main")
