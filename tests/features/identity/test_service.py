"""Looking agents up, retiring them and setting their status, through tools and resources."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import NotFound, PermissionDenied
from mcp_agent_mail.domain.identity.caller import AgentAuth, ReservedIdentity, TokenMissing, WrongToken
from mcp_agent_mail.domain.leases import LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.features.identity.service import LEASES_AT_ONCE
from tests.features.identity.harness import OPERATOR, PROJECT, IdentityHarness, Ticking, open_identity, with_token


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[IdentityHarness]:
    async with open_identity(tmp_path, clock=Ticking()) as opened:
        await opened.call("ensure_project", human_key=PROJECT)
        yield opened


async def whois(harness: IdentityHarness, name: str, **more: Any) -> Any:
    return await harness.call("whois", project_key=PROJECT, agent_name=name, **more)


async def list_agents(harness: IdentityHarness, **more: Any) -> Any:
    return await harness.call("list_agents", project_key=PROJECT, **more)


def names(listed: Any) -> list[str]:
    return [agent["name"] for agent in listed["agents"]]


async def test_an_unknown_agent_is_told_with_the_nearest_names(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")

    with pytest.raises(NotFound) as near:
        await whois(harness, "BlueLak")
    with pytest.raises(NotFound) as overseer:
        await whois(harness, "Humna")

    assert near.value.data["nearest"] == ["BlueLake"]
    assert near.value.hint.startswith("Did you mean BlueLake?")
    assert overseer.value.data["nearest"] == ["Human"]


@pytest.mark.parametrize("name", ["Human", "System"])
async def test_human_and_system_can_be_looked_up_and_are_not_listed(name: str, harness: IdentityHarness) -> None:
    await harness.register("BlueLake")

    assert (await whois(harness, name))["name"] == name
    assert names(await list_agents(harness)) == ["BlueLake"]
    assert names(await harness.read(f"resource://agents/{PROJECT}")) == ["BlueLake"]
    assert names(await harness.read(f"resource://project/{PROJECT}")) == ["BlueLake"]


async def test_agents_are_listed_last_active_first_and_total_counts_beyond_the_limit(harness: IdentityHarness) -> None:
    for name in ("One", "Two", "Three"):
        await harness.register(name)
    await harness.register("One")

    listed = await list_agents(harness)
    limited = await list_agents(harness, limit=1)

    assert names(listed) == ["One", "Three", "Two"]
    assert (names(limited), limited["total"]) == (["One"], 3)
    assert sorted(listed["agents"][0]) == [
        "busy_since",
        "contact_policy",
        "last_active_ts",
        "listening",
        "listening_via",
        "model",
        "name",
        "program",
        "retired_at",
        "status",
        "status_note",
        "task_description",
        "unread_count",
    ]


async def test_an_agent_whose_activity_is_not_written_yet_counts_as_active(tmp_path: Path) -> None:
    clock = Ticking()
    async with open_identity(tmp_path, clock=clock) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        for name in ("Early", "Other"):
            await harness.register(name)
        await harness.activity.flush()
        clock.now = Micros(clock.now + 3_600_000_000)

        nobody = await list_agents(harness, active_within_s=60)
        await harness.register("Early")
        active = await list_agents(harness, active_within_s=60)
        stored = await harness.rows("SELECT last_active_ts FROM agents WHERE name = 'Early'")
        await harness.activity.flush()

        assert (nobody["agents"], nobody["total"]) == ([], 0)
        assert (names(active), active["total"]) == (["Early"], 1)
        assert stored < (await harness.rows("SELECT last_active_ts FROM agents WHERE name = 'Early'"))
        assert await list_agents(harness, active_within_s=60) == active


async def test_a_retired_agent_is_listed_only_when_asked_for(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    await harness.register("GoneElm")
    retired = await harness.call("deregister_agent", project_key=PROJECT, agent_name="goneelm")

    plain = await list_agents(harness)
    everyone = await list_agents(harness, include_retired=True)
    by_uri = await harness.read(f"resource://agents/{PROJECT}")
    by_uri_with_retired = await harness.read(f"resource://agents/{PROJECT}?include_retired=true")

    assert (names(plain), plain["total"]) == (["BlueLake"], 1)
    assert (sorted(names(everyone)), everyone["total"]) == (["BlueLake", "GoneElm"], 2)
    assert names(by_uri) == ["BlueLake"]
    assert sorted(names(by_uri_with_retired)) == ["BlueLake", "GoneElm"]
    assert {agent["name"]: agent["retired_at"] for agent in everyone["agents"]} == {
        "BlueLake": None,
        "GoneElm": retired["retired_at"],
    }


async def test_retiring_keeps_its_first_time_and_can_be_undone(harness: IdentityHarness) -> None:
    agent = await harness.register("BlueLake")

    first = await harness.call("deregister_agent", project_key=PROJECT, agent_name="BlueLake")
    again = await harness.call("deregister_agent", project_key=PROJECT, agent_name="BlueLake")
    back = await harness.call("unretire_agent", project_key=PROJECT, agent_name="BlueLake")
    snapshots = [
        json.loads(row[0]) for row in (await harness.rows("SELECT snapshot FROM outbox WHERE kind = 'profile'"))
    ]

    assert first == again
    assert first == {
        "status": "deregistered",
        "agent_name": "BlueLake",
        "project_key": PROJECT,
        "retired_at": first["retired_at"],
        "released": 0,
        "verified": False,
    }
    assert (back["id"], "registration_token" in back) == (agent["id"], False)
    assert [bool(one["retired_ts"]) for one in snapshots if one["name"] == "BlueLake"] == [False, True, False]


async def test_a_retired_agents_token_still_proves_it(harness: IdentityHarness) -> None:
    me = with_token((await harness.register("BlueLake"))["registration_token"])
    await harness.call("deregister_agent", by=me, project_key=PROJECT, agent_name="BlueLake")

    back = await harness.call("unretire_agent", by=me, project_key=PROJECT, agent_name="BlueLake")

    assert back["verified"] is True


async def test_a_status_is_shown_to_peers_until_it_changes(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")

    busy = await harness.call("set_status", project_key=PROJECT, agent_name="bluelake", status=" BUSY ", note="tests")
    peer = (await list_agents(harness))["agents"][0]
    ready = await harness.call("set_status", project_key=PROJECT, agent_name="BlueLake", status="ready")

    assert busy == {
        "agent": "BlueLake",
        "status": "busy",
        "status_note": "tests",
        "status_ts": busy["status_ts"],
        "listening": False,
        "listening_via": None,
        "busy_since": None,
        "retired_at": None,
        "verified": False,
    }
    assert (peer["status"], peer["status_note"]) == ("busy", "tests")
    assert (ready["status"], ready["status_note"]) == ("ready", None)


ACTS: list[tuple[str, dict[str, Any]]] = [
    ("deregister_agent", {}),
    ("unretire_agent", {}),
    ("set_status", {"status": "busy"}),
]


@pytest.mark.parametrize(("tool", "arguments"), ACTS)
async def test_an_act_is_the_agents_own(tool: str, arguments: dict[str, Any], harness: IdentityHarness) -> None:
    me = with_token((await harness.register("BlueLake"))["registration_token"])
    other = with_token((await harness.register("RedStone"))["registration_token"])
    call = {"project_key": PROJECT, "agent_name": "BlueLake", **arguments}

    taken_at_its_word = await harness.call(tool, **call)
    proven = await harness.call(tool, by=me, **call)
    by_operator = await harness.call(tool, by=OPERATOR, **call)
    with pytest.raises(WrongToken):
        await harness.call(tool, by=other, **call)
    with pytest.raises(PermissionDenied, match="not valid"):
        await harness.call(tool, **call, registration_token="amt_wrong")

    assert [answer["verified"] for answer in (taken_at_its_word, proven, by_operator)] == [False, True, True]


@pytest.mark.parametrize(("tool", "arguments"), ACTS)
async def test_in_strict_mode_an_act_needs_the_token(tool: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    async with open_identity(tmp_path, auth=AgentAuth.STRICT) as harness:
        await harness.call("ensure_project", human_key=PROJECT)
        me = with_token((await harness.register("BlueLake"))["registration_token"])
        call = {"project_key": PROJECT, "agent_name": "BlueLake", **arguments}

        with pytest.raises(TokenMissing):
            await harness.call(tool, **call)
        assert "verified" not in await harness.call(tool, by=me, **call)
        assert names(await list_agents(harness, include_retired=True)) == ["BlueLake"]


@pytest.mark.parametrize(("tool", "arguments"), ACTS)
@pytest.mark.parametrize("name", ["Human", "human", "System"])
async def test_no_one_acts_on_human_and_system(
    tool: str, arguments: dict[str, Any], name: str, harness: IdentityHarness
) -> None:
    call = {"project_key": PROJECT, "agent_name": name, **arguments}

    for by in (None, OPERATOR):
        with pytest.raises(ReservedIdentity):
            await harness.call(tool, **call, **({"by": by} if by else {}))


async def test_whoever_retires_holds_nothing_any_more_however_much_it_was(harness: IdentityHarness) -> None:
    agent = await harness.register("BlueLake")
    count = LEASES_AT_ONCE + 10
    new = NewLease(
        project_id=agent["project_id"],
        agent_id=agent["id"],
        agent="BlueLake",
        kind=LeaseKind.FILE,
        path_pattern="src/**",
        keys=LeaseKeys(anchor="src"),
        exclusive=False,
        reason="",
        expires_ts=Micros(2_000_000_000 * SECOND),
    )
    await harness.store.write(lambda tx: tx.leases.add_many([new] * count, tx.now))

    retired = await harness.call("deregister_agent", project_key=PROJECT, agent_name="BlueLake")

    assert retired["released"] == count
    assert (await harness.rows("SELECT ended_by, count(*) FROM leases GROUP BY ended_by")) == [("retirement", count)]
    assert (await harness.rows("SELECT count(*) FROM outbox WHERE kind = 'reservation'")) == [(count,)]
