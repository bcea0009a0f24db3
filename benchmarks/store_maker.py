"""Makes a store of any size: `python -m benchmarks.store_maker DATABASE MESSAGES`.

Every row is made by the store's own nouns (`Tx`), many messages to a transaction, so that recipients,
projects of a message, full-text index, delivery numbers, unread counters and reading states are those the
product makes. Two things are not: nothing is in the outbox (the archive has nothing to do, and nothing to
compare), and the full-text index is written in few large transactions, so it has fewer and larger segments.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import time
from collections import deque
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import accumulate, count, islice
from pathlib import Path

from benchmarks import corpus, mix
from benchmarks.corpus import PLANTED_LETTERS, Corpus, planted_letter, planted_thread
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.messages import Importance, Message, NewMessage, NewRecipient, RecipientKind, reply_subject
from mcp_agent_mail.domain.projects import Project, plain_slug, slugs_of
from mcp_agent_mail.domain.threads import thread_of
from mcp_agent_mail.store.engine.sqlite.connection import open_writing
from mcp_agent_mail.store.engine.sqlite.migrate import migrate, shipped_migrations
from mcp_agent_mail.store.transaction import Tx

BUSY = "/scale/busy"
SMALL = "/scale/small"
OTHERS = 38
MANY_OTHERS = 998
BUSY_AGENTS = 20
SMALL_AGENTS = 4
OTHER_AGENTS = 8
MANY_OTHER_AGENTS = 2
MANY_FROM = 1_000_000
"""Stores of so many messages have MANY_OTHERS, of MANY_OTHER_AGENTS each: 1,000 projects, and 2,020 agents."""
SMALL_MESSAGES = 20
BUSY_SHARE = 0.55
SMALLEST = 600

_SEED = 1
_UNIT = 10_000
_CACHE_KIB = 256 * 1024
_BEGIN = Micros(1_735_689_600_000_000)  # 2025-01-01
_DAYS = 180 * 86_400 * 1_000_000
_RECENT = 40
_REPLIES = 0.45
_OWN_THREAD = 0.3
_ON_A_TOPIC = 0.15
_TO_ANOTHER_PROJECT = 0.02
_READ = 0.8
_ACKNOWLEDGED = 0.7
_AUDIENCES = (1,) * 60 + (2,) * 20 + (3,) * 12 + (5,) * 7 + (15,)
_KINDS = (RecipientKind.TO,) * 8 + (RecipientKind.CC,) * 2
_BLIND = 0.01
_IMPORTANCES = (Importance.NORMAL,) * 85 + (Importance.LOW,) * 4 + (Importance.HIGH,) * 9 + (Importance.URGENT,) * 2
_ASKS_FOR_ACK = 0.1
_TOPICS = ("build", "review", "release", "incident", "design")


@dataclass(slots=True)
class _Place:
    """One project with its agents and the messages that replies answer."""

    project: Project
    agents: list[Agent]
    recent: deque[Message] = field(default_factory=lambda: deque(maxlen=_RECENT))


def agent_name(number: int) -> str:
    return f"Worker{number:02d}"


def _others_of(messages: int) -> tuple[int, int]:
    """(projects beside the busy and the small one, agents of each)"""
    return (OTHERS, OTHER_AGENTS) if messages < MANY_FROM else (MANY_OTHERS, MANY_OTHER_AGENTS)


def count_places(messages: int) -> tuple[int, int]:
    """(projects, agents) of a store of so many messages."""
    others, agents = _others_of(messages)
    return 2 + others, BUSY_AGENTS + SMALL_AGENTS + others * agents


def recipe() -> str:
    """Changes whenever a store made now would differ from one made before."""
    digest = hashlib.sha256(str(_SEED).encode())
    for migration in shipped_migrations():
        digest.update(migration.sql.encode())
    for module in (__file__, corpus.__file__, mix.__file__):
        digest.update(Path(module).read_bytes())
    return digest.hexdigest()[:12]


def cached_store(folder: Path, messages: int) -> Path:
    """A store of so many messages in `folder`, made unless this very one is there."""
    database = folder / f"store-{messages}-{recipe()}" / "mail.sqlite3"
    if not database.exists():
        building = database.parent.with_suffix(f".{os.getpid()}")
        make_store(building / database.name, messages)
        building.replace(database.parent)
    return database


def make_store(database: Path, messages: int) -> None:
    """`messages` in all: PLANTED_LETTERS of them in the busy project, SMALL_MESSAGES of the oldest in the small one."""
    if messages < SMALLEST:
        raise ValueError(f"at least {SMALLEST} messages, else the planted ones do not fit")
    migrate(database, fault_hook=no_fault)
    with closing(open_writing(database)) as connection:
        # What fails is thrown away whole: nothing is written twice so that it could be taken back.
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        maker = _Maker(Tx(connection, lambda: _BEGIN), messages)
        with connection:
            maker.populate()
        for first in range(0, messages, _UNIT):
            with connection:
                for number in range(first, min(first + _UNIT, messages)):
                    maker.write(number)
        connection.execute("PRAGMA journal_mode=WAL")


class _Maker:
    def __init__(self, tx: Tx, messages: int) -> None:
        self._tx = tx
        self._messages = messages
        self._random = random.Random(_SEED)
        self._corpus = Corpus(_SEED)
        self._step = _DAYS // messages
        self._planted = {
            (2 * number + 1) * messages // (2 * PLANTED_LETTERS): number for number in range(PLANTED_LETTERS)
        }
        free = (number for number in count() if number not in self._planted)
        self._small = set(islice(free, 0, 3 * SMALL_MESSAGES, 3))
        self.now: int = _BEGIN

    def populate(self) -> None:
        self._busy = self._place(BUSY, BUSY_AGENTS)
        self._quiet = self._place(SMALL, SMALL_AGENTS)
        others, agents = _others_of(self._messages)
        self._others = [self._place(f"/scale/other-{number:02d}", agents) for number in range(others)]
        self._weights = list(accumulate(1 / (rank + 1) for rank in range(others)))

    def _place(self, human_key: str, agents: int) -> _Place:
        project = self._tx.projects.add(
            slug=slugs_of(human_key)[0], human_key=human_key, plain_slug=plain_slug(human_key), now=Micros(self.now)
        )
        for kind, name in ((AgentKind.HUMAN, "Human"), (AgentKind.SYSTEM, "System")):
            self._agent(project, kind, name)
        return _Place(project, [self._agent(project, AgentKind.AGENT, agent_name(number)) for number in range(agents)])

    def _agent(self, project: Project, kind: AgentKind, name: str) -> Agent:
        new = NewAgent(
            project_id=project.id,
            kind=kind,
            name=name,
            program="scale",
            model="none",
            task_description="",
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        )
        return self._tx.agents.add(new, Micros(self.now))

    def write(self, number: int) -> None:
        """Message `number` of the store, with what its recipients did with it."""
        self.now += self._step
        place, text = self._where(number)
        sender = self._random.choice(place.agents)
        new = self._new(place, sender, text)
        if number in self._planted:
            new = replace(new, thread_id=planted_thread(self._planted[number]))
        message, recipients = self._tx.messages.add(new, self._recipients(place, sender, new), Micros(self.now))
        if text is None:  # a reply to a planted letter would carry its subject
            place.recent.append(message)
        for one in recipients:
            if self._random.random() < _READ:
                self._tx.inboxes.mark_read(one.agent_id, message.id, Micros(self.now + self._step // 2))
                if message.ack_required and self._random.random() < _ACKNOWLEDGED:
                    self._tx.inboxes.acknowledge(one.agent_id, message.id, Micros(self.now + self._step // 2))

    def _where(self, number: int) -> tuple[_Place, tuple[str, str] | None]:
        if number in self._planted:
            return self._busy, planted_letter(self._planted[number])
        if number in self._small:
            return self._quiet, None
        if self._random.random() < BUSY_SHARE:
            return self._busy, None
        return self._random.choices(self._others, cum_weights=self._weights)[0], None

    def _new(self, place: _Place, sender: Agent, text: tuple[str, str] | None) -> NewMessage:
        answered = None
        if text is None and place.recent and self._random.random() < _REPLIES:
            answered = self._random.choice(place.recent)
        subject, body = text or (self._corpus.subject(), self._corpus.body())
        if place is self._quiet:
            body = f"{corpus.COMMONEST} {body}"
        return NewMessage(
            sender=sender,
            project=place.project,
            thread_id=self._thread(answered),
            topic=self._random.choice(_TOPICS) if self._random.random() < _ON_A_TOPIC else None,
            subject=reply_subject(answered.subject, "Re:") if answered else subject,
            body_md=body,
            importance=self._random.choice(_IMPORTANCES),
            ack_required=self._random.random() < _ASKS_FOR_ACK,
            reply_to=answered.id if answered else None,
        )

    def _thread(self, answered: Message | None) -> str | None:
        if answered is not None:
            return thread_of(MessageId(answered.id), answered.thread_id)
        return f"TASK-{self._random.randrange(1_000_000)}" if self._random.random() < _OWN_THREAD else None

    def _recipients(self, place: _Place, sender: Agent, new: NewMessage) -> list[NewRecipient]:
        pick = self._random
        others = [agent for agent in place.agents if agent is not sender]
        chosen = pick.sample(others, min(len(others), pick.choice(_AUDIENCES)))
        found = [NewRecipient(agent=chosen[0], project=place.project, kind=RecipientKind.TO)]
        for agent in chosen[1:]:
            kind = RecipientKind.BCC if pick.random() < _BLIND else pick.choice(_KINDS)
            found.append(NewRecipient(agent=agent, project=place.project, kind=kind))
        if new.reply_to is None and place is not self._quiet and pick.random() < _TO_ANOTHER_PROJECT:
            other = pick.choice([one for one in self._others if one is not place])
            found.append(NewRecipient(agent=pick.choice(other.agents), project=other.project, kind=RecipientKind.TO))
        return found


def main() -> None:
    database, messages = Path(sys.argv[1]), int(sys.argv[2])
    began = time.perf_counter()
    make_store(database, messages)
    size = database.stat().st_size
    print(f"{messages} messages in {time.perf_counter() - began:.1f} s, {size / messages:.0f} bytes each: {database}")


if __name__ == "__main__":
    main()
