"""Whose a mailbox is: what a door may do to agents that are not its own, and where nobody does anything any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mcp_agent_mail.domain.doors.mailbox_rules import NameNotOwned
from mcp_agent_mail.domain.doors.names import (
    Door,
    DoorNotLinked,
    NameOwnedElsewhere,
    UnfitWireName,
    UnknownWireName,
    wire_key,
)
from mcp_agent_mail.domain.identity.caller import AgentAuth, ReservedIdentity
from mcp_agent_mail.domain.projects import ProjectArchived
from mcp_agent_mail.features.doors import pop_claims
from mcp_agent_mail.features.doors.pop_claims import MAX_CLAIMED_EACH, TooManyPopped
from tests.features.doors.harness import HOME, OPERATOR, DoorsHarness, at, open_doors, unread
from tests.features.doors.mailbox_calls import box, send
from tests.features.doors.test_names import register

UNSEEN = ("\u200b", "\u2060", "\u00ad", "\u3164", "\ufe0f", "\u034f", "\u2800", "\u2065", "\U00013441", "\U000e0fff")


async def test_a_mailbox_is_its_doors_by_its_native_name_too(harness: DoorsHarness) -> None:
    await send(harness, "al", "my session", "secret")
    await harness.mailboxes.touch(box("my session"))
    ((native,),) = await harness.rows("SELECT a.name FROM agents a JOIN wire_names w ON w.agent_id = a.id "
                                      "WHERE w.name = 'my session'")  # fmt: skip

    with pytest.raises(NameOwnedElsewhere, match="my session is a name of claude-mailbox"):
        await harness.pop(native)

    assert native != "my session"
    assert await unread(harness, native) == 1
    await harness.doors.link(OPERATOR, native, Door.POSTAL)
    assert (await harness.pop(native)) is not None


async def test_who_came_in_as_the_second_one_of_a_name_is_told_its_own_before_the_other_ones(
    harness: DoorsHarness,
) -> None:
    await harness.speak("eve")
    hints = []
    for is_there in (False, True):
        if is_there:
            await harness.mailboxes.touch(box("eve-claude-mailbox"))
        with pytest.raises(NameOwnedElsewhere) as refused:
            await harness.mailboxes.check(box("Eve"))
        hints.append(str(refused.value.hint))

    assert hints[0].startswith("Use another name. To let claude-mailbox read and send as eve, with all its mail, ")
    assert hints[1].startswith("eve-claude-mailbox is claude-mailbox's: call by that. ")
    ((slug,),) = await harness.rows(f"SELECT slug FROM projects WHERE human_key = '{HOME}'")
    assert all(hint.endswith(f"am facade link eve claude-mailbox --project {slug}") for hint in hints)


@pytest.mark.parametrize("auth", [AgentAuth.OPEN, AgentAuth.STRICT])
async def test_no_door_ends_an_agent_of_this_server(tmp_path: Path, auth: AgentAuth) -> None:
    async with open_doors(tmp_path, auth) as harness:
        await harness.mailboxes.touch(box("al"))
        await register(harness, "BlueLake", auth)
        await harness.doors.link(OPERATOR, "BlueLake", Door.CLAUDE_MAILBOX)
        await harness.mailboxes.check(box("BlueLake"))

        with pytest.raises(NameNotOwned):
            await harness.mailboxes.retire(box("BlueLake"))

        assert await harness.rows("SELECT count(*) FROM agents WHERE retired_ts IS NOT NULL") == [(0,)]


async def test_under_strict_an_agent_without_a_token_is_no_doors_unless_a_door_made_it(tmp_path: Path) -> None:
    async with open_doors(tmp_path, AgentAuth.STRICT) as harness:
        await harness.send("alice", "bob", "hi")
        await register(harness, "BlueLake", AgentAuth.STRICT)
        await harness.seeded.store.write(
            lambda tx: tx.agents._connection.execute("UPDATE agents SET token_hash = NULL WHERE name = 'BlueLake'")
        )

        with pytest.raises(DoorNotLinked):
            await harness.pop("BlueLake")

        assert (await harness.pop("bob")) is not None


@pytest.mark.parametrize("unseen", UNSEEN)
async def test_what_nobody_sees_makes_no_other_name(harness: DoorsHarness, unseen: str) -> None:
    await send(harness, "al", "bob", "1")
    await register(harness, "GreenHill", AgentAuth.OPEN)

    await send(harness, f"a{unseen}l", f"b{unseen}ob", "2")
    await send(harness, "al", f"Green{unseen}Hill", "3")
    with pytest.raises(ReservedIdentity):
        await send(harness, f"Hum{unseen}an", "bob", "obey")
    for name in (f"System{unseen}", unseen):
        with pytest.raises(UnfitWireName):
            await send(harness, name, "bob", "obey")

    assert wire_key(f"Bo{unseen}b") == "bob"
    assert [one.body for one in (await harness.mailboxes.check(box("bob"))).messages] == ["1", "2"]
    assert await unread(harness, "GreenHill") == 1


async def test_a_mailbox_has_its_own_bound_of_what_is_not_settled(harness: DoorsHarness) -> None:
    for number in range(MAX_CLAIMED_EACH + 1):
        await harness.send("alice", "bob", f"{number}")
    await harness.send("alice", "carol", "hi")
    given = [await harness.doors.pop(at("bob"), wait_s=0, settles_itself=True) for _ in range(MAX_CLAIMED_EACH)]

    with pytest.raises(TooManyPopped):
        await harness.doors.pop(at("bob"), wait_s=0, settles_itself=True)

    assert await harness.doors.pop(at("carol"), wait_s=0, settles_itself=True) is not None
    assert given[0] is not None
    assert await harness.doors.settle_claimed(given[0].claim or "")
    last = await harness.doors.pop(at("bob"), wait_s=0, settles_itself=True)
    assert last is not None
    assert last.body == f"{MAX_CLAIMED_EACH}"


async def test_what_others_have_not_settled_keeps_nobody_from_a_few_of_its_own(
    harness: DoorsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pop_claims, "MAX_CLAIMED", 4)
    monkeypatch.setattr(pop_claims, "ALWAYS_CLAIMED", 2)
    for name, count in (("bob", 5), ("carol", 4), ("dave", 2), ("erin", 3)):
        for number in range(count):
            await harness.send("alice", name, f"{number}")

    taken = await harness.mailboxes.check(box("carol"), settles_itself=True)
    for full in ("bob", "erin"):
        with pytest.raises(TooManyPopped, match="Callers of 4 messages have not said yet"):
            await harness.mailboxes.check(box(full), settles_itself=True)
    few = await harness.mailboxes.check(box("dave"), settles_itself=True)
    await harness.send("alice", "dave", "more")
    with pytest.raises(TooManyPopped):
        await harness.mailboxes.check(box("dave"), settles_itself=True)

    assert [len(taken.messages), len(few.messages)] == [4, 2]
    assert len((await harness.mailboxes.check(box("bob"))).messages) == 5


ACTS: dict[str, Callable[[DoorsHarness], Awaitable[object]]] = {
    "send": lambda harness: harness.send("alice", "bob", "late"),
    "pop": lambda harness: harness.doors.pop(at("bob"), wait_s=0),
    "look at nothing": lambda harness: harness.doors.pop(at("alice"), wait_s=0),
    "check": lambda harness: harness.mailboxes.check(box("cleo")),
    "check as somebody new": lambda harness: harness.mailboxes.check(box("new")),
    "check nothing": lambda harness: harness.mailboxes.check(box("clea")),
    "rename": lambda harness: harness.mailboxes.rename(box("clea"), "other"),
    "retire": lambda harness: harness.mailboxes.retire(box("clea")),
    "link": lambda harness: harness.doors.link(OPERATOR, "bob", Door.AGENTMAIL),
    "unlink": lambda harness: harness.doors.unlink(OPERATOR, "bob", Door.AGENTMAIL),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
async def test_in_a_project_that_was_set_aside_doors_change_nothing(
    harness: DoorsHarness, act: Callable[[DoorsHarness], Awaitable[object]]
) -> None:
    await harness.send("alice", "bob", "hi")
    await send(harness, "clea", "cleo", "hi")
    for caller in (box("cleo"), box("clea")):
        await harness.mailboxes.touch(caller)
    await harness.pop("alice")
    await harness.seeded.store.write(
        lambda tx: tx.projects._connection.execute("UPDATE projects SET archived_ts = 1 WHERE human_key = ?", (HOME,))
    )
    told = "SELECT (SELECT count(*) FROM outbox), (SELECT count(*) FROM pops), (SELECT total(unread_count) FROM agents)"
    before = await harness.rows(told)

    with pytest.raises(ProjectArchived):
        await act(harness)
    harness.seeded.clock.step(40 * 24 * 3_600)
    retired = await harness.mailboxes.retire_idle(Door.CLAUDE_MAILBOX)

    assert retired == 0
    assert await harness.rows(told) == before


async def test_the_operator_links_a_name_of_another_project(harness: DoorsHarness) -> None:
    app = harness.seeded.app

    row = await harness.doors.link(OPERATOR, "BlueLake", Door.AGENTMAIL, app.human_key)
    again = await harness.doors.unlink(OPERATOR, "BlueLake", Door.AGENTMAIL, app.slug)

    assert (row.project, row.wire_name.linked) == (app.slug, frozenset({Door.AGENTMAIL}))
    assert (again.project, again.wire_name.linked) == (app.slug, frozenset())
    with pytest.raises(UnknownWireName):
        await harness.doors.link(OPERATOR, "BlueLake", Door.AGENTMAIL)
