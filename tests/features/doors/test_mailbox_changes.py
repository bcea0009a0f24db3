from __future__ import annotations

import pytest

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.tools import Credentials, call_as
from mcp_agent_mail.domain.doors.mailbox_rules import MailPending, MissingMailbox, NameNotOwned, UsedName
from mcp_agent_mail.domain.doors.names import Door, UnfitWireName, UnknownWireName
from mcp_agent_mail.domain.identity.caller import WrongToken
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.results import NameChange
from mcp_agent_mail.features.doors.window_service import WindowMailboxService
from mcp_agent_mail.features.identity.lookup import present_names
from mcp_agent_mail.store.transaction import View
from tests.features.doors.harness import HOME, OPERATOR, DoorsHarness, waiting
from tests.features.doors.mailbox_calls import box, check, names, pending, send, watch

MINUTE_S = 60
DAY_S = 24 * 60 * MINUTE_S


async def test_another_name_takes_mail_and_history_along_and_mail_to_the_former_one_too(harness: DoorsHarness) -> None:
    await send(harness, "bob", "alice", "from bob")
    await send(harness, "alice", "bob", "1")
    await send(harness, "alice", "bob", "2")

    renamed = await harness.mailboxes.rename(box("BOB"), "Robert")
    await send(harness, "alice", "robert", "3")
    of_former = await pending(harness, "bob")
    await send(harness, "alice", "bob", "4")

    assert renamed == NameChange(former="bob", name="Robert", transferred=2)
    assert of_former == 0
    assert await check(harness, "robert") == ["1", "2", "3", "4"]
    assert await check(harness, "bob") == []
    got = await harness.mailboxes.check(box("alice"))
    assert [one.sender for one in got.messages] == ["Robert"]
    assert sorted(await names(harness)) == ["Robert", "alice"]


async def test_by_its_former_name_a_mailbox_is_found_until_that_is_its_own_again(harness: DoorsHarness) -> None:
    async def found(name: str) -> str | None:
        return await harness.mailboxes.find_renamed(box(name))

    before = await found("bob")
    await harness.mailboxes.touch(box("bob"))
    same = await found("bob")
    await harness.mailboxes.rename(box("bob"), "robert")
    after = await found("BOB")
    await harness.mailboxes.touch(box("bob"))
    beside_another = await found("bob")
    of_new = await found("robert")

    assert (before, same, after, beside_another, of_new) == (None, None, "robert", "robert", None)


