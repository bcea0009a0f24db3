from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.features.doors.results import Popped
from mcp_agent_mail.features.doors.wait_figures import BOUNDS_S, DoorWaits

TAKEN = Popped(
    id="m-1",
    sender="alice",
    body="ping",
    created_ts=Micros(10 * SECOND),
    message_id=MessageId(1),
    agent_id=AgentId(1),
    door=Door.POSTAL,
    popped_ts=Micros(12 * SECOND),
)


def test_a_wait_counts_in_its_bucket_and_at_its_door() -> None:
    waits = DoorWaits()
    waits.note(TAKEN)
    waits.note(replace(TAKEN, popped_ts=Micros(10 * SECOND)))
    waits.note(replace(TAKEN, popped_ts=Micros(200_000 * SECOND)))
    waits.note(replace(TAKEN, door=Door.CLAUDE_MAILBOX))

    postal = waits.figures()[Door.POSTAL]

    assert list(waits.figures()) == [Door.POSTAL, Door.CLAUDE_MAILBOX]
    assert postal.total_s == 2 + 199_990
    assert {bound: count for bound, count in zip([*BOUNDS_S, None], postal.counts, strict=True) if count} == {
        0.01: 1,
        10.0: 1,
        None: 1,
    }


def test_a_clock_that_was_set_back_makes_no_wait_negative() -> None:
    waits = DoorWaits()
    waits.note(replace(TAKEN, popped_ts=Micros(0)))

    assert waits.figures()[Door.POSTAL].total_s == 0
