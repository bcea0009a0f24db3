"""Messages one after the other: of each, an answer with it that is cut at the next byte, and a later call by the same
proof.
"""

from __future__ import annotations

import random

from tests.ladder import mail_steps as mail
from tests.ladder.audit import Auditor
from tests.ladder.doors import Door, Person
from tests.ladder.history import BLUE, RED, History, Server
from tests.ladder.tally import Tally

WAYS = ("closed", "reset", "closed by the kernel", "reset by the kernel")
LONGER_THAN_ANY = 3_000


async def cut_everywhere(server: Server, people: dict[str, Person], door: str, way: str, step: int) -> History:
    """From the first byte to the end of the answer, so many bytes at a time; the last answer is read to its end. What
    was wrong stands in the `faults`.
    """
    history = History(server, people, random.Random(0), Tally(), name=f"cut-{door}-{way}")
    sender = Door(people[BLUE], "rpc", by_token=True)
    reader = Door(people[RED], door, by_token=door in ("rpc", "stateless"))
    auditor = Auditor(history)
    history.doors += [sender, reader]
    try:
        if door == "session":
            await history.begin_session(reader)
        for at in range(0, LONGER_THAN_ANY, step):
            sent = await history.call(sender, "send_message", sender_name=BLUE, to=[RED], subject="s", body_md="b")
            number = sent["deliveries"][0]["payload"]["id"]
            mail.note(history, number, BLUE, sent["deliveries"], None)
            asked = {"project_key": people[RED].project, "agent_name": RED, "include_bodies": True, "limit": 1}
            answer = await history.cut_at(reader, reader.call("fetch_inbox", asked), at, way, gives=True)
            await history.call(reader, "fetch_inbox", agent_name=RED, limit=0)
            await auditor.look([number])
            if answer is not None:
                break
    finally:
        history.close()
    history.tally.reached.update(copy.status for copy in history.truth.copies.values())
    history.tally.done["histories"] += len(history.truth.senders)
    return history