async def test_a_name_can_be_taken_back(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")
    await harness.mailboxes.touch(box("bob"))
    await harness.mailboxes.rename(box("bob"), "x")
    await harness.mailboxes.rename(box("x"), "bob")

    assert await check(harness, "bob") == ["1"]
    assert await pending(harness, "x") == 0
    assert await harness.rows("SELECT count(*) FROM agents WHERE program = 'claude-mailbox'") == [(2,)]


async def test_the_same_name_moves_nothing(harness: DoorsHarness) -> None:
    await send(harness, "bob", "bob", "1")

    same = await harness.mailboxes.rename(box("bob"), " BOB ")

    assert same == NameChange(former="bob", name="bob", transferred=0)


async def test_a_name_that_is_somebodys_is_not_to_be_had(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")
    await harness.send("postal-1", "bob", "2")

    for taken in ("bob", "ALICE", "postal-1", "Human"):
        if taken != "ALICE":
            with pytest.raises(UsedName):
                await harness.mailboxes.rename(box("alice"), taken)
    for unfit in ("  ", "System"):
        with pytest.raises(UnfitWireName):
            await harness.mailboxes.rename(box("alice"), unfit)
    with pytest.raises(MissingMailbox):
        await harness.mailboxes.rename(box("nobody"), "x")
    for others in ("postal-1", "bob"):
        with pytest.raises(NameNotOwned):
            await harness.mailboxes.rename(box(others), "x")
    assert sorted(await names(harness)) == ["alice", "bob", "postal-1"]


async def test_a_native_agent_keeps_its_name(harness: DoorsHarness) -> None:
    await harness.send("alice", "x", "makes the project")
    await harness.doors.link(OPERATOR, "alice", Door.CLAUDE_MAILBOX)

    with pytest.raises(NameNotOwned):
        await harness.mailboxes.rename(box("alice"), "y")


async def test_a_token_of_an_agents_names_no_other_mailbox_anew(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")

    async def rename() -> NameChange:
        return await harness.mailboxes.rename(box("alice"), "y")

    with pytest.raises(WrongToken):
        await call_as(Credentials(via="mcp", issued_to=AgentId(9_999)), rename, {})
    assert "alice" in await names(harness)


async def test_the_list_says_who_has_mail_and_from_whom_yours_is(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")
    harness.seeded.clock.step(1)
    await send(harness, "alice", "bob", "2")
    harness.seeded.clock.step(1)
    await send(harness, "carol", "bob", "3")

    listed = await harness.mailboxes.list_(Door.CLAUDE_MAILBOX, box("bob"))
    of_nobody = await harness.mailboxes.list_(Door.CLAUDE_MAILBOX, None)

    shown = {one.name: (one.pending, one.pending_for_caller) for one in listed.mailboxes}
    assert shown == {"alice": (0, 2), "bob": (3, 0), "carol": (0, 1)}
    assert listed.total == 3
    assert [one.pending_for_caller for one in of_nobody.mailboxes] == [0, 0, 0]
    assert await pending(harness, "bob") == 3


async def test_a_mailbox_that_nobody_has_spoken_as_was_not_seen_and_stands_last(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bbo", "misspelt")
    harness.seeded.clock.step(1)
    await harness.mailboxes.touch(box("carol"))
    before = await harness.mailboxes.list_(Door.CLAUDE_MAILBOX, None)

    await harness.mailboxes.touch(box("bbo"))
    after = await harness.mailboxes.list_(Door.CLAUDE_MAILBOX, None)

    assert [(one.name, one.last_seen_ts is None, one.pending) for one in before.mailboxes] == [
        ("carol", False, 0),
        ("alice", False, 0),
        ("bbo", True, 1),
    ]
    assert [one.name for one in after.mailboxes if one.last_seen_ts is None] == []


async def test_no_hint_calls_it_active_and_no_window_is_told_of_it(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bbo", "misspelt")
    windows = WindowMailboxService(
        harness.seeded.store, harness.doors, harness.waiters, note_activity=lambda _: None, clock=harness.seeded.clock
    )

    def present(view: View) -> list[str]:
        project = view.projects.find_by_human_key(HOME)
        assert project is not None
        return present_names(view, project)

    assert await harness.seeded.store.read(present) == ["alice"]
    assert await windows.names(DoorCaller(door=Door.AGENTMAIL, name="w", project_key=HOME)) == ["alice"]


async def test_before_the_first_call_nobody_is_listed_and_asking_makes_nothing(harness: DoorsHarness) -> None:
    listed = await harness.mailboxes.list_(Door.CLAUDE_MAILBOX, None)

    assert (listed.mailboxes, listed.total) == ([], 0)
    assert await harness.rows("SELECT count(*) FROM wire_names") == [(0,)]


async def seen_now(harness: DoorsHarness, *seen: str) -> None:
    """As activity is written a few seconds later."""
    for name in seen:
        await harness.seeded.store.write(
            lambda tx, name=name: (
                tx.agents._connection.execute(  # type: ignore[misc]
                    "UPDATE agents SET last_active_ts = ? WHERE name = ?", (tx.now, name)
                ).rowcount
            )
        )


async def test_idle_ones_are_hidden_but_for_who_asks_and_whose_mail_waits_for_them(harness: DoorsHarness) -> None:
    for name in ("idle", "writer", "bob", "alice"):
        await harness.mailboxes.touch(box(name))
    await send(harness, "writer", "bob", "1")
    harness.seeded.clock.step(DAY_S + 1)
    await seen_now(harness, "alice")

    assert await names(harness) == ["alice"]
    assert sorted(await names(harness, "bob")) == ["alice", "bob", "writer"]


async def test_long_idle_ones_retire_unless_mail_waits_or_somebody_watches(harness: DoorsHarness) -> None:
    for name in ("idle", "bob", "watched", "seen"):
        await harness.mailboxes.touch(box(name))
    await harness.send("postal", "x", "of another door")
    await send(harness, "idle", "bob", "1")
    watches = watch(harness, "watched")
    await waiting(harness, "watched")
    harness.seeded.clock.step(7 * DAY_S + 1)
    await seen_now(harness, "seen")

    retired = await harness.mailboxes.retire_idle(Door.CLAUDE_MAILBOX)
    again = await harness.mailboxes.retire_idle(Door.CLAUDE_MAILBOX)

    watches.cancel()
    assert (retired, again) == (1, 0)
    assert await harness.rows("SELECT name FROM agents WHERE retired_ts IS NOT NULL") == [("idle",)]
    assert await harness.rows("SELECT count(*) FROM messages") == [(2,)]
    assert "idle" not in await names(harness, "bob")


async def test_more_than_one_lot_retires(harness: DoorsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_agent_mail.features.doors.mailbox_changes.IDLE_AT_ONCE", 2)
    for number in range(5):
        await harness.mailboxes.touch(box(f"m{number}"))
    harness.seeded.clock.step(8 * DAY_S)

    assert await harness.mailboxes.retire_idle(Door.CLAUDE_MAILBOX) == 5


@pytest.mark.parametrize("how", ["its own call", "mail to it"])
async def test_one_that_retired_is_back_with_the_next_call(harness: DoorsHarness, how: str) -> None:
    await harness.mailboxes.touch(box("bob"))
    await harness.mailboxes.touch(box("alice"))
    assert await harness.mailboxes.retire(box("bob"))
    assert not await harness.mailboxes.retire(box("bob"))
    assert await names(harness) == ["alice"]

    if how == "its own call":
        await harness.mailboxes.touch(box("bob"))
    else:
        await send(harness, "alice", "bob", "back?")

    assert sorted(await names(harness)) == ["alice", "bob"]


async def test_a_session_ends_only_when_nothing_waits_either_way(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")

    with pytest.raises(MailPending, match="elsewhere"):
        await harness.mailboxes.retire(box("alice"))
    with pytest.raises(MailPending, match="1 messages wait"):
        await harness.mailboxes.retire(box("bob"))
    with pytest.raises(UnknownWireName):
        await harness.mailboxes.retire(box("nobody"))
    await check(harness, "bob")

    assert await harness.mailboxes.retire(box("alice"))
    assert await harness.mailboxes.retire(box("bob"))
    assert await names(harness) == []
