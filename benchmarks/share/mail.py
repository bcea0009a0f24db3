"""The mail that is given away: threads, tables, code and attachments, with secrets wherever peers write.

Rows are made by the store's own nouns, a thousand messages to a unit of work; nothing is in the outbox.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.corpus import Corpus
from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.attachments import ATTACHMENTS_FOLDER, Attachment
from mcp_agent_mail.domain.messages import Importance, NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.domain.projects import Project, plain_slug, slugs_of
from mcp_agent_mail.store.engine.sqlite.connection import open_writing
from mcp_agent_mail.store.engine.sqlite.migrate import migrate
from mcp_agent_mail.store.transaction import Tx
from tests.features.sharing.planted_secrets import PlantedSecret, planted, split_by_markdown

PROJECT = "/home/joe/code/wares/shop"
"""Neither it nor a part of it but the last may be in a bundle."""
AGENTS = 20
THREADS = 400
SECRETS = 200
PLANTED_WORD = "mark"
"""Beside each secret, with its number: what holds it was given away."""

_SEED = 13
_UNIT = 1_000
_BEGIN = Micros(1_735_689_600 * SECOND)
_STEP = 600 * SECOND
_IN_A_THREAD = 0.7
_ATTACHED_EVERY = 20
_TELLING_EVERY = 5
_LONGEST_SUBJECT = 180
_LONGEST_NAME = 120
_PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c020000000b4944415478da6364f80f00010501012718e366"
    "0000000049454e44ae426082"
)
_TELLING = f"""
## Steps

