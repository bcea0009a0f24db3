"""Names that nobody has: to look makes nothing, who waits is there by that, and there is room for so many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.agents import AgentStatus
from mcp_agent_mail.domain.doors.names import Door, MailboxLimit
from mcp_agent_mail.features.doors.window_service import WindowMailboxService
from mcp_agent_mail.features.projects.service import UnseenDirectory
from tests.features.doors.harness import DoorsHarness, at, open_doors, settled
from tests.features.doors.mailbox_calls import box

HOUR_S = 3_600
MADE = "SELECT (SELECT count(*) FROM projects), (SELECT count(*) FROM agents), (SELECT count(*) FROM outbox)"


def windows(harness: DoorsHarness) -> WindowMailboxService:
    return WindowMailboxService(
        harness.seeded.store, harness.doors, harness.waiters, note_activity=lambda _: None, clock=harness.seeded.clock
    )


LOOKS: dict[str, Callable[[DoorsHarness, Path], Awaitable[Any]]] = {
    "pop": lambda harness, _: harness.doors.pop(at("nobody"), wait_s=0),
    "peek": lambda harness, _: harness.doors.pending(box("nobody")),
    "list": lambda harness, _: harness.mailboxes.list_(Door.CLAUDE_MAILBOX, None),
    "recipients": lambda harness, there: windows(harness).names(at("nobody", Door.AGENTMAIL, str(there))),
    "status of windows": lambda harness, there: windows(harness).watch(
        at("nobody", Door.AGENTMAIL, str(there)), ["nobody"], seen=None, wait_s=0
    ),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("is_known", [False, True], ids=["no project yet", "a project"])
async def test_a_look_makes_nothing(
    harness: DoorsHarness, tmp_path: Path, look: Callable[[DoorsHarness, Path], Awaitable[Any]], is_known: bool
) -> None:
    if is_known:
        await harness.speak("alice")
    before = await harness.rows(MADE)

    await look(harness, tmp_path)

    assert await harness.rows(MADE) == before
    assert harness.waiters.figures().waits == 0


@pytest.mark.parametrize("is_known", [False, True], ids=["no project yet", "a project"])
async def test_who_waits_under_a_name_that_nobody_has_gets_the_first_mail_to_it(
    harness: DoorsHarness, is_known: bool
) -> None:
    if is_known:
        await harness.speak("alice")
    waits = asyncio.ensure_future(harness.doors.pop(at("Bob"), wait_s=60))
    while not harness.waiters.figures().waits:
        await settled(harness)

    await harness.send("alice", "bob", "hi")

    got = await asyncio.wait_for(waits, 5)
    assert got is not None
    assert got.body == "hi"
    assert await harness.rows("SELECT owner FROM wire_names WHERE name = 'Bob'") == [("postal",)]


async def test_of_two_who_wait_under_it_one_gets_the_first_mail_and_the_other_the_next(harness: DoorsHarness) -> None:
    waits = [asyncio.ensure_future(harness.doors.pop(at("bob"), wait_s=60)) for _ in range(2)]
    while harness.waiters.figures().waits < 2:
        await settled(harness)

    await harness.send("alice", "bob", "1")
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=5)
    await harness.send("alice", "bob", "2")

    got = await asyncio.wait_for(asyncio.gather(*waits), 5)
    assert sorted(one.body for one in got if one) == ["1", "2"]


async def test_a_project_of_a_callers_is_a_directory_that_is_there(harness: DoorsHarness, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    before = await harness.rows("SELECT count(*) FROM projects")

    for path in ("/never/was", str(tmp_path / "a file"), "/" + "a" * 900):
        with pytest.raises(UnseenDirectory, match="is no directory that this server sees"):
            await harness.doors.send(at("a1", Door.AGENTMAIL, path), "a2", "hi")
        with pytest.raises(UnseenDirectory):
            await harness.doors.pop(at("a1", Door.AGENTMAIL, path), wait_s=0)
        with pytest.raises(UnseenDirectory):
            await windows(harness).set_status(at("a1", Door.AGENTMAIL, path), AgentStatus.BUSY)
    assert await harness.rows("SELECT count(*) FROM projects") == before

    await harness.doors.send(at("a1", Door.AGENTMAIL, str(tmp_path)), "a2", "hi")
    assert await harness.rows("SELECT count(*) FROM projects") == [(before[0][0] + 1,)]


async def test_mail_is_found_by_another_path_of_a_directory(harness: DoorsHarness, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    await harness.doors.send(at("a1", Door.AGENTMAIL, str(tmp_path)), "a2", "hi")

    got = await harness.doors.pop(at("a2", Door.AGENTMAIL, str(tmp_path / "link")), wait_s=0)

    assert got is not None
    assert got.body == "hi"


async def test_a_project_takes_so_many_mailboxes_and_those_that_are_there_go_on(tmp_path: Path) -> None:
    async with open_doors(tmp_path, mailboxes_max=3) as harness:
        await harness.send("alice", "bob", "hi")
        await harness.mailboxes.touch(box("carol"))
        before = await harness.rows(MADE)

        for refused in (
            harness.send("alice", "dave", "hi"),
            harness.send("dave", "alice", "hi"),
            harness.mailboxes.touch(box("dave")),
            harness.mailboxes.check(box("dave")),
            harness.mailboxes.list_(Door.CLAUDE_MAILBOX, box("dave")),
        ):
            with pytest.raises(MailboxLimit) as told:
                await refused
            assert told.value.data == {"name": "dave", "limit": 3}
            assert "FACADES_MAILBOXES_MAX" in str(told.value.hint)
        assert await harness.rows(MADE) == before
        await harness.send("alice", "bob", "again")
        assert await harness.pop("bob") is not None


async def test_what_retires_makes_room_an_hour_after_it_came(tmp_path: Path) -> None:
    async with open_doors(tmp_path, mailboxes_max=2) as harness:
        await harness.mailboxes.touch(box("a1"))
        await harness.mailboxes.touch(box("a2"))
        await harness.mailboxes.retire(box("a2"))

        with pytest.raises(MailboxLimit):
            await harness.mailboxes.touch(box("a3"))
        harness.seeded.clock.step(HOUR_S + 1)
        await harness.mailboxes.touch(box("a3"))
