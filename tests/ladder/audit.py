"""The sender's view beside the recipient's truth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.ladder.doors import Door
from tests.ladder.history import History
from tests.ladder.truth import ANSWERED, DELIVERED, EXPIRED, LASTING, RANKS, READ, Copy


class Auditor:
    """Asks as each sender, by its token: such a call is one of its own, and may show it its own mail."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._doors = {name: Door(person, "rpc", by_token=True) for name, person in history.people.items()}

    async def look(self, message_ids: Iterable[int]) -> None:
        await self._history.server.settle()
        for number in message_ids:
            door = self._doors[self._history.truth.senders[number]]
            found = await self._history.call(door, "message_status", message_id=number, agent_name=door.person.name)
            if found is None:
                # Its server has died, or its message is there no more: a later look is asked again.
                self._history.faults.append(f"message {number} has no status")
                continue
            self._compare(number, found)

    def _compare(self, number: int, found: Any) -> None:
        truth = self._history.truth
        known = {agent for message_id, agent in truth.copies if message_id == number}
        for row in found["recipients"]:
            person = self._history.person_of(row["name"])
            if person is None:
                continue
            known.discard(person.name)
            found_here = judge(truth.copies[number, person.name], row, self._history.server.latest)
            self._history.faults += found_here
            self._history.trail += [f"  FAULT {fault}" for fault in found_here]
            self._history.tally.done["looks at a copy"] += 1
        self._history.faults += [f"message {number}: the copy of {name} is not told of" for name in known]


def judge(copy: Copy, row: Any, latest: int) -> list[str]:
    """What is wrong with what the sender sees, which is noted on the copy."""
    what = f"message {copy.message_id} for {copy.agent}"
    status, steps = row["status"], row["steps"]
    may = set(copy.may)
    if copy.valid_until is not None and latest >= copy.valid_until:
        may.add(EXPIRED)
    faults = [f"{what}: {step} is above the truth ({sorted(may)})" for step in steps if step not in may]
    if RANKS[status] < RANKS[copy.status]:
        faults.append(f"{what}: {copy.status} has fallen to {status}")
    for step, at in copy.seen.items():
        if steps.get(step) != at:
            faults.append(f"{what}: {step} was at {at}, and is at {steps.get(step)}")
    faults += [f"{what}: {step} is lost" for step in LASTING if step in copy.must and step not in steps]
    if ANSWERED in steps and READ not in steps:
        faults.append(f"{what}: it is answered, and not read: {steps}")
    order = [at for step, at in steps.items() if step in (DELIVERED, "handed_over", "shown")]
    if order != sorted(order):
        faults.append(f"{what}: its steps are out of order: {steps}")
    copy.status, copy.seen = status, dict(steps)
    return faults
