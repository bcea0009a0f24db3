from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.identity.names import UnknownAgent
from tests.features.identity.harness import PROJECT, IdentityHarness, open_identity


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[IdentityHarness]:
    async with open_identity(tmp_path) as opened:
        await opened.call("ensure_project", human_key=PROJECT)
        yield opened


async def refused(harness: IdentityHarness, name: str) -> UnknownAgent:
    with pytest.raises(UnknownAgent) as unknown:
        await harness.call("whois", project_key=PROJECT, agent_name=name)
    return unknown.value


async def test_where_a_name_is_near_it_is_told_and_no_other(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    await harness.register("RedStone")

    error = await refused(harness, "/agents/blue-lake")

    assert error.text == (
        f"No agent named '/agents/blue-lake' in {PROJECT}. Did you mean BlueLake? register_agent adds one."
    )
    assert error.data["nearest"] == ["BlueLake"]
    assert "present" not in error.data


async def test_where_no_name_is_near_those_that_are_there_are_told_last_active_first(harness: IdentityHarness) -> None:
    for name in ("BlueLake", "RedStone", "GoneElm"):
        await harness.register(name)
    await harness.call("deregister_agent", project_key=PROJECT, agent_name="GoneElm")

    error = await refused(harness, "Xyz")

    assert error.hint == "There are RedStone and BlueLake. register_agent adds one."
    assert (error.data["nearest"], error.data["present"]) == ([], ["RedStone", "BlueLake"])


async def test_of_many_the_ten_that_were_active_last_are_told(harness: IdentityHarness) -> None:
    for number in range(12):
        await harness.register(f"Agent{number}")

    error = await refused(harness, "Xyz")

    assert error.data["present"] == [f"Agent{number}" for number in range(11, 1, -1)]
    assert error.hint.startswith("The 10 last active are Agent11, Agent10, ")
    assert "list_agents names those that exist" in error.hint


async def test_a_project_without_agents_says_so(harness: IdentityHarness) -> None:
    assert (await refused(harness, "Xyz")).hint == "It has no agents: register_agent adds one."


async def test_who_lives_in_another_project_is_told_which(harness: IdentityHarness) -> None:
    await harness.register("RedStone")
    await harness.call("ensure_project", human_key="/code/lib")
    await harness.call("register_agent", project_key="/code/lib", name="QuietFox", program="tests", model="none")

    error = await refused(harness, "quietfox")

    assert error.hint == "quietfox is an agent of /code/lib: give that as the project."
    assert error.data["projects"] == ["/code/lib"]


async def retire(harness: IdentityHarness, name: str) -> None:
    await harness.call("deregister_agent", project_key=PROJECT, agent_name=name)


async def test_a_retired_agent_is_told_only_where_it_was_meant_and_as_retired(harness: IdentityHarness) -> None:
    for name in ("BlueHeron", "BlueLake"):
        await harness.register(name)
    await retire(harness, "BlueHeron")

    meant, other = await refused(harness, "BlueHerron"), await refused(harness, "BlueLane")

    assert meant.hint.startswith("Did you mean BlueHeron (retired)")
    assert meant.data["nearest"][0] == "BlueHeron"
    assert (other.data["nearest"], "Heron" in other.hint) == (["BlueLake"], False)


@pytest.mark.parametrize("is_retired", [False, True])
async def test_an_agent_that_am_setup_tried_clients_out_with_is_never_told(
    is_retired: bool, harness: IdentityHarness
) -> None:
    made = await harness.call("register_agent", project_key=PROJECT, program="am setup", model="none", name="BlueHeron")
    if is_retired:
        await retire(harness, made["name"])
    await harness.call("ensure_project", human_key="/other")

    for wanted, project in (("BlueHerron", PROJECT), ("Xyz", PROJECT), ("BlueHeron", "/other")):
        with pytest.raises(UnknownAgent) as unknown:
            await harness.call("whois", project_key=project, agent_name=wanted)
        told = f"{unknown.value.hint} {unknown.value.data}"
        assert "BlueHeron" not in told
        assert PROJECT not in unknown.value.data.get("projects", [])
