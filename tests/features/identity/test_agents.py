"""Looking agents up, retiring them and setting their status, through tools and resources."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.domain.identity.caller import AgentAuth, ReservedIdentity, TokenMissing, WrongToken
from mcp_agent_mail.domain.leases import LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.features.identity.service import LEASES_AT_ONCE
from tests.features.identity.desk import OPERATOR, PROJECT, Desk, Ticking, open_desk, with_token


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path, clock=Ticking()) as opened:
        await opened.call("ensure_project", human_key=PROJECT)
        yield opened


async def whois(desk: Desk, name: str, **more: Any) -> Any:
    return await desk.call("whois", project_key=PROJECT, agent_name=name, **more)


async def list_agents(desk: Desk, **more: Any) -> Any:
    return await desk.call("list_agents", project_key=PROJECT, **more)


def names(listed: Any) -> list[str]:
    return [agent["name"] for agent in listed["agents"]]


async def test_whois_shows_profile_presence_and_commits(desk: Desk) -> None:
    await desk.register("BlueLake", task_description="the parser")
    commit = ArchiveCommit(
        project_id=(await desk.store.read(lambda view: view.projects.newest(1)))[0].id,
        hexsha="0123456789abcdef0123",
        summary="archive: 4 events",
        authored_ts=Micros(1_800_000_000_000_000),
        last_seq=OutboxSeq(99),
    )
    await desk.store.write(lambda tx: tx.outbox.mark(commit))

    shown = await whois(desk, " bluelake ")
    without = await whois(desk, "BlueLake", include_recent_commits=False)

    assert shown["recent_commits"] == [
        {
            "hexsha": "0123456789ab",
            "summary": "archive: 4 events",
            "authored_ts": "2027-01-15T08:00:00.000000+00:00",
        }
    ]
    assert (shown["status"], shown["status_note"], shown["status_ts"], shown["retired_at"]) == (
        "ready",
        None,
        None,
        None,
    )
    assert without["recent_commits"] == []
    assert "registration_token" not in shown


async def test_an_unknown_agent_is_told_with_the_nearest_names(desk: Desk) -> None:
    await desk.register("BlueLake")

    with pytest.raises(NotFound) as near:
        await whois(desk, "BlueLak")
    with pytest.raises(NotFound) as overseer:
        await whois(desk, "Humna")

    assert near.value.data["nearest"] == ["BlueLake"]
    assert near.value.hint.startswith("Did you mean BlueLake?")
    assert overseer.value.data["nearest"] == ["Human"]


@pytest.mark.parametrize("name", ["Human", "System"])
async def test_human_and_system_can_be_looked_up_and_are_not_listed(name: str, desk: Desk) -> None:
    await desk.register("BlueLake")

    assert (await whois(desk, name))["name"] == name
    assert names(await list_agents(desk)) == ["BlueLake"]
    assert names(await desk.read(f"resource://agents/{PROJECT}")) == ["BlueLake"]
    assert names(await desk.read(f"resource://project/{PROJECT}")) == ["BlueLake"]


async def test_agents_are_listed_last_active_first_and_total_counts_beyond_the_limit(desk: Desk) -> None:
    for name in ("One", "Two", "Three"):
        await desk.register(name)
    await desk.register("One")

    listed = await list_agents(desk)
    limited = await list_agents(desk, limit=1)

    assert names(listed) == ["One", "Three", "Two"]
    assert (names(limited), limited["total"]) == (["One"], 3)
    assert sorted(listed["agents"][0]) == [
        "contact_policy",
        "last_active_ts",
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
    async with open_desk(tmp_path, clock=clock) as desk:
        await desk.call("ensure_project", human_key=PROJECT)
        for name in ("Early", "Other"):
            await desk.register(name)
        await desk.activity.flush()
        clock.now = Micros(clock.now + 3_600_000_000)

        nobody = await list_agents(desk, active_within_s=60)
        await desk.register("Early")
        active = await list_agents(desk, active_within_s=60)
        stored = await desk.rows("SELECT last_active_ts FROM agents WHERE name = 'Early'")
        await desk.activity.flush()

        assert (nobody["agents"], nobody["total"]) == ([], 0)
        assert (names(active), active["total"]) == (["Early"], 1)
        assert stored < await desk.rows("SELECT last_active_ts FROM agents WHERE name = 'Early'")
        assert await list_agents(desk, active_within_s=60) == active


async def test_a_retired_agent_is_listed_only_when_asked_for(desk: Desk) -> None:
    await desk.register("BlueLake")
    await desk.register("GoneElm")
    retired = await desk.call("deregister_agent", project_key=PROJECT, agent_name="goneelm")

    plain = await list_agents(desk)
    everyone = await list_agents(desk, include_retired=True)
    by_uri = await desk.read(f"resource://agents/{PROJECT}")
    by_uri_with_retired = await desk.read(f"resource://agents/{PROJECT}?include_retired=true")

    assert (names(plain), plain["total"]) == (["BlueLake"], 1)
    assert (sorted(names(everyone)), everyone["total"]) == (["BlueLake", "GoneElm"], 2)
    assert names(by_uri) == ["BlueLake"]
    assert sorted(names(by_uri_with_retired)) == ["BlueLake", "GoneElm"]
    assert {agent["name"]: agent["retired_at"] for agent in everyone["agents"]} == {
        "BlueLake": None,
        "GoneElm": retired["retired_at"],
    }


async def test_retiring_keeps_its_first_time_and_can_be_undone(desk: Desk) -> None:
    agent = await desk.register("BlueLake")

    first = await desk.call("deregister_agent", project_key=PROJECT, agent_name="BlueLake")
    again = await desk.call("deregister_agent", project_key=PROJECT, agent_name="BlueLake")
    back = await desk.call("unretire_agent", project_key=PROJECT, agent_name="BlueLake")
    snapshots = [json.loads(row[0]) for row in await desk.rows("SELECT snapshot FROM outbox WHERE kind = 'profile'")]

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


async def test_a_retired_agents_token_still_proves_it(desk: Desk) -> None:
    me = with_token((await desk.register("BlueLake"))["registration_token"])
    await desk.call("deregister_agent", by=me, project_key=PROJECT, agent_name="BlueLake")

    back = await desk.call("unretire_agent", by=me, project_key=PROJECT, agent_name="BlueLake")

    assert back["verified"] is True


async def test_a_status_is_shown_to_peers_until_it_changes(desk: Desk) -> None:
    await desk.register("BlueLake")

    busy = await desk.call("set_status", project_key=PROJECT, agent_name="bluelake", status=" BUSY ", note="tests")
    peer = (await list_agents(desk))["agents"][0]
    ready = await desk.call("set_status", project_key=PROJECT, agent_name="BlueLake", status="ready")

    assert busy == {
        "agent": "BlueLake",
        "status": "busy",
        "status_note": "tests",
        "status_ts": busy["status_ts"],
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
async def test_an_act_is_the_agents_own(tool: str, arguments: dict[str, Any], desk: Desk) -> None:
    me = with_token((await desk.register("BlueLake"))["registration_token"])
    other = with_token((await desk.register("RedStone"))["registration_token"])
    call = {"project_key": PROJECT, "agent_name": "BlueLake", **arguments}

    taken_at_its_word = await desk.call(tool, **call)
    proven = await desk.call(tool, by=me, **call)
    by_operator = await desk.call(tool, by=OPERATOR, **call)
    with pytest.raises(WrongToken):
        await desk.call(tool, by=other, **call)
    with pytest.raises(PermissionDenied, match="not valid"):
        await desk.call(tool, **call, registration_token="amt_wrong")

    assert [answer["verified"] for answer in (taken_at_its_word, proven, by_operator)] == [False, True, True]


@pytest.mark.parametrize(("tool", "arguments"), ACTS)
async def test_in_strict_mode_an_act_needs_the_token(tool: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    async with open_desk(tmp_path, auth=AgentAuth.STRICT) as desk:
        await desk.call("ensure_project", human_key=PROJECT)
        me = with_token((await desk.register("BlueLake"))["registration_token"])
        call = {"project_key": PROJECT, "agent_name": "BlueLake", **arguments}

        with pytest.raises(TokenMissing):
            await desk.call(tool, **call)
        assert "verified" not in await desk.call(tool, by=me, **call)
        assert names(await list_agents(desk, include_retired=True)) == ["BlueLake"]


@pytest.mark.parametrize(("tool", "arguments"), ACTS)
@pytest.mark.parametrize("name", ["Human", "human", "System"])
async def test_no_one_acts_on_human_and_system(tool: str, arguments: dict[str, Any], name: str, desk: Desk) -> None:
    call = {"project_key": PROJECT, "agent_name": name, **arguments}

    for by in (None, OPERATOR):
        with pytest.raises(ReservedIdentity):
            await desk.call(tool, **call, **({"by": by} if by else {}))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("register_agent", {"program": "x" * 129}),
        ("register_agent", {"model": " "}),
        ("register_agent", {"task_description": "x" * 4_001}),
        ("register_agent", {"attachments_policy": "never"}),
        ("set_status", {"status": "asleep"}),
        ("set_status", {"note": "x" * 1_001}),
        ("whois", {"commit_limit": 0}),
        ("list_agents", {"limit": 0}),
        ("list_agents", {"active_within_s": 0}),
    ],
)
async def test_what_is_beyond_a_limit_is_refused(tool: str, arguments: dict[str, Any], desk: Desk) -> None:
    needed = {
        "register_agent": {"program": "p", "model": "m", "name": "BlueLake"},
        "set_status": {"agent_name": "BlueLake", "status": "busy"},
        "whois": {"agent_name": "BlueLake"},
        "list_agents": {},
    }

    with pytest.raises(InvalidInput):
        await desk.call(tool, **{"project_key": PROJECT, **needed[tool], **arguments})


async def test_more_than_the_most_counts_as_the_most(desk: Desk) -> None:
    await desk.register("BlueLake")

    assert names(await list_agents(desk, limit=10**18, active_within_s=10**18)) == ["BlueLake"]
    assert (await whois(desk, "BlueLake", commit_limit=10**18))["name"] == "BlueLake"


async def test_the_agents_resource_tells_the_project_and_unread_mail(desk: Desk) -> None:
    await desk.register("BlueLake")

    shown = await desk.read(f"resource://agents/{PROJECT}")

    assert sorted(shown["project"]) == ["human_key", "slug"]
    assert shown["agents"][0]["unread_count"] == 0
    assert "retired_at" not in shown["agents"][0]


async def test_whoever_retires_holds_nothing_any_more_however_much_it_was(desk: Desk) -> None:
    agent = await desk.register("BlueLake")
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
    await desk.store.write(lambda tx: tx.leases.add_many([new] * count, tx.now))

    retired = await desk.call("deregister_agent", project_key=PROJECT, agent_name="BlueLake")

    assert retired["released"] == count
    assert await desk.rows("SELECT ended_by, count(*) FROM leases GROUP BY ended_by") == [("retirement", count)]
    assert await desk.rows("SELECT count(*) FROM outbox WHERE kind = 'reservation'") == [(count,)]
