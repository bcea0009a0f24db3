"""Histories: which steps are taken how often, how one begins, and what is looked at when it ends."""

from __future__ import annotations

import random

from tests.ladder import mail_steps as mail
from tests.ladder import reader_steps as reader
from tests.ladder.audit import Auditor
from tests.ladder.doors import Person
from tests.ladder.history import BLUE, FOX, GREEN, RED, History, Server, Take
from tests.ladder.tally import Tally

STEPS: dict[Take, int] = {
    mail.send: 10,
    mail.reply: 3,
    mail.withdraw: 2,
    mail.judge_sender: 2,
    reader.fetch: 12,
    reader.act: 5,
    reader.read_mail: 3,
    reader.start_session: 1,
    reader.prepare_thread: 1,
    reader.product_inbox: 2,
    reader.resource: 3,
    reader.mark_read: 2,
    reader.acknowledge: 2,
    reader.look_elsewhere: 2,
    reader.act_as_another: 1,
    reader.client_dies: 2,
    reader.ask_twice_at_once: 1,
    reader.shift_clock: 2,
    History.go_on_reading: 3,
}
LENGTH = (8, 20)


async def play(server: Server, people: dict[str, Person], seed: int, tally: Tally, product: str | None) -> History:
    """One history, from its first client to its last look; what was wrong stands in its `faults`."""
    chance = random.Random(seed)
    history = History(server, people, chance, tally, name=f"h{seed}", product=product)
    try:
        for name in (BLUE, RED, RED, GREEN, FOX):
            await history.new_door(name)
        auditor = Auditor(history)
        await mail.send(history)
        steps, weights = list(STEPS), list(STEPS.values())
        for _ in range(chance.randint(*LENGTH)):
            await chance.choices(steps, weights)[0](history)
            await auditor.look(history.truth.senders)
        while history.stalled:
            await history.go_on_reading()
        await auditor.look(history.truth.senders)
    finally:
        history.close()
    tally.reached.update(copy.status for copy in history.truth.copies.values())
    tally.done["histories"] += 1
    return history
