from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.projects import ProjectArchived
from mcp_agent_mail.domain.reservations import HolderRetired, TooManyLeases
from mcp_agent_mail.features.build_slots import service
from tests.features.build_slots.slot_room import open_slot_room


async def test_a_free_slot_is_granted_with_the_branch_of_the_workspace(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        answer = await room.does("acquire", "BlueLake")

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
    async with open_slot_room(tmp_path) as room:
        held = await room.does("acquire", "BlueLake")

        answer = await room.does("acquire", "RedStone")

        assert answer == {"granted": None, "conflicts": [held["granted"]]}


@pytest.mark.parametrize(
    ("first", "second", "is_granted"),
    [(True, True, False), (True, False, False), (False, True, False), (False,) * 2 + (True,)],
)
async def test_only_shared_holders_get_on_with_each_other(
    tmp_path: Path, first: bool, second: bool, is_granted: bool
) -> None:
    async with open_slot_room(tmp_path) as room:
        await room.does("acquire", "BlueLake", exclusive=first)

        answer = await room.does("acquire", "RedStone", exclusive=second)

        assert (answer["granted"] is not None) is is_granted


async def test_slots_are_told_apart_by_their_very_names(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        await room.does("acquire", "BlueLake", "build")

        answers = [await room.does("acquire", "RedStone", slot) for slot in ("Build", "build/x", "build*", " build ")]

        assert [answer["granted"] is not None for answer in answers] == [True, True, True, False]


async def test_an_agents_own_slot_is_prolonged_and_never_shortened(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        first = await room.does("acquire", "BlueLake", ttl_seconds=600)
        room.clock.step(60)

        longer = await room.does("acquire", "BlueLake", ttl_seconds=600)
        shorter = await room.does("acquire", "BlueLake", ttl_seconds=60)

        assert longer["granted"]["expires_ts"] == "2027-01-15T08:11:00.000000+00:00"
        assert shorter["granted"] == longer["granted"]
        assert longer["granted"]["fencing"] == first["granted"]["fencing"]
        assert {told["id"] for told in await room.told()} == {1}


async def test_a_shared_slot_becomes_exclusive_only_for_its_only_holder(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        await room.does("acquire", "BlueLake", exclusive=False)
        await room.does("acquire", "RedStone", exclusive=False)

        beside_another = await room.does("acquire", "BlueLake", exclusive=True)
        await room.does("release", "RedStone")
        alone = await room.does("acquire", "BlueLake", exclusive=True)

        assert beside_another["granted"] is None
        assert (alone["granted"]["exclusive"], alone["granted"]["fencing"]) == (True, 3)


async def test_a_slot_is_free_at_the_instant_it_expires(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        await room.does("acquire", "BlueLake", ttl_seconds=60)

        room.clock.step(59.999999)
        before = await room.does("acquire", "RedStone")
        room.clock.step(0.000001)
        at_the_instant = await room.does("acquire", "RedStone")

        assert (before["granted"] is None, at_the_instant["granted"] is None) == (True, False)


async def test_renewing_counts_from_now_and_only_for_a_holder(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        await room.does("acquire", "BlueLake", ttl_seconds=60)
        room.clock.step(30)

        renewed = await room.does("renew", "BlueLake", extend_seconds=120)
        not_held = await room.does("renew", "RedStone")
        room.clock.step(120)
        expired = await room.does("renew", "BlueLake")

        assert renewed == {"renewed": True, "expires_ts": "2027-01-15T08:02:30.000000+00:00"}
        assert not_held == expired == {"renewed": False, "expires_ts": None}


async def test_releasing_gives_it_back_at_once_and_may_be_repeated(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        await room.does("acquire", "BlueLake")

        released = await room.does("release", "BlueLake")
        again = await room.does("release", "BlueLake")
        taken = await room.does("acquire", "RedStone")

        assert released == {"released": True, "released_at": "2027-01-15T08:00:00.000000+00:00"}
        assert again == {"released": False, "released_at": None}
        assert taken["granted"]["fencing"] == 2


async def test_of_many_at_once_exactly_one_gets_an_exclusive_slot(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        names = ["BlueLake", "RedStone", "GreenField"]

        answers = await asyncio.gather(*(room.does("acquire", name) for name in names))

        assert sum(answer["granted"] is not None for answer in answers) == 1


async def test_the_archive_is_told_of_every_change(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        await room.does("acquire", "BlueLake")
        await room.does("renew", "BlueLake")
        await room.does("release", "BlueLake")

        told = await room.told()

        assert [one["ended_by"] for one in told] == [None, None, "release"]
        assert {one["acting"] for one in told} == {"BlueLake"}


async def test_every_call_is_activity_of_its_agent(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        for tool in ("acquire", "renew", "release"):
            await room.does(tool, "BlueLake")
        await room.does("renew", "RedStone")

        assert room.active == ["BlueLake"] * 3 + ["RedStone"]


@pytest.mark.parametrize("slot", [" ", "x" * 129, "a\nb"])
async def test_an_unfit_name_is_refused(tmp_path: Path, slot: str) -> None:
    async with open_slot_room(tmp_path) as room:
        with pytest.raises(InvalidInput, match="slot"):
            await room.does("acquire", "BlueLake", slot)


async def test_a_retired_agent_holds_nothing(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        await room.store.write(lambda tx: tx.agents.set_retired(room.blue.id, tx.now, tx.now))

        with pytest.raises(HolderRetired):
            await room.does("acquire", "BlueLake")


async def test_an_archived_project_grants_nothing(tmp_path: Path) -> None:
    async with open_slot_room(tmp_path) as room:
        await room.store.write(lambda tx: tx.projects.set_archived(room.project.id, tx.now))

        with pytest.raises(ProjectArchived):
            await room.does("acquire", "BlueLake")


async def test_an_agent_holds_no_more_slots_than_one_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_LIVE_LEASES", 2)
    async with open_slot_room(tmp_path) as room:
        for slot in ("one", "two"):
            await room.does("acquire", "BlueLake", slot)

        with pytest.raises(TooManyLeases):
            await room.does("acquire", "BlueLake", "three")
        prolonged = await room.does("acquire", "BlueLake", "two")

        assert prolonged["granted"] is not None
