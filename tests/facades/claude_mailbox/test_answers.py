from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.facades.claude_mailbox.answers import show_sent
from mcp_agent_mail.features.doors.results import DoorSent


@pytest.mark.parametrize(
    ("wire_id", "shown"),
    [
        ("0", 0),
        ("7", 7),
        ("9" * 18, 10**18 - 1),
        ("007", "007"),
        ("9" * 20, "9" * 20),
        ("x-1", "x-1"),
        ("\u0667", "\u0667"),
    ],
)
def test_an_id_is_a_number_where_that_says_the_same(wire_id: str, shown: object) -> None:
    sent = DoorSent(id=wire_id, message_id=MessageId(1), created_ts=Micros(0), held=False)

    assert show_sent(sent, sender="a", to="b")["id"] == shown
