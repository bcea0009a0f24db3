"""A real store with real archives beside it, written by a drain that tests can stop at any point."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_agent_mail.archive import writer as writer_module
from mcp_agent_mail.archive.ownership import ArchiveOwner
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.archive_format.layout import (
    mail_snapshot,
    profile_snapshot,
    project_snapshot,
    receipt_snapshot,
)
from mcp_agent_mail.domain.archive_format.versions import OLDEST_VERSION
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.messages import (
    Importance,
    Message,
    NewMessage,
    NewRecipient,
    Receipt,
    ReceiptStep,
    RecipientKind,
)
from mcp_agent_mail.domain.projects import Project, is_slug, plain_slug, slugs_of
from mcp_agent_mail.features.archiving.committer_context import DrainPlan, DrainReaders
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.index_refresh import LOOK_S
from mcp_agent_mail.features.archiving.lease_snapshots import LeaseSnapshots, SnapshotPlace
from mcp_agent_mail.features.archiving.protocol import (
    MAX_TRACKED_FILES,
    PROJECTS_FOLDER,
    ArchiverSettings,
    Committed,
    Failed,
    Report,
)
from mcp_agent_mail.features.doctor.verify import VerifyReport, verify_archives
from mcp_agent_mail.store.agents import Agents
from mcp_agent_mail.store.engine.sqlite.connection import open_reading, open_writing
from mcp_agent_mail.store.leases import Leases
from mcp_agent_mail.store.outbox import Outbox
from mcp_agent_mail.store.projects import Projects
from mcp_agent_mail.store.transaction import Tx
from tests.store_templates import blank_store
from tests.stored_contents import attached, keep_content

LONG = 60.0
LOOKS = 600
ENDLESS_S = 3_600.0
"""A step waits for what it has begun, however slow the machine is."""


class SetClock:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.now = Micros(1_800_000_000 * SECOND)

    def __call__(self) -> Micros:
        return self.now

    def step(self, seconds: float) -> None:
        self.now = Micros(self.now + int(seconds * SECOND))


class Killed(BaseException):
    """The process ends here, as far as the drain can tell."""


def killed_at(point: FailPoint) -> FaultHook:
    def fault_hook(reached: FailPoint) -> None:
        if reached is point:
            raise Killed

    return fault_hook


@dataclass
class ArchiveHarness:
    """Every change goes into the store with its event, each in a transaction of its own."""

    root: Path
    units: Tx
    clock: SetClock
    connection: sqlite3.Connection
    reports: list[Report] = field(default_factory=list)
    unmarked: bool = False
    in_workspace: bool = False
    max_tracked_files: int = MAX_TRACKED_FILES
    patience_s: float = ENDLESS_S
    hangs_after_s: float = ENDLESS_S
    converts: bool = True

    @property
    def tx(self) -> Tx:
        self.units.begin()
        return self.units

    @property
    def database(self) -> Path:
        return self.root / "mail.sqlite3"

    @property
    def store_id(self) -> str:
        return self.tx.meta.store_id()

    @property
    def settings(self) -> ArchiverSettings:
        return ArchiverSettings(
            storage_root=str(self.root),
            database_path=str(self.database),
            author_name="mcp-agent",
            author_email="mcp-agent@example.com",
            commit_interval_ms=500,
            in_workspace=self.in_workspace,
            max_tracked_files=self.max_tracked_files,
        )

    @property
    def failures(self) -> list[Failed]:
        return [report for report in self.reports if isinstance(report, Failed)]

    def path(self, project: Project) -> Path:
        return self.root / PROJECTS_FOLDER / project.slug

    def add_project(self, path: str) -> Project:
        slug = plain if is_slug(plain := plain_slug(path)) else slugs_of(path)[0]
        project = self.tx.projects.add(slug=slug, human_key=path, plain_slug=plain, now=self.clock())
        self._event(project, EventKind.PROJECT, project_snapshot(project))
        for name, kind in (("Human", AgentKind.HUMAN), ("System", AgentKind.SYSTEM)):
            self.add_agent(project, name, kind)
        return project

    def add_agent(self, project: Project, name: str, kind: AgentKind = AgentKind.AGENT) -> Agent:
        new = NewAgent(
            project_id=project.id,
            kind=kind,
            name=name,
            program="test",
            model="test",
            task_description="",
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        )
        agent = self.tx.agents.add(new, self.clock())
        self._event(project, EventKind.PROFILE, profile_snapshot(agent), agent_id=agent.id)
        return agent

    def describe(self, project: Project, agent: Agent, task: str) -> Agent:
        """Change the profile."""
        changed = self.tx.agents.update_profile(
            agent.id,
            program=agent.program,
            model=agent.model,
            task_description=task,
            attachments_policy=agent.attachments_policy,
            now=self.clock(),
        )
        self._event(project, EventKind.PROFILE, profile_snapshot(changed), agent_id=agent.id)
        return changed

    def send(
        self,
        sender: Agent,
        to: Sequence[Agent],
        *,
        bcc: Sequence[Agent] = (),
        subject: str = "Plan",
        body: str = "body",
        carried: Sequence[bytes] = (),
        thread_id: str | None = None,
        is_private: bool = False,
    ) -> Message:
        """`carried`: what is attached, which is put beside the database."""
        attachments = tuple(attached(keep_content(self.root, content)) for content in carried)
        new = NewMessage(
            sender=sender,
            project=self._project_of(sender),
            thread_id=thread_id,
            topic=None,
            subject=subject,
            body_md=body,
            importance=Importance.NORMAL,
            ack_required=False,
            reply_to=None,
            attachments=attachments,
            is_private=is_private,
        )
        recipients = [
            NewRecipient(agent=agent, project=self._project_of(agent), kind=kind)
            for kind, agents in ((RecipientKind.TO, to), (RecipientKind.BCC, bcc))
            for agent in agents
        ]
        message, stored = self.tx.messages.add(new, recipients, self.clock())
        for project in {new.project, *(recipient.project for recipient in recipients)}:
            snapshot = mail_snapshot(message, stored, project.id)
            if attachments:
                self.tx.attachments.keep(project.id, attachments)
            self._event(project, EventKind.MAIL, snapshot, agent_id=sender.id, message_id=message.id)
        return message

    def read(self, project: Project, agent: Agent, message: Message, *, as_before: bool = False) -> None:
        """`as_before`: as stores did that told of blind copies where they tell of all."""
        at = self.clock()
        state = self.tx.inboxes.mark_read(agent.id, message.id, at)
        receipt = Receipt(
            message_id=message.id,
            agent_id=agent.id,
            agent=agent.name,
            step=ReceiptStep.READ,
            at=at,
            is_blind=state is not None and state.kind is RecipientKind.BCC and not as_before,
            is_private=message.is_private and not as_before,
        )
        snapshot = receipt_snapshot(receipt)
        self._event(project, EventKind.RECEIPT, snapshot, agent_id=agent.id, message_id=message.id)

    def _project_of(self, agent: Agent) -> Project:
        return next(one for one in [self.tx.projects.find(agent.project_id)] if one is not None)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Many changes in one transaction: a thousand on their own wait for the disk a thousand times."""
        self.connection.execute("BEGIN")
        yield
        self.connection.execute("COMMIT")

    def _event(self, project: Project, kind: EventKind, snapshot: dict[str, object], **ids: int) -> None:
        event = NewEvent(
            project_id=project.id,
            kind=kind,
            agent_id=ids.get("agent_id"),  # type: ignore[arg-type]
            message_id=ids.get("message_id"),  # type: ignore[arg-type]
            snapshot=snapshot,
        )
        self.tx.outbox.add(event, self.clock())

    @contextmanager
    def drain(self, fault_hook: FaultHook = no_fault) -> Iterator[Drain]:
        """A drain as a new process would have it."""
        owner = ArchiveOwner(store_id=self.store_id, author_name="mcp-agent", author_email="mcp-agent@example.com")
        plan = DrainPlan(
            projects_path=self.root / PROJECTS_FOLDER,
            owner=owner,
            interval=Micros(SECOND // 2),
            in_workspace=self.in_workspace,
            max_tracked_files=self.max_tracked_files,
            database_path=self.database,
            patience_s=self.patience_s,
            hangs_after_s=self.hangs_after_s,
            converts=self.converts,
        )
        with (
            closing(open_reading(self.database)) as connection,
            closing(open_reading(self.database)) as for_committers,
        ):
            drain = Drain(
                plan,
                DrainReaders(outbox=Outbox(connection), projects=Projects(connection), events=Outbox(for_committers)),
                report=self._hear,
                clock=self.clock,
                fault_hook=fault_hook,
            )
            place = SnapshotPlace(folder=plan.projects_path, store_id=owner.store_id, interval=plan.interval)
            drain.keep(
                LeaseSnapshots(place, Leases(connection), Agents(connection), report=self._hear, clock=self.clock)
            )
            with closing(drain):
                yield drain

    def tidy(self, drain: Drain) -> float | None:
        """Steps until no refresh of an index runs any more; what the last one answered."""
        for _ in range(LOOKS):
            wait = drain.step()
            if wait is None or wait > LOOK_S:
                return wait
            threading.Event().wait(LOOK_S)
        raise AssertionError(self.reports)

    def archive(self, fault_hook: FaultHook = no_fault) -> int:
        """Bring everything into Git; how many events are still not there."""
        with self.drain(fault_hook) as drain:
            drain.resume()
            drain.mend(Micros(self.clock() + int(LONG * SECOND)))
            return drain.flush(Micros(self.clock() + int(LONG * SECOND)))

    def archive_until_killed(self, point: FailPoint) -> None:
        try:
            self.archive(killed_at(point))
        except Killed:
            return
        raise AssertionError(f"{point} was never reached")

    def commit_of_message(self, project: Project, message: MessageId) -> tuple[str, int] | None:
        """The id and the last event of the commit that brought the message into this archive; None while pending."""
        row: tuple[str, int] | None = self.connection.execute(
            "SELECT c.hexsha, c.last_seq FROM outbox o JOIN commits c ON c.id = o.commit_id"
            " WHERE o.project_id = ? AND o.message_id = ? AND o.kind = 'mail'",
            (project.id, message),
        ).fetchone()
        return row

    def verify(self) -> VerifyReport:
        return verify_archives(self.root, self.database, progress=_silent)

    def _hear(self, report: Report) -> None:
        self.reports.append(report)
        if isinstance(report, Committed) and not self.unmarked:
            with self.together():
                self.tx.outbox.mark(report.commit)


def _silent(done: int, total: int) -> None:
    assert done <= total


def fill(harness: ArchiveHarness, path: Path) -> Project:
    """A project at `path` with two agents, BlueLake and RedStone, and a message from one to the other."""
    project = harness.add_project(str(path))
    blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
    harness.send(blue, [red])
    return project


def write(harness: ArchiveHarness, project: Project) -> None:
    """One more message between the two of `fill`."""
    blue, red = (harness.tx.agents.find_by_name(project.id, name) for name in ("BlueLake", "RedStone"))
    assert blue is not None
    assert red is not None
    harness.send(blue, [red], subject="More")


@contextmanager
def version_1() -> Iterator[None]:
    """Archives that are begun in here are of version 1 of the format, as they were before there was another."""
    with pytest.MonkeyPatch.context() as before:
        before.setattr(writer_module, "FORMAT_VERSION", OLDEST_VERSION)
        yield


@contextmanager
def open_archive_harness(root: Path) -> Iterator[ArchiveHarness]:
    database = root / "mail.sqlite3"
    if not database.exists():
        blank_store().lay(database)
    with closing(open_writing(database)) as connection:
        connection.isolation_level = None  # every statement commits by itself
        clock = SetClock()
        yield ArchiveHarness(root, Tx(connection, clock), clock, connection)


def git(path: Path, *arguments: str, check: bool = True) -> str:
    """As a person would run it, with their own name."""
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    environment = {"PATH": os.environ["PATH"], "HOME": str(path), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-C", str(path), *identity, *arguments], capture_output=True, text=True, env=environment, check=check
    )
    return done.stdout


def sealed_seqs(path: Path) -> list[int]:
    """The `Outbox-Seq` of every commit of the archive, oldest first."""
    lines = git(path, "log", "--reverse", "--format=%(trailers:key=Outbox-Seq,valueonly)", "main").split()
    return [int(line) for line in lines]


def refresh(writer: ArchiveWriter) -> None:
    """The index and the files as the branch has them, waited for."""
    writer.start_refresh().finish(LONG)


def make_former(harness: ArchiveHarness, project: Project, work_tree: Path) -> Path:
    """As it was laid out formerly; the link to it in the store."""
    link = harness.root / PROJECTS_FOLDER / project.slug
    (work_tree / ".git").unlink()
    (link / ".git").rename(work_tree / ".git")
    link.rmdir()
    link.symlink_to(work_tree)
    git(work_tree, "config", "--unset", "core.worktree")
    (work_tree / ".git/agent-mail/work-tree").unlink()
    shutil.rmtree(work_tree / ".git/info")
    return link
