"""Names that a rename has left: mail to one goes to the mailbox that had it, until somebody speaks as that name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcp_agent_mail.domain.agents import AgentStatus
from mcp_agent_mail.domain.doors.mailbox_rules import MissingMailbox
from mcp_agent_mail.domain.doors.names import Door, UnknownWireName
from mcp_agent_mail.features.doors.names import MAX_FORMER
from tests.features.doors.harness import OPERATOR, DoorsHarness
from tests.features.doors.mailbox_calls import box, check, names, pending, send
from tests.features.doors.test_archived import told
from tests.features.doors.test_window_service import mailboxes, window

FIRST = ["bob", "my session", "1st"]
"""One that can be an agent's name, and two that cannot."""


async def renamed(harness: DoorsHarness, first: str, to: str = "robert") -> None:
    await harness.mailboxes.touch(box(first))
    await harness.mailboxes.rename(box(first), to)


async def by_postal(harness: DoorsHarness, to: str) -> None:
    await harness.send("alice", to, "hi")


async def by_mailbox(harness: DoorsHarness, to: str) -> None:
    await send(harness, "cleo", to, "hi")


async def by_agentmail(harness: DoorsHarness, to: str) -> None:
    await harness.doors.send(window("amy"), to, "hi", makes_recipient=False)


async def natively(harness: DoorsHarness, to: str) -> None:
    await harness.speak("anna")
    await harness.call("send_message", sender_name="anna", to=[to], subject="hi", body_md="hi")


SENDS = [by_postal, by_mailbox, by_agentmail, natively]


@pytest.mark.parametrize("by", SENDS)
@pytest.mark.parametrize("first", FIRST)
async def test_mail_to_it_goes_to_the_mailbox_that_had_it(
    harness: DoorsHarness, first: str, by: Callable[[DoorsHarness, str], Awaitable[None]]
) -> None:
    if by is by_postal and " " in first:
        pytest.skip("no name at postal")
    await renamed(harness, first)

    await by(harness, first.upper())

    assert await check(harness, first) == []
    assert await check(harness, "robert") == ["hi"]


@pytest.mark.parametrize("first", FIRST)
async def test_a_look_by_it_takes_it_from_nobody_and_shows_nothing(harness: DoorsHarness, first: str) -> None:
    await renamed(harness, first)
    await send(harness, "alice", "robert", "1")
    before = await harness.rows("SELECT count(*) FROM outbox")

    await harness.mailboxes.touch(box(first))
    looks: list[Any] = [
        await check(harness, first),
        await pending(harness, first),
        (await mailboxes(harness).watch(window("x"), [first], seen=None, wait_s=0)).mailboxes,
    ]
    if " " not in first:
        looks.append(await harness.pop(first))

    assert looks[:3] == [[], 0, []]
    assert looks[3:] in ([], [None])
    assert sorted(await names(harness, first)) == ["alice", "robert"]
    assert await harness.rows("SELECT count(*) FROM outbox") == before
    assert await harness.mailboxes.find_renamed(box(first)) == "robert"


ACTS: dict[str, Callable[[DoorsHarness, str], Awaitable[Any]]] = {
    "send": lambda harness, name: send(harness, name, "alice", "I am another"),
    "send by another door": lambda harness, name: harness.doors.send(window(name), "alice", "I am another"),
    "wait": lambda harness, name: harness.mailboxes.watch(box(name), wait_s=0),
    "receive": lambda harness, name: harness.doors.pop(window(name), wait_s=0),
    "status": lambda harness, name: mailboxes(harness).set_status(window(name), AgentStatus.BUSY),
    "another's rename": lambda harness, name: harness.mailboxes.rename(box("alice"), name),
    "a window of that name": lambda harness, name: harness.doors.send(window("amy"), name, "are you there?"),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("first", FIRST)
async def test_whoever_speaks_as_it_first_has_it_from_then_on(
    harness: DoorsHarness, first: str, act: Callable[[DoorsHarness, str], Awaitable[Any]]
) -> None:
    await renamed(harness, first)
    await harness.mailboxes.touch(box("alice"))
    (before,) = await harness.rows("SELECT agent_id FROM wire_names WHERE name = 'robert'")

    await act(harness, first)
    await send(harness, "dave", first, "for the other")

    rows = await harness.rows(f"SELECT agent_id FROM wire_names WHERE name = '{first}'")
    assert len(rows) == 1
    assert rows[0] != before
    assert await check(harness, "robert") == []
    assert await pending(harness, first) >= 1


async def test_the_mailbox_itself_takes_it_back_and_leaves_the_other(harness: DoorsHarness) -> None:
    await renamed(harness, "bob")
    await harness.mailboxes.rename(box("robert"), "bob")

    await send(harness, "alice", "robert", "1")
    await send(harness, "alice", "bob", "2")

    assert await check(harness, "bob") == ["1", "2"]
    assert sorted(await names(harness)) == ["alice", "bob"]


async def test_by_it_nothing_is_renamed_or_retired(harness: DoorsHarness) -> None:
    await renamed(harness, "my session")

    with pytest.raises(MissingMailbox):
        await harness.mailboxes.rename(box("my session"), "other")
    with pytest.raises(UnknownWireName):
        await harness.mailboxes.retire(box("my session"))
    assert await mailboxes(harness).rename(window("b2"), "my session") is False


async def test_the_last_so_many_lead_there_and_no_earlier_one(harness: DoorsHarness) -> None:
    await harness.mailboxes.touch(box("n0"))
    for number in range(20):
        await harness.mailboxes.rename(box(f"n{number}"), f"n{number + 1}")

    await send(harness, "alice", f"n{20 - MAX_FORMER}", "1")
    await send(harness, "alice", f"n{19 - MAX_FORMER}", "to somebody new")

    assert await check(harness, "n20") == ["1"]
    rows = await harness.rows("SELECT count(*) FROM wire_names WHERE name LIKE 'n%' AND name <> 'n11'")
    assert rows == [(1 + MAX_FORMER,)]


async def test_what_a_link_lets_speak_as_it_speaks_as_the_mailbox(harness: DoorsHarness) -> None:
    await renamed(harness, "bob")
    await send(harness, "alice", "robert", "1")

    await harness.doors.link(OPERATOR, "bob", Door.POSTAL)
    got = await harness.pop("bob")

    assert got is not None
    assert got.body == "1"


async def test_a_window_that_never_spoke_leaves_no_name(harness: DoorsHarness) -> None:
    await harness.doors.send(window("a1"), "a 2", "before")
    await mailboxes(harness).rename(window("b2"), "a 2")

    with pytest.raises(UnknownWireName):
        await harness.doors.send(window("a1"), "a 2", "hi", makes_recipient=False)


async def test_the_archive_is_told_who_has_it(harness: DoorsHarness) -> None:
    await renamed(harness, "bob")
    *_, left = await told(harness, "bob")

    await send(harness, "bob", "alice", "I am another")

    *_, taken = await told(harness, "bob")
    (other,) = await harness.rows(
        "SELECT a.name FROM agents a JOIN wire_names w ON w.agent_id = a.id WHERE w.name = 'bob'"
    )
    *_, new = await told(harness, other[0])
    assert left.said == [("robert", "claude-mailbox", []), ("bob", None, [])]
    assert taken.said == [("robert", "claude-mailbox", [])]
    assert new.said == [("bob", "claude-mailbox", [])]
