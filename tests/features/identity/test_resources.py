from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.identity.harness import PROJECT, IdentityHarness, Ticking, open_identity


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[IdentityHarness]:
    async with open_identity(tmp_path, clock=Ticking()) as opened:
        await opened.call("ensure_project", human_key=PROJECT)
        yield opened


async def test_the_agents_resource_tells_the_project_and_unread_mail(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")

    shown = await harness.read(f"resource://agents/{PROJECT}")

    assert sorted(shown["project"]) == ["human_key", "slug"]
    assert shown["agents"][0]["unread_count"] == 0
    assert "retired_at" not in shown["agents"][0]


async def test_the_agents_resource_says_who_is_listening_as_list_agents_does(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    keys = ("listening", "listening_via", "busy_since")

    (shown,) = (await harness.read(f"resource://agents/{PROJECT}"))["agents"]
    (listed,) = (await harness.call("list_agents", project_key=PROJECT))["agents"]

    assert (
        {key: shown[key] for key in keys}
        == {key: listed[key] for key in keys}
        == {
            "listening": False,
            "listening_via": None,
            "busy_since": None,
        }
    )


async def test_the_retired_are_among_the_agents_only_when_asked_for(harness: IdentityHarness) -> None:
    for name in ("BlueLake", "RedStone"):
        await harness.register(name)
    await harness.call("deregister_agent", project_key=PROJECT, agent_name="RedStone")

    present = await harness.read(f"resource://agents/{PROJECT}")
    everyone = await harness.read(f"resource://agents/{PROJECT}?include_retired=true")

    assert [agent["name"] for agent in present["agents"]] == ["BlueLake"]
    assert {agent["name"]: agent["retired_at"] is None for agent in everyone["agents"]} == {
        "BlueLake": True,
        "RedStone": False,
    }


async def test_a_project_is_read_by_slug_or_path_with_its_agents(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")

    by_path = await harness.read(f"resource://project/{PROJECT}")
    by_slug = await harness.read(f"resource://project/{by_path['slug']}")

    assert by_slug == by_path
    assert (by_path["human_key"], [agent["name"] for agent in by_path["agents"]]) == (PROJECT, ["BlueLake"])
