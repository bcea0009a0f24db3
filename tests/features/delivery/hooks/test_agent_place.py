from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.tools import Credentials
from tests.features.macros.harness import APP, MacrosHarness, open_macros

A_HOOK = Credentials(via="rpc")


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[MacrosHarness]:
    async with open_macros(tmp_path) as opened:
        for name in ("BlueLake", "RedStone"):
            await opened.start(name)
        yield opened


# Plain JSON.
async def place(team: MacrosHarness, **more: Any) -> Any:
    given = {"project_key": APP, "agent_name": "RedStone", "session": "s", "event": "start", "reprime": True}
    return (await team.call("hook_event", A_HOOK, **given, **more))["reprime"]


async def number_of(team: MacrosHarness, **more: Any) -> int:
    sent = await team.send("BlueLake", "RedStone", **more)
    number = sent["deliveries"][0]["payload"]["id"]
    assert isinstance(number, int)
    return number


async def test_an_agent_is_told_who_it_is_and_where_it_stands(team: MacrosHarness) -> None:
    who = {"project_key": APP, "agent_name": "RedStone"}
    held = await team.call("file_reservation_paths", **who, paths=["src/**"], ttl_seconds=600)
    number = await number_of(team, ack_required=True, subject="Answer me")

    found = await place(team)

    assert found == {
        "agent": "RedStone",
        "project": APP,
        "peers": ["BlueLake"],
        "peers_more": 0,
        "leases": [{"path_pattern": "src/**", "expires_ts": held["granted"][0]["expires_ts"]}],
        "leases_more": 0,
        "unread": 1,
        "to_acknowledge": [{"id": number, "from": "BlueLake", "subject": "Answer me"}],
        "to_acknowledge_more": 0,
    }


async def test_what_the_same_answer_tells_of_is_not_listed_to_be_acknowledged(team: MacrosHarness) -> None:
    first = await number_of(team, ack_required=True)
    second = await number_of(team, ack_required=True)
    third = await number_of(team, ack_required=True, importance="high")

    found = await place(team, least="any", limit=2)

    assert [one["id"] for one in found["to_acknowledge"]] == [second]
    assert found["to_acknowledge_more"] == 0
    assert {first, third} & {one["id"] for one in found["to_acknowledge"]} == set()


async def test_each_list_is_bounded_and_says_what_it_leaves_out(team: MacrosHarness) -> None:
    who = {"project_key": APP, "agent_name": "RedStone"}
    for number in range(12):
        await team.start(f"Peer-{number}")
        await number_of(team, ack_required=True)
    await team.call("file_reservation_paths", **who, paths=[f"src/{number}" for number in range(12)], ttl_seconds=600)

    found = await place(team)

    assert [len(found[name]) for name in ("peers", "leases", "to_acknowledge")] == [10, 10, 10]
    assert [found[f"{name}_more"] for name in ("peers", "leases", "to_acknowledge")] == [3, 2, 2]


async def test_peers_are_those_who_listen_first_and_then_those_who_called_within_the_hour(team: MacrosHarness) -> None:
    await team.start("GreyOwl")
    team.clock.step(3_601)
    await team.start("QuietFox")
    await team.call("heartbeat", A_HOOK, project_key=APP, agent_name="GreyOwl", session="g", event="idle")

    found = await place(team)

    assert (found["peers"], found["peers_more"]) == (["GreyOwl", "QuietFox"], 0)
