from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.domain.agents import AgentStatus
from mcp_agent_mail.domain.doors.names import Door, UnknownWireName
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.window_service import WindowMailboxService
from tests.features.doors.harness import HOME, DoorsHarness, at, open_doors


def window(name: str) -> DoorCaller:
    return at(name, Door.AGENTMAIL, HOME)


def mailboxes(harness: DoorsHarness) -> WindowMailboxService:
    return WindowMailboxService(
        harness.seeded.store,
        harness.doors,
        harness.waiters,
        note_activity=lambda agent: harness.noted.append(agent.name),
        clock=harness.seeded.clock,
    )


async def received(harness: DoorsHarness, name: str) -> list[str]:
    """All that waits for the window."""
    bodies = []
    while (popped := await harness.doors.pop(window(name), wait_s=0)) is not None:
        await harness.doors.settle(popped)
        bodies.append(popped.body)
    return bodies


async def test_only_known_names_are_written_to_where_none_is_to_be_made(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        await harness.doors.send(window("a1"), "a2", "hi")

        with pytest.raises(UnknownWireName, match=r"^recipient not found$"):
            await harness.doors.send(window("a1"), "a3", "hi", makes_recipient=False)
        await harness.doors.send(window("a1"), "A2", "again", makes_recipient=False)

        assert await received(harness, "a2") == ["hi", "again"]
        assert await mailboxes(harness).names(window("a1")) == ["a1", "a2"]


async def test_a_mailbox_goes_on_under_the_new_name_of_its_window(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        await harness.doors.send(window("a1"), "a2", "before")

        renamed = await mailboxes(harness).rename(window("b2"), "a2")
        again = await mailboxes(harness).rename(window("b2"), "a2")
        await harness.doors.send(window("a1"), "b2", "after", makes_recipient=False)

        assert (renamed, again) == (True, False)
        assert await received(harness, "b2") == ["before", "after"]
        assert await mailboxes(harness).names(window("a1")) == ["a1", "b2"]


async def test_a_window_under_a_name_that_was_left_is_somebody_new(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        await harness.doors.send(window("a1"), "a2", "old")
        assert await received(harness, "a2") == ["old"]
        await mailboxes(harness).rename(window("b2"), "a2")

        await harness.doors.send(window("a1"), "a2", "new")

        assert await received(harness, "b2") == []
        assert await received(harness, "a2") == ["new"]
        (sender,) = await harness.rows(
            "SELECT count(DISTINCT agent_id) FROM wire_names WHERE name IN ('a2', 'b2') AND owner = 'agentmail'"
        )
        assert sender[0] == 2


async def test_names_of_others_are_not_taken_by_a_rename(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        await harness.doors.pop(at("postal-one", Door.POSTAL, HOME), wait_s=0)
        await harness.doors.send(window("a1"), "a2", "hi")
        await harness.doors.send(window("a1"), "a3", "hi")

        of_postal = await mailboxes(harness).rename(window("b2"), "postal-one")
        onto_one_that_is_there = await mailboxes(harness).rename(window("a3"), "a2")
        of_nobody = await mailboxes(harness).rename(window("b2"), "never")

        assert (of_postal, onto_one_that_is_there, of_nobody) == (False, False, False)


async def test_a_status_is_the_agents_and_makes_the_mailbox(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        service = mailboxes(harness)

        nobody = await service.look(window("x1"), ["a1", "a2"])
        await service.set_status(window("a1"), AgentStatus.BUSY)
        await harness.doors.send(window("x1"), "a1", "hi")
        (found,) = await service.look(window("x1"), ["a1", "a2"])

        assert nobody == []
        assert (found.name, found.unread, found.status) == ("a1", 1, AgentStatus.BUSY)
        assert found.status_ts is not None
        assert harness.noted == ["a1", "x1"]


async def test_a_retired_mailbox_of_the_doors_own_comes_back_with_its_mail(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        await harness.doors.pop(window("a2"), wait_s=0)
        (agent_id,) = (await harness.rows("SELECT agent_id FROM wire_names WHERE name = 'a2'"))[0]
        await harness.seeded.store.write(lambda tx: tx.agents.set_retired(agent_id, tx.now, tx.now))

        await harness.doors.send(window("a1"), "a2", "wake up")

        assert await received(harness, "a2") == ["wake up"]
