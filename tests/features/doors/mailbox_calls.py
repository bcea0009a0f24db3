"""What tests of mailboxes say all the time."""

from __future__ import annotations

import asyncio

from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.results import NameChange, Popped
from tests.features.doors.harness import DoorsHarness
from tests.features.doors.harness import at as at_door


def box(name: str) -> DoorCaller:
    return at_door(name, Door.CLAUDE_MAILBOX)


async def send(harness: DoorsHarness, sender: str, to: str, body: str) -> None:
    await harness.doors.send(box(sender), to, body)


async def check(harness: DoorsHarness, name: str) -> list[str]:
    """All of it, and its answer was written."""
    checked = await harness.mailboxes.check(box(name))
    for popped in checked.messages:
        await harness.doors.settle(popped)
    return [one.body for one in checked.messages]


async def pending(harness: DoorsHarness, name: str) -> int:
    return (await harness.doors.pending(box(name))).count


def watch(harness: DoorsHarness, name: str, wait_s: float = 60) -> asyncio.Future[Popped | NameChange | None]:
    return asyncio.ensure_future(harness.mailboxes.watch(box(name), wait_s=wait_s))


async def names(harness: DoorsHarness, name: str | None = None) -> list[str]:
    caller = None if name is None else box(name)
    return [one.name for one in (await harness.mailboxes.list_(Door.CLAUDE_MAILBOX, caller)).mailboxes]
