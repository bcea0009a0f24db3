"""All services together, over one store, one clock and one table of tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.failpoints import FailPoint, Faults, Kill
from mcp_agent_mail.core.tools import Credentials, Json
from mcp_agent_mail.store.database import Store
from tests.seeded_store import SetClock
from tests.server.whole_app import OPERATOR, PLACE, settings_of

APP = "/code/app"
ANYONE, THE_OPERATOR = Credentials(via="rpc"), Credentials(via="rpc", bearer_token=OPERATOR)


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    settings, clock = settings_of(tmp_path), SetClock()
    async with Store(settings.database_path, clock=clock) as store:
        made = build_services(
            settings,
            store,
            place=PLACE,
            operator_token=OPERATOR,
            clock=clock,
            faults=Faults(archiver=Kill(point=FailPoint.RESUME)),
        )
        yield made
        await made.close(timeout_s=1)


async def call(services: Services, tool: str, who: Credentials = ANYONE, /, **arguments: object) -> Json:
    return await services.tools.run(tool, arguments, who)


async def test_the_tools_are_there_and_nothing_works_yet(services: Services) -> None:
    named = {spec.name for spec in services.tools.specs()}

    assert named >= {"ensure_project", "send_message", "file_reservation_paths", "create_join_code"}
    assert [keeper.name for keeper in services.keepers() if keeper.is_running] == []
    assert services.archiving.archiver_pid is None


async def test_what_one_service_writes_the_others_read_and_each_hears_of_the_rest(services: Services) -> None:
    async def work() -> None:
        pass

    await call(services, "ensure_project", human_key=APP)
    profile = {"project_key": APP, "program": "p", "model": "m"}
    await call(services, "register_agent", name="BlueLake", **profile)
    await call(services, "file_reservation_paths", project_key=APP, agent_name="BlueLake", paths=["a"])
    failing = Keeper("in-trouble", work)
    failing.failed(OSError("no room"))
    services.also_kept.append(failing)

    agents = await services.resources.read(f"resource://agents/{APP.strip('/').replace('/', '-')}", ANYONE)
    health = await call(services, "health_check")

    assert [agent["name"] for agent in agents["agents"]] == ["BlueLake"]
    assert (health["environment"], health["archive"]["pending_events"] > 0) == ("test", True)
    assert [one["task"] for one in health["failing"]] == ["in-trouble"]


async def test_times_are_the_clocks_that_was_given(services: Services) -> None:
    project = await call(services, "ensure_project", human_key=APP)

    assert project["created_at"].startswith("2027-01-15T08:00:00")


async def test_the_operators_token_that_was_given_proves_the_operator(services: Services) -> None:
    await call(services, "ensure_project", human_key=APP)

    invited = await call(services, "create_join_code", THE_OPERATOR, project_key=APP)

    assert invited["join_code"].startswith("amj_")


async def test_a_fault_that_is_meant_for_the_archiver_reaches_it(services: Services) -> None:
    assert services.archiving._settings.failpoint == Kill(point=FailPoint.RESUME)
