"""A process that imports a made-up store as `am import` does without a server, and may be told where to die.

`python -m tests.crash.importing ROOT SEED MESSAGES [records|steps|writes N]`: prints what was counted, as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp_agent_mail.cli.gateway import imports
from mcp_agent_mail.cli.gateway.in_process import InProcessGateway
from mcp_agent_mail.core.settings.server import load_settings
from mcp_agent_mail.domain.contacts import LinkStatus
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.importing.records import SourceAttachment, SourceCopy, ThreadRef
from mcp_agent_mail.domain.messages import Importance, RecipientKind
from mcp_agent_mail.features.importing import service
from mcp_agent_mail.store.engine import writer
from tests.features.importing.scripted import ScriptedReader, agent, at, lease, link, message, project

AGENTS = 12


def random_store(seed: int, messages: int) -> ScriptedReader:
    """The same one for the same numbers."""
    chance = random.Random(seed)
    names = [f"a{number}" for number in range(AGENTS)]
    reader = ScriptedReader(store_id=f"random {seed}", all_projects=[project(), project("p2", "/old/lib", "old-lib")])
    for number, key in enumerate(names):
        home = "p1" if number % 3 else "p2"
        name = f"Old{number}" if number % 4 else f"old agent {number}!"
        reader.all_agents.append(agent(key, name, home, wire=Door.POSTAL if number % 5 == 0 else None))
    for number in range(messages):
        sender = chance.choice(names)
        home = next(one.project_key for one in reader.all_agents if one.key == sender)
        reader.all_messages.append(
            message(
                f"m{number}",
                sender,
                *_copies(chance, names),
                project_key=home,
                created_ts=at(1_000 + number),
                importance=chance.choice(list(Importance)),
                ack_required=chance.random() < 0.3,
                thread=_thread(chance, number),
                attachments=_attachments(chance, number),
                also=(f"also {number}",) if chance.random() < 0.1 else (),
                **_at_door(chance, number),
            )
        )
    for number in range(messages // 10):
        ended = {"released_ts": at(600)} if chance.random() < 0.5 else {}
        holder = chance.choice([name for name in names if int(name[1:]) % 3])
        reader.all_leases.append(lease(f"l{number}", holder, f"dir{number}/**", **ended))
    pairs = {tuple(chance.sample(names, 2)) for _ in range(messages // 20)}
    for number, (one, other) in enumerate(sorted(pairs)):
        reader.all_links.append(link(f"k{number}", one, other, chance.choice(list(LinkStatus))))
    return reader


def _at_door(chance: random.Random, number: int) -> dict[str, Any]:  # fields of a message
    """Some ids are there more than once."""
    if chance.random() > 0.2:
        return {}
    return {"door": Door.POSTAL, "external_id": f"id {number % 3}" if chance.random() < 0.7 else None}


def _copies(chance: random.Random, names: list[str]) -> list[SourceCopy]:
    copies = []
    for key in chance.sample(names, chance.randint(1, 4)):
        read = at(chance.randint(5_000, 6_000)) if chance.random() < 0.6 else None
        ack = at(7_000) if read is not None and chance.random() < 0.3 else None
        copies.append(SourceCopy(agent_key=key, kind=chance.choice(list(RecipientKind)), read_ts=read, ack_ts=ack))
    return copies


def _thread(chance: random.Random, number: int) -> ThreadRef | None:
    if number and chance.random() < 0.4:
        return ThreadRef(message_key=f"m{chance.randrange(number)}")
    return ThreadRef(name=f"TKT-{number % 7}") if chance.random() < 0.3 else None


def _attachments(chance: random.Random, number: int) -> tuple[SourceAttachment, ...]:
    if chance.random() > 0.1:
        return ()
    return (SourceAttachment(name=f"{number}.txt", content=b"content %d\n" % (number % 5) * 100),)


def _dying(call: Callable[..., Any], left: list[int]) -> Callable[..., Any]:  # of whatever function
    def counted(*given: Any, **named: Any) -> Any:  # likewise
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given, **named)

    return counted


def main(root: str, seed: str, messages: str, what: str = "", number: str = "0") -> None:
    left = [int(number)]
    if what == "records":
        service._take = _dying(service._take, left)
    elif what == "steps":
        imports._walk = _dying(imports._walk, left)
    elif what == "writes":
        writer.Writer.write = _dying(writer.Writer.write, left)  # type: ignore[method-assign]  # this process alone
    folder = Path(root)
    environ = {"HOME": root, "STORAGE_ROOT": str(folder / "store"), "AGENT_MAIL_ENV_FILE": os.devnull}
    gateway = InProcessGateway(load_settings(environ, cwd=folder).settings)
    gateway.open()
    try:
        reader = random_store(int(seed), int(messages))
        report = imports.import_through(gateway, reader, project=None, apply=True)
    finally:
        gateway.close()
    counts = {kind.value: [one.added, one.known, one.left] for kind, one in report.counts.items()}
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
