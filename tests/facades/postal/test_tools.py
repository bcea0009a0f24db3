"""The two tools by themselves: whose call it is, what they pass on, and what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.doors.names import Door, UnfitWireName
from mcp_agent_mail.facades.postal.options import PostalOptions
from mcp_agent_mail.facades.postal.tools import postal_tools, show_popped
from mcp_agent_mail.facades.tool_door import DoorToolTable
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.results import Popped
from mcp_agent_mail.features.doors.send import MailboxFull
from tests.server.whole_app import open_services, settings_of

ALICE, BOB = (Credentials(via="mcp", door_name=name) for name in ("alice", "bob"))
DOOR_BOB = DoorCaller(door=Door.POSTAL, name="bob")


def test_a_message_has_the_keys_of_the_specification_and_of_the_program_in_order() -> None:
    popped = Popped(
        id="m-1",
        sender="alice",
        body="ping",
        created_ts=Micros(1_000_000),
        message_id=MessageId(1),
        agent_id=AgentId(2),
        door=Door.POSTAL,
        popped_ts=Micros(2_000_000),
    )

    assert list(show_popped(popped).items()) == [
        ("id", "m-1"),
        ("from", "alice"),
        ("from_agent", "alice"),
        ("content", "ping"),
        ("created", "1970-01-01T00:00:01.000000+00:00"),
    ]


async def test_what_one_sends_the_other_takes_once_and_a_full_mailbox_takes_no_more(tmp_path: Path) -> None:
    async with open_services(settings_of(tmp_path)) as (services, _):
        table = DoorToolTable(postal_tools(services.doors, PostalOptions(max_wait_s=0, mailbox_max=2), wait_s=0))
        for text in ("one", ""):
            await table.run("send_to_agent", {"name": "bob", "msg": text}, ALICE)
        with pytest.raises(MailboxFull) as refused:
            await table.run("send_to_agent", {"name": "bob", "msg": "three"}, ALICE)
        with pytest.raises(UnfitWireName):
            await table.run("send_to_agent", {"name": "a b", "msg": "four"}, ALICE)

        first = await _taken(table, services)
        second = await _taken(table, services)
        nothing = await table.run("check_mail", {}, BOB)

    assert refused.value.message == "Mailbox of bob is full (2 unread)."
    assert (first["content"], second["content"], nothing) == ("one", "", None)


async def _taken(table: DoorToolTable, services: Any) -> Any:
    """What is taken outside of a request is settled by whoever took it."""
    message = await table.run("check_mail", {}, BOB)
    await services.doors.give_back_open()
    popped = await services.doors.pop(DOOR_BOB, wait_s=0)
    await services.doors.settle(popped)
    return message
