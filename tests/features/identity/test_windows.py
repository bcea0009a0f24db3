"""Windows: who comes back in one, and for how long one is known."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import AuthenticationRequired, Conflict, InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.domain.identity.windows import DAY
from tests.features.identity.harness import (
    NOBODY,
    OPERATOR,
    PROFILE,
    PROJECT,
    IdentityHarness,
    open_identity,
    with_token,
)
from tests.seeded_store import SetClock

ONE = "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"
TWO = "4f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c12"
OTHER = "/code/other"


def from_window(uuid: str = ONE, token: str | None = None) -> Credentials:
    return Credentials(via="mcp", window_id=uuid, agent_token=token)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def harness(tmp_path: Path, clock: SetClock) -> AsyncIterator[IdentityHarness]:
    async with open_identity(tmp_path, clock=clock) as harness:
        for project in (PROJECT, OTHER):
            await harness.call("ensure_project", human_key=project)
        yield harness


async def windows(harness: IdentityHarness, project: str = PROJECT, by: Credentials = OPERATOR) -> list[dict[str, Any]]:
    listing = await harness.call("list_window_identities", by=by, project_key=project)
    assert listing["count"] == len(listing["identities"])
    found: list[dict[str, Any]] = listing["identities"]
    return found


async def rename(harness: IdentityHarness, name: str, uuid: str = ONE, by: Credentials = NOBODY) -> Any:
    return await harness.call("rename_window", by=by, project_key=PROJECT, window_uuid=uuid, new_display_name=name)


async def expire(harness: IdentityHarness, uuid: str = ONE, by: Credentials = NOBODY) -> Any:
    return await harness.call("expire_window", by=by, project_key=PROJECT, window_uuid=uuid)


async def test_registering_without_a_name_begins_a_window_of_the_generated_name(harness: IdentityHarness) -> None:
    agent = await harness.register(by=from_window(ONE.upper()))

    assert (agent["window_id"], agent["window_display_name"]) == (ONE, agent["name"])
    assert "requested_name" not in agent


async def test_registering_again_from_the_window_is_coming_back(harness: IdentityHarness) -> None:
    first = await harness.register(by=from_window())

    again = await harness.register(by=from_window(), task_description="more")

    assert (again["id"], again["name"], again["task_description"]) == (first["id"], first["name"], "more")
    assert again["window_id"] == ONE
    assert "registration_token" not in again


async def test_eight_at_once_from_one_window_are_one_agent(harness: IdentityHarness) -> None:
    agents = await asyncio.gather(*(harness.register(by=from_window()) for _ in range(8)))

    assert len({agent["id"] for agent in agents}) == 1


async def test_two_windows_are_two_agents_and_a_call_without_one_a_third(harness: IdentityHarness) -> None:
    agents = [await harness.register(by=by) for by in (from_window(ONE), from_window(TWO), NOBODY)]

    assert len({agent["id"] for agent in agents}) == 3
    assert "window_id" not in agents[2]


async def test_one_window_has_a_name_of_its_own_in_each_project(harness: IdentityHarness) -> None:
    here = await harness.register(by=from_window())
    there = await harness.register(by=from_window(), project_key=OTHER)

    assert here["name"] != there["name"]
    assert [window["display_name"] for window in await windows(harness, OTHER)] == [there["name"]]


async def test_a_name_said_names_a_new_window_and_leaves_a_live_one_alone(harness: IdentityHarness) -> None:
    await harness.register("BlueLake", by=from_window())

    helper = await harness.register("RedStone", by=from_window())

    assert (helper["name"], helper["window_display_name"]) == ("RedStone", "BlueLake")
    assert (await harness.register(by=from_window()))["name"] == "BlueLake"


async def test_a_new_identity_leaves_a_live_window_alone(harness: IdentityHarness) -> None:
    await harness.register("BlueLake", by=from_window())

    made = await harness.call("create_agent_identity", by=from_window(), project_key=PROJECT, **PROFILE)

    assert made["window_display_name"] == "BlueLake"
    assert made["name"] != "BlueLake"


async def test_an_id_that_is_no_uuid_is_refused_where_it_counts(harness: IdentityHarness) -> None:
    with pytest.raises(InvalidInput):
        await harness.register(by=from_window("window-1"))

    assert await windows(harness) == []
    assert (await harness.rows("SELECT count(*) FROM agents WHERE kind = 'agent'")) == [(0,)]
    await harness.call("list_agents", by=from_window("window-1"), project_key=PROJECT)


async def test_the_id_of_a_window_is_shown_to_who_shows_it_and_to_the_operator(harness: IdentityHarness) -> None:
    red = await harness.register("RedStone", by=from_window(TWO))
    await harness.register("BlueLake", by=from_window(ONE))

    async def shown(by: Credentials) -> list[str | None]:
        return sorted((one["window_uuid"] or "-") for one in await windows(harness, by=by))

    assert await shown(NOBODY) == ["-", "-"]
    assert await shown(with_token(red["registration_token"])) == ["-", "-"]
    assert await shown(from_window(ONE.upper())) == sorted((ONE, "-"))
    assert await shown(OPERATOR) == [ONE, TWO]


async def test_the_list_shows_live_windows_last_used_first(harness: IdentityHarness, clock: SetClock) -> None:
    await harness.register("BlueLake", by=from_window(ONE))
    clock.step(2.5 * 86_400)
    await harness.register("RedStone", by=from_window(TWO))

    newer, older = await windows(harness)

    assert (newer["window_uuid"], newer["age_days"]) == (TWO, 0)
    assert older == {
        "id": older["id"],
        "window_uuid": ONE,
        "display_name": "BlueLake",
        "created_ts": iso(SetClock().now),
        "last_active_ts": iso(SetClock().now),
        "expires_ts": iso(type(clock.now)(SetClock().now + 30 * DAY)),
        "age_days": 2,
    }


async def test_a_window_lapses_after_thirty_days_without_a_call(harness: IdentityHarness, clock: SetClock) -> None:
    first = await harness.register(by=from_window())
    clock.step(30 * 86_400)

    assert await windows(harness) == []
    again = await harness.register(by=from_window())

    assert again["id"] != first["id"]
    assert [window["display_name"] for window in await windows(harness)] == [again["name"]]


async def test_any_call_from_the_window_extends_it_without_a_write_of_its_own(
    harness: IdentityHarness, clock: SetClock
) -> None:
    first = await harness.register(by=from_window())
    clock.step(29 * 86_400)
    written = await harness.rows("SELECT last_active_ts FROM windows")

    await harness.call("list_agents", by=from_window(), project_key=PROJECT)

    assert (await harness.rows("SELECT last_active_ts FROM windows")) == written
    assert [window["last_active_ts"] for window in await windows(harness)] == [iso(clock.now)]
    await harness.activity.flush()
    assert (await harness.rows("SELECT last_active_ts FROM windows")) == [(clock.now,)]
    clock.step(29 * 86_400)
    assert (await harness.register(by=from_window()))["id"] == first["id"]


async def test_a_call_does_not_bring_a_lapsed_or_expired_window_back(harness: IdentityHarness, clock: SetClock) -> None:
    await harness.register(by=from_window(ONE))
    clock.step(29 * 86_400)
    await harness.register(by=from_window(TWO))
    await expire(harness, TWO)
    clock.step(2 * 86_400)

    for uuid in (ONE, TWO):
        await harness.call("list_agents", by=from_window(uuid), project_key=PROJECT)
    await harness.activity.flush()

    assert await windows(harness) == []


async def test_windows_not_used_for_twice_their_time_are_forgotten_when_one_begins(
    harness: IdentityHarness, clock: SetClock
) -> None:
    await harness.register(by=from_window(ONE))
    clock.step(60 * 86_400)

    await harness.register(by=from_window(TWO))

    assert (await harness.rows("SELECT window_uuid FROM windows")) == [(TWO,)]


async def test_a_renamed_window_gives_its_new_name(harness: IdentityHarness) -> None:
    first = await harness.register("BlueLake", by=from_window())

    renamed = await rename(harness, " Reviews ")

    assert list(renamed) == ["id", "window_uuid", "display_name", "old_display_name", "last_active_ts"]
    assert (renamed["display_name"], renamed["old_display_name"]) == ("Reviews", "BlueLake")
    agent = await harness.register(by=from_window())
    assert (agent["name"], agent["window_display_name"]) == ("Reviews", "Reviews")
    assert agent["id"] != first["id"]
    assert (await rename(harness, "Reviews"))["old_display_name"] == "Reviews"


async def test_the_name_of_another_live_window_is_a_clash(harness: IdentityHarness) -> None:
    await harness.register("BlueLake", by=from_window(ONE))
    await harness.register("RedStone", by=from_window(TWO))

    with pytest.raises(Conflict) as refused:
        await rename(harness, "redstone")
    assert refused.value.data == {"parameter": "new_display_name", "display_name": "RedStone"}
    await expire(harness, TWO)
    assert (await rename(harness, "redstone"))["display_name"] == "redstone"


@pytest.mark.parametrize("name", ["Human", "two words", "claude", "1st"])
async def test_a_window_takes_only_names_that_agents_may_have(name: str, harness: IdentityHarness) -> None:
    await harness.register("BlueLake", by=from_window())

    with pytest.raises(InvalidInput):
        await rename(harness, name)


async def test_an_expired_window_registers_anew(harness: IdentityHarness, clock: SetClock) -> None:
    first = await harness.register(by=from_window())
    clock.step()

    ended = await expire(harness)

    assert ended == {
        "window_uuid": ONE,
        "display_name": first["name"],
        "expired": True,
        "expired_at": iso(clock.now),
    }
    assert await windows(harness) == []
    clock.step()
    assert await expire(harness) == ended, "the first end stands"
    again = await harness.register(by=from_window())
    assert again["id"] != first["id"]
    assert again["window_display_name"] == again["name"]


async def test_a_window_nobody_knows_is_not_found_with_the_live_ones(harness: IdentityHarness) -> None:
    await harness.register("BlueLake", by=from_window(TWO))

    for refused_call in (rename(harness, "Reviews"), expire(harness)):
        with pytest.raises(NotFound) as refused:
            await refused_call
        assert refused.value.data == {"parameter": "window_uuid"}


async def test_a_window_of_another_project_is_not_found_here(harness: IdentityHarness) -> None:
    await harness.register("BlueLake", by=from_window(), project_key=OTHER)

    with pytest.raises(NotFound):
        await expire(harness)


async def test_windows_of_an_archived_project_stay_as_they_are(harness: IdentityHarness) -> None:
    await harness.register("BlueLake", by=from_window())
    await harness.call("archive_project", project_key=PROJECT)

    with pytest.raises(Conflict):
        await rename(harness, "Reviews")
    with pytest.raises(Conflict):
        await expire(harness)


async def test_under_strict_a_window_is_no_proof(tmp_path: Path) -> None:
    async with open_identity(tmp_path, auth=AgentAuth.STRICT) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        made = await harness.register(by=from_window())
        token = made["registration_token"]

        with pytest.raises(AuthenticationRequired):
            await harness.register(by=from_window())
        assert (await harness.register(by=from_window(token=token)))["id"] == made["id"]
        with pytest.raises(AuthenticationRequired):
            await rename(harness, "Reviews", by=from_window())
        with pytest.raises(AuthenticationRequired):
            await expire(harness, by=from_window())
        await rename(harness, "Reviews", by=replace(OPERATOR, window_id=TWO))
        assert (await expire(harness, by=with_token(token)))["display_name"] == "Reviews"


async def test_under_strict_an_agent_of_another_project_changes_no_window(tmp_path: Path) -> None:
    async with open_identity(tmp_path, auth=AgentAuth.STRICT) as harness:
        for project in (PROJECT, OTHER):
            await harness.call("ensure_project", human_key=project)
        await harness.register(by=from_window())
        stranger = await harness.register(project_key=OTHER)

        with pytest.raises(PermissionDenied):
            await expire(harness, by=with_token(stranger["registration_token"]))


async def test_a_window_named_like_the_program_gives_a_generated_name(harness: IdentityHarness) -> None:
    await harness.register("BlueLake", by=from_window())
    await rename(harness, PROFILE["program"])

    agent = await harness.register(by=from_window())

    assert agent["window_display_name"] == agent["name"] != PROFILE["program"]


@pytest.mark.parametrize("enforcement", [NameEnforcement.COERCE, NameEnforcement.ALWAYS_AUTO, NameEnforcement.STRICT])
async def test_where_a_windows_name_is_not_taken_the_window_gets_the_generated_one(
    enforcement: NameEnforcement, tmp_path: Path
) -> None:
    async with open_identity(tmp_path, enforcement=enforcement) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        await harness.register(by=from_window())
        await rename(harness, "Reviews")

        agent = await harness.register(by=from_window())

        assert agent["name"] not in ("Reviews", "")
        assert agent["window_display_name"] == agent["name"]
        assert "requested_name" not in agent
        assert (await harness.register(by=from_window()))["id"] == agent["id"]
