"""What a send pays for search: `python -m benchmarks.indexing`.

The same mail is stored in three fresh stores in turn, twenty messages to a unit of work: as it is, without the
index of names, and without any index. Told is the writer's CPU per message to five recipients (median and range of
the rounds); the disk is left out. What the rest of a send costs, `python -m benchmarks` tells.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

from benchmarks.corpus import Corpus
from benchmarks.report import publish
from benchmarks.stand import Stand
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.messages import Importance, NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.domain.projects import plain_slug, slugs_of
from mcp_agent_mail.store.engine.sqlite.connection import open_writing
from mcp_agent_mail.store.engine.sqlite.migrate import migrate
from mcp_agent_mail.store.transaction import Tx

WITHOUT = {
    "no index": ("messages_fts_insert", "message_projects_identifiers"),
    "words": ("message_projects_identifiers",),
    "words and names": (),
}
MAIL = ("no names of code", "names known before", "new names")
_MESSAGES = 2_000
_UNIT = 20
_ROUNDS = 3
_RECIPIENTS = 5
_WORDS_PER_NAME = 12
_KNOWN = 500
_NOW = Micros(1_800_000_000_000_000)
_PLACE = "/code/app"


class _Place:
    def __init__(self, stack: ExitStack, database: Path, dropped: Sequence[str]) -> None:
        migrate(database, fault_hook=no_fault)
        self._connection = stack.enter_context(closing(open_writing(database)))
        self._connection.execute("PRAGMA synchronous=OFF")
        for trigger in dropped:
            self._connection.execute(f"DROP TRIGGER {trigger}")
        self._tx = Tx(self._connection, lambda: _NOW)
        with self._connection:
            self._project = self._tx.projects.add(
                slug=slugs_of(_PLACE)[0], human_key=_PLACE, plain_slug=plain_slug(_PLACE), now=_NOW
            )
            self._agents = [self._tx.agents.add(self._agent(number), _NOW) for number in range(_RECIPIENTS + 1)]
        self.spent_s = 0.0

    def _agent(self, number: int) -> NewAgent:
        return NewAgent(
            project_id=self._project.id,
            kind=AgentKind.AGENT,
            name=f"Worker{number}",
            program="indexing",
            model="none",
            task_description="",
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        )

    def store(self, mail: Sequence[tuple[str, str]]) -> None:
        sender, *others = self._agents
        to = [NewRecipient(agent=one, project=self._project, kind=RecipientKind.TO) for one in others]
        before = time.process_time()
        with self._connection:
            for subject, body in mail:
                new = NewMessage(
                    sender=sender,
                    project=self._project,
                    thread_id=None,
                    topic=None,
                    subject=subject,
                    body_md=body,
                    importance=Importance.NORMAL,
                    ack_required=False,
                    reply_to=None,
                )
                self._tx.messages.add(new, to, _NOW)
        self.spent_s += time.process_time() - before


def mail_of(kind: str, seed: int) -> list[tuple[str, str]]:
    """Letters of the generated corpus; every twelfth word is a name, unless `kind` has none."""
    corpus, pick = Corpus(f"{kind} {seed}"), random.Random(seed)
    known = [f"{corpus.words(1)[0]}_{number}" for number in range(_KNOWN)]
    letters = []
    for number in range(_MESSAGES):
        words = corpus.body().split()
        for at in range(0, len(words), _WORDS_PER_NAME):
            if kind == "names known before":
                words[at] = pick.choice(known)
            elif kind == "new names":
                words[at] = f"{words[at]}_{number}_{at}"
        letters.append((corpus.subject(), " ".join(words)))
    return letters


def measure(kind: str, seed: int) -> dict[str, float]:
    """Microseconds per message by what is indexed."""
    mail, order = mail_of(kind, seed), list(WITHOUT)
    with tempfile.TemporaryDirectory(prefix="am-indexing-") as folder, ExitStack() as stack:
        places = {how: _Place(stack, Path(folder) / f"{how}.sqlite3", dropped) for how, dropped in WITHOUT.items()}
        for first in range(0, _MESSAGES, _UNIT):
            order.append(order.pop(0))
            for how in order:
                places[how].store(mail[first : first + _UNIT])
        return {how: place.spent_s / _MESSAGES * 1e6 for how, place in places.items()}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="am-indexing-") as folder, Stand(Path(folder)) as stand:
        for kind in MAIL:
            with stand.beside(kind):
                rounds = [measure(kind, seed) for seed in range(_ROUNDS)]
            for how in WITHOUT:
                found = sorted(one[how] for one in rounds)
                line = f"{kind:20} {how:16} {median(found):4.0f} us ({found[0]:.0f} to {found[-1]:.0f})"
                sys.stdout.write(line + "\n")
    return publish([], stand.seen, Path("benchmarks/results/indexing.json"))


if __name__ == "__main__":
    sys.exit(main())
