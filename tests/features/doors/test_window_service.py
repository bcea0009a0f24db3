from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.tools import Credentials, call_as
from mcp_agent_mail.domain.agents import AgentStatus
from mcp_agent_mail.domain.doors.names import Door, UnknownWireName
from mcp_agent_mail.domain.identity.caller import WrongToken
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.window_service import WatchedState, WindowMailboxService, WindowSweepRequest
from tests.features.doors.harness import HOME, DoorsHarness, at, open_doors, settled


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


async def test_a_token_of_an_agents_names_no_other_windows_mailbox_anew(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        await harness.doors.send(window("a1"), "a2", "before")

        async def rename() -> bool:
            return await mailboxes(harness).rename(window("b2"), "a2")

        with pytest.raises(WrongToken):
            await call_as(Credentials(via="mcp", issued_to=AgentId(9_999)), rename, {})
        assert await received(harness, "a2") == ["before"]


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
        await harness.speak("postal-one")
        await harness.doors.send(window("a1"), "a2", "hi")
        await harness.doors.send(window("a1"), "a3", "hi")

        of_postal = await mailboxes(harness).rename(window("b2"), "postal-one")
        onto_one_that_is_there = await mailboxes(harness).rename(window("a3"), "a2")
        of_nobody = await mailboxes(harness).rename(window("b2"), "never")

        assert (of_postal, onto_one_that_is_there, of_nobody) == (False, False, False)


async def test_a_status_is_the_agents_and_makes_the_mailbox(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        service = mailboxes(harness)

        nobody = (await service.watch(window("x1"), ["a1", "a2"], seen=None, wait_s=0)).mailboxes
        await service.set_status(window("a1"), AgentStatus.BUSY)
        await harness.doors.send(window("x1"), "a1", "hi")
        (found,) = (await service.watch(window("x1"), ["a1", "a2"], seen=None, wait_s=0)).mailboxes

        assert nobody == []
        assert (found.name, found.unread, found.status) == ("a1", 1, AgentStatus.BUSY)
        assert found.status_ts is not None
        assert harness.noted == ["a1", "x1"]


async def test_a_retired_mailbox_of_the_doors_own_comes_back_with_its_mail(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        await harness.speak("a2", Door.AGENTMAIL)
        (agent_id,) = (await harness.rows("SELECT agent_id FROM wire_names WHERE name = 'a2'"))[0]
        await harness.seeded.store.write(lambda tx: tx.agents.set_retired(agent_id, tx.now, tx.now))

        await harness.doors.send(window("a1"), "a2", "wake up")

        assert await received(harness, "a2") == ["wake up"]


async def watched(harness: DoorsHarness, service: WindowMailboxService, *names: str) -> asyncio.Task[WatchedState]:
    """One who has looked and waits for what is otherwise."""
    seen = (await service.watch(window("x1"), names, seen=None, wait_s=0)).seen
    task = asyncio.create_task(service.watch(window("x1"), names, seen=seen, wait_s=60))
    while not harness.waiters.figures().waits:
        await settled(harness)
    return task


@pytest.mark.parametrize("how", ["mail", "mail to one that is new", "status", "read", "native mail"])
async def test_who_watches_windows_is_told_when_they_are_otherwise(how: str, tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        service = mailboxes(harness)
        await harness.doors.send(window("a1"), "a2", "hi")
        task = await watched(harness, service, "a1", "a2", "a3")

        if how == "mail":
            await harness.doors.send(window("a1"), "a2", "more")
        elif how == "mail to one that is new":
            await harness.doors.send(at("somebody", Door.POSTAL, HOME), "a3", "hi")
        elif how == "status":
            await service.set_status(window("a2"), AgentStatus.OFFLINE)
        elif how == "read":
            await received(harness, "a2")
        else:
            await harness.call("send_message", sender_name="a1", to=["a2"], subject="S", body_md="B")
        told = await asyncio.wait_for(task, 30)

        found = {one.name: (one.unread, one.status) for one in told.mailboxes}
        assert (
            found["a2"]
            == {
                "mail": (2, AgentStatus.READY),
                "mail to one that is new": (1, AgentStatus.READY),
                "status": (1, AgentStatus.OFFLINE),
                "read": (0, AgentStatus.READY),
                "native mail": (2, AgentStatus.READY),
            }[how]
        )
        assert ("a3" in found) == (how == "mail to one that is new")


async def test_who_watches_in_vain_is_told_the_same_again_and_leaves_no_place(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        service = mailboxes(harness)
        first = await service.watch(window("x1"), ["a1"], seen=None, wait_s=5)

        again = await service.watch(window("x1"), ["a1"], seen=first.seen, wait_s=0.01)

        assert again == first
        assert harness.waiters.figures().waits == 0
        assert service._watches == []


async def test_a_clean_up_retires_whose_window_is_gone_and_leaves_what_is_unread(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        service = mailboxes(harness)
        for name in ("a1", "a2", "a3"):
            await harness.speak(name, Door.AGENTMAIL)
        await harness.doors.send(window("a1"), "a3", "unread")
        await harness.doors.send(window("a1"), "a2", "read")
        await received(harness, "a2")
        await harness.speak("other")

        def request(*, dry_run: bool, counted_to: int = 0) -> WindowSweepRequest:
            return WindowSweepRequest(
                windows=["A1"], stale_hours=48, read_hours=0, counted_to=Micros(counted_to), dry_run=dry_run
            )

        preview = await service.clean_up(window("a1"), request(dry_run=True))
        done = await service.clean_up(window("a1"), request(dry_run=False))
        again = await service.clean_up(window("a1"), request(dry_run=False, counted_to=done.counted_to))

        assert preview == done
        assert (done.offline, done.stale, done.messages, done.mailboxes) == (1, 0, 1, 1)
        assert (again.offline, again.stale, again.messages, again.mailboxes) == (0, 0, 0, 0)
        retired = await harness.rows("SELECT name FROM agents WHERE retired_ts IS NOT NULL")
        assert [row[0] for row in retired] == ["a2"]
        assert await received(harness, "a3") == ["unread"]


async def test_who_was_silent_for_long_retires_though_nobody_knows_the_windows(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        await harness.speak("a1", Door.AGENTMAIL)
        request = WindowSweepRequest(windows=None, stale_hours=0, read_hours=2, counted_to=Micros(0), dry_run=False)

        done = await mailboxes(harness).clean_up(window("x1"), request)

        assert (done.offline, done.stale) == (0, 1)


async def test_of_a_project_that_there_is_not_nothing_is_cleaned_up(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        request = WindowSweepRequest(windows=[], stale_hours=0, read_hours=0, counted_to=Micros(0), dry_run=False)

        done = await mailboxes(harness).clean_up(at("a1", Door.AGENTMAIL, "/never"), request)

        assert (done.offline, done.stale, done.messages, done.mailboxes) == (0, 0, 0, 0)