1. The token count went from 1,200 to 900; see `{PROJECT}/src/cart.py` and [the docs](https://example.com/docs?page=2).
2. **Key** ideas: session handling, `api_key` stays in the vault, the password policy is unchanged.

| step | before | after |
|---|---|---|
| coupon | 120 ms | 8 ms |

```python
def total(items: list[Item], key: str = "sum") -> Money:
    return sum((item.price for item in items), start=Money(0))
```
"""


class Office:
    """A store with one project, made at the first time. Times are its own, so that each run makes the same mail."""

    def __init__(self, root: Path, tx: Tx, *, now: Micros = _BEGIN) -> None:
        self._tx = tx
        self._files = AttachmentFiles(root / ATTACHMENTS_FOLDER)
        self._random = random.Random(_SEED)
        self._corpus = Corpus("share")
        self._now = now
        self.project = tx.projects.find_by_human_key(PROJECT) or self._open()
        names = [f"Worker{number:02d}" for number in range(AGENTS)]
        self._agents = [tx.agents.find_by_name(self.project.id, name) or self.agent(name) for name in names]

    def _open(self) -> Project:
        made = self._tx.projects.add(
            slug=slugs_of(PROJECT)[0], human_key=PROJECT, plain_slug=plain_slug(PROJECT), now=self._now
        )
        for kind, name in ((AgentKind.HUMAN, "Human"), (AgentKind.SYSTEM, "System")):
            self._tx.agents.add(_new_agent(made, name, kind=kind), self._now)
        return made

    def agent(self, name: str, *, model: str = "none", task: str = "") -> Agent:
        return self._tx.agents.add(_new_agent(self.project, name, model=model, task=task), self._now)

    def write(self, number: int) -> None:
        """Message `number`, with a thread, code and an attachment as often as in mail of agents."""
        body = self._corpus.body()
        if number % _TELLING_EVERY == 0:
            body += _TELLING
        attachments: Sequence[Attachment] = ()
        if number % _ATTACHED_EVERY == 0:
            log = "\n".join(f"{line}: {self._corpus.body()}" for line in range(3)).encode()
            picture = self.attachment(_PICTURE, "cart.png", "image/png")
            attachments = (self.attachment(log, f"log-{number}.txt"), picture)
        thread = f"CART-{self._random.randrange(THREADS)}" if self._random.random() < _IN_A_THREAD else None
        self.send(subject=self._corpus.subject(), body=body, thread=thread, attachments=attachments)

    def send(
        self,
        *,
        subject: str = "Plan",
        body: str = "",
        thread: str | None = None,
        to: Agent | None = None,
        attachments: Sequence[Attachment] = (),
    ) -> None:
        self._now = Micros(self._now + _STEP)
        sender, *others = self._random.sample(self._agents, 3)
        new = NewMessage(
            sender=sender,
            project=self.project,
            thread_id=thread,
            topic="build" if self._random.random() < 1 / _ATTACHED_EVERY else None,
            subject=subject,
            body_md=body,
            importance=Importance.NORMAL,
            ack_required=False,
            reply_to=None,
            attachments=tuple(attachments),
        )
        those = [NewRecipient(agent=one, project=self.project, kind=RecipientKind.TO) for one in (to or others[0],)]
        those.append(NewRecipient(agent=others[1], project=self.project, kind=RecipientKind.CC))
        self._tx.messages.add(new, those, self._now)

    def attachment(self, content: bytes, name: str, media_type: str = "text/plain") -> Attachment:
        stored = self._files.keep(self._files.stage([content], len(content)))
        return Attachment(content=stored, name=name, media_type=media_type)


def _new_agent(
    project: Project, name: str, *, kind: AgentKind = AgentKind.AGENT, model: str = "none", task: str = ""
) -> NewAgent:
    return NewAgent(
        project_id=project.id,
        kind=kind,
        name=name,
        program="bench",
        model=model,
        task_description=task,
        attachments_policy=AttachmentsPolicy.AUTO,
        token_hash=None,
    )


def in_subject(office: Office, told: str, mark: str, _: int) -> None:
    office.send(subject=f"{mark} {told}"[:_LONGEST_SUBJECT])


def in_body(office: Office, told: str, mark: str, _: int) -> None:
    office.send(body=f"{mark}:\n\n{told}\n\nDone.\n\n> {told}")


def in_thread(office: Office, told: str, mark: str, _: int) -> None:
    office.send(body=mark, thread=f"CART {told}"[:_LONGEST_NAME])


def in_task(office: Office, told: str, mark: str, number: int) -> None:
    office.send(body=mark, to=office.agent(f"Told{number}", task=f"Works with {told}"))


def in_model(office: Office, told: str, mark: str, number: int) -> None:
    office.send(body=mark, to=office.agent(f"Made{number}", model=f"m {told}"))


def in_name_of_agent(office: Office, told: str, mark: str, _: int) -> None:
    office.send(body=mark, to=office.agent(told))


def in_name_of_attachment(office: Office, told: str, mark: str, number: int) -> None:
    office.send(body=mark, attachments=[office.attachment(f"of {number}".encode(), told[:_LONGEST_NAME])])


def in_attached_text(office: Office, told: str, mark: str, number: int) -> None:
    carried = office.attachment(f"{mark} notes\n{told}\n".encode(), f"notes-{number}.txt")
    office.send(body=mark, attachments=[carried])


def in_table(office: Office, told: str, mark: str, _: int) -> None:
    office.send(body=f"{mark}\n\n| it | is |\n|---|---|\n| here | {told} |\n")


def in_code(office: Office, told: str, mark: str, _: int) -> None:
    office.send(body=f"{mark}\n\n```sh\n{told}\n```\n")


def in_path(office: Office, told: str, mark: str, _: int) -> None:
    office.send(body=f"{mark} in {PROJECT}/{told}")


PLACES: Mapping[str, Callable[[Office, str, str, int], None]] = {
    "subject": in_subject,
    "body": in_body,
    "thread": in_thread,
    "task": in_task,
    "model": in_model,
    "name of an agent": in_name_of_agent,
    "name of an attachment": in_name_of_attachment,
    "attached text": in_attached_text,
    "table": in_table,
    "code": in_code,
    "path": in_path,
    "split by Markdown": in_body,
}


def mark_of(number: int) -> str:
    return f"{PLANTED_WORD}{number:04d}"


def plant(office: Office, secrets: Sequence[PlantedSecret]) -> None:
    """Each in the next of PLACES that can hold it: all but bodies, code and attached text have one line, and
    no name of a file has a slash.
    """
    places = list(PLACES)
    for number, secret in enumerate(secrets):
        place = places[number % len(places)]
        if place == "name of an attachment" and "/" in secret.told:
            place = "attached text"
        told = split_by_markdown(secret, number) if place == "split by Markdown" else secret.told
        if place not in ("body", "code", "attached text", "split by Markdown"):
            told = told.replace("\n", "\\n")
        PLACES[place](office, told, mark_of(number), number)


def make_mail(root: Path, messages: int) -> Sequence[PlantedSecret]:
    """A store of so many messages at `root`, SECRETS of them with a secret each, which are returned."""
    secrets = list(planted(SECRETS))
    migrate(root / "mail.sqlite3", fault_hook=no_fault)
    with closing(open_writing(root / "mail.sqlite3")) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        with connection:
            office = Office(root, Tx(connection, lambda: _BEGIN))
            plant(office, secrets)
        for first in range(len(secrets), messages, _UNIT):
            with connection:
                for number in range(first, min(first + _UNIT, messages)):
                    office.write(number)
    return secrets


def add_one(root: Path, messages: int) -> None:
    """One message more than `messages`, to a thread that is there."""
    with closing(open_writing(root / "mail.sqlite3")) as connection, connection:
        office = Office(root, Tx(connection, lambda: _BEGIN), now=Micros(_BEGIN + messages * _STEP))
        office.send(subject="One more", body="It came later.", thread="CART-7")
