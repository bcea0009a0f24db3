"""Mail by a door to who must consent first: its sender is told so, it shows once it is approved, and a refusal is an
error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import ContactBlocked
from mcp_agent_mail.core.tools import ToolTable
from mcp_agent_mail.domain.contacts import ContactRules
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.features.contacts.service import ContactService
from mcp_agent_mail.features.contacts.tools import contact_tools
from mcp_agent_mail.features.doors.results import Pending
from mcp_agent_mail.features.identity.admission import NamingRules
from tests.features.doors.harness import HOME, DoorsHarness, at, open_doors, waiting
from tests.features.doors.test_names import register
from tests.features.messaging.harness import NOBODY, Identities

LONG_S = 60.0


@dataclass
class Held:
    """BlueLake, a native agent, lets only whom it approved write to it; it has spoken at postal too, and takes the
    request that stands behind held mail there.
    """

    doors: DoorsHarness
    contacts: ToolTable

    async def take_request(self) -> None:
        popped = await self.doors.pop("BlueLake")
        assert popped is not None
        assert popped.body.startswith("Contact request from alice")

    async def policy(self, policy: str) -> None:
        arguments = {"project_key": HOME, "agent_name": "BlueLake", "policy": policy}
        await self.contacts.run("set_contact_policy", arguments, NOBODY)

    async def answer(self, *, accept: bool) -> None:
        arguments = {"project_key": HOME, "from_agent": "alice", "to_agent": "BlueLake", "accept": accept}
        await self.contacts.run("respond_contact", arguments, NOBODY)


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[Held]:
    async with open_doors(tmp_path) as doors:
        store = doors.seeded.store
        service = ContactService(
            store,
            rules=ContactRules(),
            new_names=NamingRules(enforcement=NameEnforcement.FREE),
            note_activity=lambda _: None,
        )
        made = Held(doors, ToolTable(contact_tools(service, Identities(store, AgentAuth.OPEN).caller)))
        await doors.speak("alice")
        await register(doors, "BlueLake", AgentAuth.OPEN)
        await doors.pop("BlueLake")
        await made.policy("contacts_only")
        yield made


async def test_its_sender_is_told_and_nobody_else_sees_it(held: Held) -> None:
    sent = await held.doors.send("alice", "BlueLake", "hi", "m-1")

    assert (sent.id, sent.held, sent.is_repeat) == ("m-1", True, False)
    await held.take_request()
    assert await held.doors.pop("BlueLake") is None
    assert await held.doors.rows("SELECT count(*) FROM recipients WHERE held_code IS NOT NULL") == [(1,)]


async def test_once_it_is_approved_whoever_waits_at_a_door_gets_it(held: Held) -> None:
    sent = await held.doors.send("alice", "BlueLake", "hi", "m-1")
    await held.take_request()
    waits = asyncio.ensure_future(held.doors.doors.pop(at("BlueLake"), wait_s=LONG_S))
    await waiting(held.doors, "BlueLake")

    await held.answer(accept=True)

    popped = await asyncio.wait_for(waits, LONG_S)
    again = await held.doors.send("alice", "BlueLake", "hi", "m-1")
    assert popped is not None
    assert (popped.id, popped.sender, popped.body, popped.message_id) == ("m-1", "alice", "hi", sent.message_id)
    assert (again.message_id, again.held, again.is_repeat) == (sent.message_id, False, True)


async def test_a_repeat_of_held_mail_is_held_and_one_message(held: Held) -> None:
    first = await held.doors.send("alice", "BlueLake", "hi", "m-1")

    await held.take_request()
    again = await held.doors.send("alice", "BlueLake", "hi", "m-1")

    assert (again.message_id, again.held, again.is_repeat) == (first.message_id, True, True)
    assert await held.doors.doors.pending(at("BlueLake")) == Pending(count=0, oldest_ts=None)


async def test_a_repeat_of_what_was_refused_meanwhile_is_an_error_that_says_so(held: Held) -> None:
    await held.doors.send("alice", "BlueLake", "hi", "m-1")
    await held.take_request()
    await held.answer(accept=False)

    with pytest.raises(ContactBlocked, match="BlueLake has refused the message with the id 'm-1'"):
        await held.doors.send("alice", "BlueLake", "hi", "m-1")

    assert await held.doors.pop("BlueLake") is None


async def test_who_takes_no_mail_at_all_is_an_error_with_the_reason_and_nothing_is_stored(held: Held) -> None:
    await held.policy("block_all")
    before = await held.doors.rows("SELECT count(*) FROM messages UNION ALL SELECT count(*) FROM wire_ids")

    with pytest.raises(ContactBlocked) as refused:
        await held.doors.send("carol", "BlueLake", "hi", "m-1")

    after = await held.doors.rows("SELECT count(*) FROM messages UNION ALL SELECT count(*) FROM wire_ids")
    assert after == before
    assert await held.doors.rows("SELECT name FROM wire_names WHERE name = 'carol'") == []
    (told,) = refused.value.data["refused"]
    assert (told["agent"], told["code"]) == ("BlueLake", "CONTACT_BLOCKED")
    assert told["reason"]
