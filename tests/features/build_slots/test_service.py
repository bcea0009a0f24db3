from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.projects import ProjectArchived
from mcp_agent_mail.domain.reservations import TooManyLeases
from mcp_agent_mail.features.build_slots import service
from mcp_agent_mail.features.identity.actor import AgentRetired
from tests.features.build_slots.harness import open_build_slots


async def test_a_free_slot_is_granted_with_the_branch_of_the_workspace(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        answer = await harness.does("acquire", "BlueLake")

        assert answer == {
            "granted": {
                "slot": "build",
                "agent": "BlueLake",
                "branch": "main",
                "exclusive": True,
                "acquired_ts": "2027-01-15T08:00:00.000000+00:00",
                "expires_ts": "2027-01-15T09:00:00.000000+00:00",
                "fencing": 1,
            },
            "conflicts": [],
        }


async def test_a_slot_that_another_holds_is_not_granted_and_its_holder_named(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        held = await harness.does("acquire", "BlueLake")

        answer = await harness.does("acquire", "RedStone")

        assert answer == {"granted": None, "conflicts": [held["granted"]]}


@pytest.mark.parametrize(
    ("first", "second", "is_granted"),
    [(True, True, False), (True, False, False), (False, True, False), (False,) * 2 + (True,)],
)
async def test_only_shared_holders_get_on_with_each_other(
    tmp_path: Path, first: bool, second: bool, is_granted: bool
) -> None:
    async with open_build_slots(tmp_path) as harness:
        await harness.does("acquire", "BlueLake", exclusive=first)

        answer = await harness.does("acquire", "RedStone", exclusive=second)

        assert (answer["granted"] is not None) is is_granted


async def test_slots_are_told_apart_by_their_very_names(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        await harness.does("acquire", "BlueLake", "build")

        answers = [
            await harness.does("acquire", "RedStone", slot) for slot in ("Build", "build/x", "build*", " build ")
        ]

        assert [answer["granted"] is not None for answer in answers] == [True, True, True, False]


async def test_an_agents_own_slot_is_prolonged_and_never_shortened(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        first = await harness.does("acquire", "BlueLake", ttl_seconds=600)
        harness.clock.step(60)

        longer = await harness.does("acquire", "BlueLake", ttl_seconds=600)
        shorter = await harness.does("acquire", "BlueLake", ttl_seconds=60)

        assert longer["granted"]["expires_ts"] == "2027-01-15T08:11:00.000000+00:00"
        assert shorter["granted"] == longer["granted"]
        assert longer["granted"]["fencing"] == first["granted"]["fencing"]
        assert {told["id"] for told in (await harness.told())} == {1}


async def test_a_shared_slot_becomes_exclusive_only_for_its_only_holder(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        await harness.does("acquire", "BlueLake", exclusive=False)
        await harness.does("acquire", "RedStone", exclusive=False)

        beside_another = await harness.does("acquire", "BlueLake", exclusive=True)
        await harness.does("release", "RedStone")
        alone = await harness.does("acquire", "BlueLake", exclusive=True)

        assert beside_another["granted"] is None
        assert (alone["granted"]["exclusive"], alone["granted"]["fencing"]) == (True, 3)


async def test_a_slot_is_free_at_the_instant_it_expires(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        await harness.does("acquire", "BlueLake", ttl_seconds=60)

        harness.clock.step(59.999999)
        before = await harness.does("acquire", "RedStone")
        harness.clock.step(0.000001)
        at_the_instant = await harness.does("acquire", "RedStone")

        assert (before["granted"] is None, at_the_instant["granted"] is None) == (True, False)


async def test_renewing_counts_from_now_and_only_for_a_holder(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        await harness.does("acquire", "BlueLake", ttl_seconds=60)
        harness.clock.step(30)

        renewed = await harness.does("renew", "BlueLake", extend_seconds=120)
        not_held = await harness.does("renew", "RedStone")
        harness.clock.step(120)
        expired = await harness.does("renew", "BlueLake")

        assert renewed == {"renewed": True, "expires_ts": "2027-01-15T08:02:30.000000+00:00"}
        assert not_held == expired == {"renewed": False, "expires_ts": None}


async def test_releasing_gives_it_back_at_once_and_may_be_repeated(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        await harness.does("acquire", "BlueLake")

        released = await harness.does("release", "BlueLake")
        again = await harness.does("release", "BlueLake")
        taken = await harness.does("acquire", "RedStone")

        assert released == {"released": True, "released_at": "2027-01-15T08:00:00.000000+00:00"}
        assert again == {"released": False, "released_at": None}
        assert taken["granted"]["fencing"] == 2


async def test_of_many_at_once_exactly_one_gets_an_exclusive_slot(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        names = ["BlueLake", "RedStone", "GreenField"]

        answers = await asyncio.gather(*(harness.does("acquire", name) for name in names))

        assert sum(answer["granted"] is not None for answer in answers) == 1


async def test_the_archive_is_told_of_every_change(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        await harness.does("acquire", "BlueLake")
        await harness.does("renew", "BlueLake")
        await harness.does("release", "BlueLake")

        told = await harness.told()

        assert [one["ended_by"] for one in told] == [None, None, "release"]
        assert {one["acting"] for one in told} == {"BlueLake"}


async def test_every_call_is_activity_of_its_agent(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        for tool in ("acquire", "renew", "release"):
            await harness.does(tool, "BlueLake")
        await harness.does("renew", "RedStone")

        assert harness.active == ["BlueLake"] * 3 + ["RedStone"]


@pytest.mark.parametrize("slot", [" ", "x" * 129, "a\nb"])
async def test_an_unfit_name_is_refused(tmp_path: Path, slot: str) -> None:
    async with open_build_slots(tmp_path) as harness:
        with pytest.raises(InvalidInput, match="slot"):
            await harness.does("acquire", "BlueLake", slot)


async def test_a_retired_agent_holds_nothing(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        await harness.store.write(lambda tx: tx.agents.set_retired(harness.blue.id, tx.now, tx.now))

        with pytest.raises(AgentRetired):
            await harness.does("acquire", "BlueLake")


async def test_an_archived_project_grants_nothing(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        await harness.store.write(lambda tx: tx.projects.set_archived(harness.project.id, tx.now))

        with pytest.raises(ProjectArchived):
            await harness.does("acquire", "BlueLake")


async def test_an_agent_holds_no_more_slots_than_one_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_LIVE_LEASES", 2)
    async with open_build_slots(tmp_path) as harness:
        for slot in ("one", "two"):
            await harness.does("acquire", "BlueLake", slot)

        with pytest.raises(TooManyLeases):
            await harness.does("acquire", "BlueLake", "three")
        prolonged = await harness.does("acquire", "BlueLake", "two")

        assert prolonged["granted"] is not None
