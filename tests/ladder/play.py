"""Histories: which steps are taken how often, how one begins, and what is looked at when it ends."""

from __future__ import annotations

import random

from tests.ladder import mail_steps as mail
from tests.ladder import reader_steps as reader
from tests.ladder.audit import Auditor
from tests.ladder.doors import Door, Person
from tests.ladder.follow import Follower, Paging, Streaming, Waiting, followed_wrongly, told_wrongly
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
    reader.begin_to_ask_again: 2,
    reader.shift_clock: 2,
    History.go_on_reading: 8,
}
LENGTH = (6, 14)
FOLLOWING = 0.25
"""Of all steps, so many are of those who follow."""
LOOKS_EACH_STEP = 2
"""At as many messages, after each step; at all of them in the end. What was wrong once stays wrong, but for what is
true later.
"""


async def play(server: Server, people: dict[str, Person], seed: int, tally: Tally, *, dies: bool = False) -> History:
    """One history, from its first client to its last look; what was wrong stands in its `faults`. `dies`: at
    one of its steps the server is killed.
    """
    chance = random.Random(seed)
    history = History(server, people, chance, tally, name=f"h{seed}")
    auditor = Auditor(history)
    try:
        for name in (BLUE, RED, RED, GREEN, FOX):
            await history.new_door(name)
        followers = _followers(history)
        history.product = await _make_product(history)
        await mail.send(history)
        steps, weights = list(STEPS), list(STEPS.values())
        length = chance.randint(*LENGTH)
        dies_at = chance.randrange(length) if dies else None
        for number in range(length):
            if number == dies_at:
                await History.be_struck(history)
            elif chance.random() < FOLLOWING:
                await chance.choice(followers).step(history)
            else:
                await chance.choices(steps, weights)[0](history)
            sent = list(history.truth.senders)
            await auditor.look(chance.sample(sent, min(len(sent), LOOKS_EACH_STEP)))
        while history.stalled:
            await history.go_on_reading()
        await _end(history, followers, auditor)
    finally:
        history.close()
    tally.reached.update(copy.status for copy in history.truth.copies.values())
    tally.done["histories"] += 1
    return history


async def _make_product(history: History) -> str:
    """Of both projects."""
    door = Door(history.people[BLUE], "rpc", by_token=False)
    made = await history.exchange(door, door.call("ensure_product", {"name": history.name}), gives=False, acts=False)
    for project in sorted({person.project for person in history.people.values()}):
        link = {"product_key": history.name, "project_key": project}
        assert await history.exchange(door, door.call("products_link", link), gives=False, acts=False) is not None
    return str(made["product_uid"])


def _followers(history: History) -> list[Follower]:
    chance, people = history.chance, history.people
    waiting = Waiting(Door(people[RED], chance.choice(("rpc", "rest", "stateless")), chance.random() < 0.5))
    streams: list[Follower] = [Streaming(Door(people[name], "rest", chance.random() < 0.5)) for name in (RED, BLUE)]
    return [waiting, waiting, *streams, Paging(Door(people[chance.choice((RED, BLUE))], "rest", by_token=True))]


async def _end(history: History, followers: list[Follower], auditor: Auditor) -> None:
    """A last message to everybody who follows, by which it is known that all has come; then everything is looked at."""
    last = {RED: await mail.post(history, Door(history.people[BLUE], "rpc", by_token=True), to=[RED])}
    last[BLUE] = await mail.post(history, Door(history.people[RED], "rpc", by_token=True), to=[BLUE])
    for follower in {id(one): one for one in followers}.values():
        number = last[follower.door.person.name]
        assert number is not None, "nothing keeps the last message from being sent"
        await follower.end(history, number)
    await auditor.look(history.truth.senders)
    for follower in followers:
        if isinstance(follower, Waiting):
            history.faults += follower.faults(history)
        else:
            history.faults += await followed_wrongly(history, follower)
    for name in (BLUE, RED):
        history.faults += await told_wrongly(history, name)
