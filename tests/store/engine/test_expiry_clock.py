"""What is known of the next expiry without a look."""

from __future__ import annotations

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.store.engine.expiry_clock import ExpiryClock
from tests.seeded_store import SetClock


def test_it_is_due_from_the_earliest_time_on_that_was_noted() -> None:
    now = SetClock()
    clock = ExpiryClock(now)
    never = clock.is_due
    for seconds in (7, 5, 9):
        clock.note(Micros(now() + seconds * SECOND))

    now.step(4)
    early = clock.is_due
    now.step(1)

    assert (never, early, clock.is_due) == (False, False, True)


def test_after_a_look_the_time_that_was_found_stands_and_a_later_note_changes_nothing() -> None:
    now = SetClock()
    clock = ExpiryClock(now)
    clock.note(now())
    clock.reset(Micros(now() + SECOND))
    clock.note(Micros(now() + 2 * SECOND))

    early = clock.is_due
    now.step()
    at_its_time = clock.is_due
    clock.reset(None)

    assert (early, at_its_time, clock.is_due) == (False, True, False)
