"""What an archive costs: `python -m benchmarks.care [--messages N] [--per-commit K] [--verify]`.

Writes messages of 1 KiB of varied text to five recipients through the product's own drain, without a server:
a real store, real Git, the same care beside the commits. Then measures bytes of Git per message, and with
`--verify` time and memory of `am doctor verify`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from benchmarks.corpus import Corpus
from mcp_agent_mail.archive.ownership import ArchiveOwner
from mcp_agent_mail.archive.sizes import ArchiveSize, measure
from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.archive_format.layout import mail_snapshot, profile_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.messages import Importance, NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.features.archiving.committer_context import DrainPlan, DrainReaders
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.protocol import (
    MAX_TRACKED_FILES,
    PROJECTS_FOLDER,
    CareFailed,
    CareTaken,
    Committed,
    Failed,
    Report,
)
from mcp_agent_mail.store.engine.sqlite.connection import open_reading, open_writing
from mcp_agent_mail.store.engine.sqlite.migrate import migrate
from mcp_agent_mail.store.outbox import Outbox
from mcp_agent_mail.store.projects import Projects
from mcp_agent_mail.store.transaction import Tx

TARGET = 3 * 1_024
BODY_BYTES = 1_024
RECIPIENTS = 5
AGENTS = 20
DAYS = 150
PROJECT = "care-bench"
A_WHILE_S = 60
LOOK_S = 0.1


class Office:
    """A store with one project; its clock runs so that all messages spread over DAYS days up to now."""

    def __init__(self, root: Path, connection: sqlite3.Connection, messages: int) -> None:
        self.root = root
        self._connection = connection
        self._now = Micros(system_clock() - DAYS * 86_400 * SECOND)
        self._step = DAYS * 86_400 * SECOND // (messages + 1)
        self._tx = Tx(connection, lambda: self._now)
        self._random = random.Random(7)
        self._corpus = Corpus("care")
        self.packs_at_most = 0
        self.problems: list[str] = []
        with self._unit():
            self._project = self._tx.projects.add(
                slug=PROJECT, human_key=f"/{PROJECT}", plain_slug=PROJECT, now=self._now
            )
            self._agents = [self._agent(f"Agent{number:02d}") for number in range(AGENTS)]

    @contextmanager
    def _unit(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        yield
        self._connection.execute("COMMIT")

    def _agent(self, name: str) -> Agent:
        new = NewAgent(
            project_id=self._project.id,
            kind=AgentKind.AGENT,
            name=name,
            program="bench",
            model="none",
            task_description="",
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        )
        agent = self._tx.agents.add(new, self._now)
        self._tell(EventKind.PROFILE, profile_snapshot(agent), agent, None)
        return agent

    def send(self, count: int) -> None:
        with self._unit():
            for _ in range(count):
                self._now = Micros(self._now + self._step)
                self._send()

    def _send(self) -> None:
        sender, *recipients = self._random.sample(self._agents, RECIPIENTS + 1)
        new = NewMessage(
            sender=sender,
            project=self._project,
            thread_id=f"TASK-{self._random.randrange(500)}",
            topic=None,
            subject=self._corpus.subject(),
            body_md=" ".join(self._corpus.words(BODY_BYTES // 4))[:BODY_BYTES],
            importance=Importance.NORMAL,
            ack_required=False,
            reply_to=None,
        )
        addressed = [NewRecipient(agent=agent, project=self._project, kind=RecipientKind.TO) for agent in recipients]
        message, stored = self._tx.messages.add(new, addressed, self._now)
        self._tell(EventKind.MAIL, mail_snapshot(message, stored, self._project.id), sender, message.id)

    def _tell(self, kind: EventKind, snapshot: dict[str, object], agent: Agent, message_id: MessageId | None) -> None:
        event = NewEvent(
            project_id=self._project.id, kind=kind, agent_id=agent.id, message_id=message_id, snapshot=snapshot
        )
        self._tx.outbox.add(event, self._now)

    def hear(self, report: Report) -> None:
        if isinstance(report, Committed):
            with self._unit():
                self._tx.outbox.mark(report.commit)
        elif isinstance(report, CareTaken):
            self.packs_at_most = max(self.packs_at_most, report.packs)
        elif isinstance(report, Failed | CareFailed):
            self.problems.append(report.message)

    @property
    def archive(self) -> Path:
        return self.root / PROJECTS_FOLDER / PROJECT


def run(root: Path, messages: int, per_commit: int) -> tuple[Office, float]:
    """The office with everything in Git and looked after, and how long that took."""
    database = root / "mail.sqlite3"
    migrate(database, fault_hook=no_fault)
    began = time.perf_counter()
    with (
        closing(open_writing(database)) as connection,
        closing(open_reading(database)) as reading,
        closing(open_reading(database)) as for_committers,
    ):
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous=OFF")
        office = Office(root, connection, messages)
        drain = open_drain(office, Tx(connection, system_clock).meta.store_id(), reading, for_committers)
        for first in range(0, messages, per_commit):
            office.send(min(per_commit, messages - first))
            settle(drain)
        while (wait := drain.step()) is not None and wait < A_WHILE_S:
            time.sleep(min(wait, LOOK_S))
        drain.flush(Micros(system_clock() + 3_600 * SECOND))
    return office, time.perf_counter() - began


def open_drain(office: Office, store_id: str, reading: sqlite3.Connection, for_committers: sqlite3.Connection) -> Drain:
    plan = DrainPlan(
        projects_path=office.root / PROJECTS_FOLDER,
        owner=ArchiveOwner(store_id=store_id, author_name="mcp-agent", author_email="mcp-agent@example.com"),
        interval=Micros(0),
        max_tracked_files=MAX_TRACKED_FILES,
    )
    readers = DrainReaders(outbox=Outbox(reading), projects=Projects(reading), events=Outbox(for_committers))
    return Drain(plan, readers, report=office.hear, clock=system_clock, fault_hook=no_fault)


def settle(drain: Drain) -> None:
    """Until what is pending is committed: the drain lets the first event after a pause wait for company."""
    while (wait := drain.step()) is not None and wait < 0.1:
        time.sleep(wait)


def verify(root: Path) -> dict[str, object]:
    """`am doctor verify` of the store as a person runs it: its verdict, seconds, and the memory it took at most."""
    command = [sys.executable, "-m", "mcp_agent_mail", "doctor", "verify", "--json"]
    began = time.perf_counter()
    environment = {**os.environ, "STORAGE_ROOT": str(root)}
    with subprocess.Popen(command, env=environment, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        own_mib = 0
        while process.poll() is None:
            own_mib = max(own_mib, peak_of(process.pid))
            time.sleep(LOOK_S)
        assert process.stdout is not None
        report = json.loads(process.stdout.read())
    seconds = time.perf_counter() - began
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1_024
    return {
        "clean": report["clean"],
        "files": report["files"],
        "seconds": round(seconds, 1),
        "own_mib": own_mib,
        "largest_process_mib": peak_mib,
    }


def peak_of(pid: int) -> int:
    """The most memory a process has had so far, in MiB (Linux); 0 when it has gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) // 1_024
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.care", description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--per-commit", type=int, default=50, help="messages in one commit of the archive")
    parser.add_argument("--verify", action="store_true", help="time `am doctor verify` too")
    parser.add_argument("--scratch", type=Path, help="keep the store there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="am-care-") as folder:
        root = asked.scratch or Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        office, seconds = run(root, asked.messages, asked.per_commit)
        size = measure(office.archive)
        assert size is not None
        figures: dict[str, object] = {
            **asdict(size),
            "bytes_per_message": size.bytes_per_message,
            "files_in_the_folder": sum(1 for _ in office.archive.glob("[!.]*/**/*.*")),
            "packs_at_most": office.packs_at_most,
            "seconds": round(seconds, 1),
            "problems": office.problems,
        }
        if asked.verify:
            figures["verify"] = verify(root)
        print(json.dumps(figures, indent=2))
    return 0 if is_met(size) else 1


def is_met(size: ArchiveSize) -> bool:
    return size.bytes_per_message is not None and size.bytes_per_message <= TARGET


if __name__ == "__main__":
    sys.exit(main())
