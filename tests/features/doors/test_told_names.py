"""Under `strict` a door tells of mailboxes that doors have made, and of agents that the operator linked with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import RecipientNotFound
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.agents import AgentStatus
from mcp_agent_mail.domain.doors.names import Door, UnknownWireName
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.features.doors.results import Pending
from tests.features.doors.harness import OPERATOR, DoorsHarness, open_doors, unread
from tests.features.doors.mailbox_calls import box, names, pending, send
from tests.features.doors.test_names import native_in_lib, register
from tests.features.doors.test_window_service import mailboxes, window

NATIVE = "GreenHill"
NOBODY = Pending(count=0, oldest_ts=None)


async def with_native(harness: DoorsHarness, auth: AgentAuth) -> None:
    """With mail that waits, and a status of its own."""
    await harness.send("alice", "bob", "hi")
    await register(harness, NATIVE, auth)
    await send(harness, "carol", NATIVE, "secret")
    await send(harness, "carol", "unspoken", "hi")
    (number,) = await harness.rows(f"SELECT max(id) FROM agents WHERE name = '{NATIVE}'")
    await harness.seeded.store.write(lambda tx: tx.agents.set_status(number[0], AgentStatus.BUSY, None, tx.now))


@pytest.fixture(params=list(AgentAuth))
async def asked(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[DoorsHarness, AgentAuth]]:
    async with open_doors(tmp_path, request.param) as harness:
        await with_native(harness, request.param)
        yield harness, request.param


async def test_a_peek(asked: tuple[DoorsHarness, AgentAuth]) -> None:
    harness, auth = asked

    counts = [await pending(harness, name) for name in (NATIVE, "unspoken", "bob")]

    assert counts == [0 if auth is AgentAuth.STRICT else 1, 1, 1]
    if auth is AgentAuth.STRICT:
        assert await harness.doors.pending(box(NATIVE)) == await harness.doors.pending(box("nobody")) == NOBODY


async def test_a_list(asked: tuple[DoorsHarness, AgentAuth]) -> None:
    harness, auth = asked

    listed = await harness.mailboxes.list_(Door.CLAUDE_MAILBOX, box("carol"))

    others = {"alice", "bob", "carol", "unspoken"}
    assert {one.name for one in listed.mailboxes} == (others if auth is AgentAuth.STRICT else others | {NATIVE})
    assert listed.total == len(listed.mailboxes)
    assert (NATIVE in await names(harness)) == (auth is AgentAuth.OPEN)


async def test_recipients_and_statuses_of_windows(asked: tuple[DoorsHarness, AgentAuth]) -> None:
    harness, auth = asked
    service = mailboxes(harness)

    recipients = await service.names(window("amy"))
    state = await service.watch(window("amy"), [NATIVE, "bob"], seen=None, wait_s=0)

    assert (NATIVE in recipients) == (auth is AgentAuth.OPEN)
    assert {"alice", "carol"} <= set(recipients)
    assert not {"bob", "unspoken"} & set(recipients)  # Nobody has spoken as them.
    assert [one.name for one in state.mailboxes] == (["bob"] if auth is AgentAuth.STRICT else [NATIVE, "bob"])


async def test_a_send_to_known_names_alone(asked: tuple[DoorsHarness, AgentAuth]) -> None:
    harness, auth = asked
    before = await unread(harness, NATIVE)

    if auth is AgentAuth.STRICT:
        with pytest.raises(UnknownWireName, match=r"^recipient not found$"):
            await harness.doors.send(window("amy"), NATIVE, "hi", makes_recipient=False)
    else:
        await harness.doors.send(window("amy"), NATIVE, "hi", makes_recipient=False)
    for name in ("bob", "unspoken", "Human"):
        await harness.doors.send(window("amy"), name, "hi", makes_recipient=False)

    assert await unread(harness, NATIVE) == before + (auth is AgentAuth.OPEN)


async def test_mail_to_it_by_doors_that_make_names_is_delivered_with_no_other_answer(
    asked: tuple[DoorsHarness, AgentAuth],
) -> None:
    harness, _ = asked
    before = await unread(harness, NATIVE)

    to_native = await harness.send("alice", NATIVE, "hi", "m-1")
    to_nobody = await harness.send("alice", "never", "hi", "m-1")

    assert (to_native.id, to_native.held, to_native.is_repeat) == (to_nobody.id, to_nobody.held, to_nobody.is_repeat)
    assert await unread(harness, NATIVE) == before + 1


async def test_one_that_has_written_first_is_answered(tmp_path: Path) -> None:
    async with open_doors(tmp_path, AgentAuth.STRICT) as harness:
        await with_native(harness, AgentAuth.STRICT)
        await harness.speak("amy", Door.AGENTMAIL)
        proof = Credentials(via="mcp", agent_token="amt_native")
        await harness.call("send_message", proof, sender_name=NATIVE, to=["amy"], subject="hi", body_md="hi")

        await harness.doors.send(window("amy"), NATIVE, "hi yourself", makes_recipient=False)

        with pytest.raises(UnknownWireName):
            await harness.doors.send(window("other"), NATIVE, "hi", makes_recipient=False)


async def test_one_that_is_linked_is_told_of_at_that_door(tmp_path: Path) -> None:
    async with open_doors(tmp_path, AgentAuth.STRICT) as harness:
        await with_native(harness, AgentAuth.STRICT)

        await harness.doors.link(OPERATOR, NATIVE, Door.CLAUDE_MAILBOX)

        assert await pending(harness, NATIVE) == 1
        assert NATIVE in await names(harness)
        assert NATIVE not in await mailboxes(harness).names(window("amy"))


@pytest.mark.parametrize("name", ["QuietFox", "名前"])
async def test_one_of_another_project_is_nobody_there(tmp_path: Path, name: str) -> None:
    async with open_doors(tmp_path, AgentAuth.STRICT) as harness:
        slug = await native_in_lib(harness)
        told = []

        for to in (f"{name}@{slug}", f"never@{slug}"):
            with pytest.raises(RecipientNotFound) as refused:
                await harness.doors.send(box("alice"), to, "hi")
            told.append(str(refused.value).replace(name, "X").replace("never", "X"))

        assert told[0] == told[1]
