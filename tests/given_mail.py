"""Real stores whose mail is given away: made by hand, exported as the command does it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.archive.contents import Contents
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.attachments import ATTACHMENTS_FOLDER, Attachment
from mcp_agent_mail.domain.messages import Importance, Message, NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.sharing.folder import BundleExport, export_bundle
from mcp_agent_mail.features.sharing.results import SharedPreset
from mcp_agent_mail.features.sharing.service import ShareRequest, SharingService
from mcp_agent_mail.features.sharing.signatures import read_private_key, signature_of
from mcp_agent_mail.store.transaction import open_view
from mcp_agent_mail.web.bundle.pages import BundlePages
from tests.archive_harness import ArchiveHarness, open_archive_harness
from tests.stored_contents import keep_content


@dataclass(frozen=True, kw_only=True)
class Letter:
    """From BlueLake unless it has a `sender`. `held`: every copy of it."""

    sender: Agent | None = None
    bcc: Sequence[Agent] = ()
    held: bool = False
    subject: str = "Plan"
    body: str = "body"
    thread: str | None = None
    topic: str | None = None
    attachments: Sequence[Attachment] = ()
    is_private: bool = False
    is_system: bool = False


@dataclass
class GivenMail:
    """`app` at /code/wares/app has BlueLake and RedStone, `lib` at /code/wares/lib has QuietFox."""

    harness: ArchiveHarness
    app: Project
    lib: Project
    blue: Agent
    red: Agent
    fox: Agent

    def send(self, to: Sequence[Agent], **fields: Any) -> Message:
        """A letter with these fields, as the store does it, without the checks of a send."""
        letter = Letter(**fields)
        sender = letter.sender or self.blue
        new = NewMessage(
            sender=sender,
            project=self.project_of(sender),
            thread_id=letter.thread,
            topic=letter.topic,
            subject=letter.subject,
            body_md=letter.body,
            importance=Importance.NORMAL,
            ack_required=False,
            reply_to=None,
            attachments=tuple(letter.attachments),
            is_private=letter.is_private,
            is_system=letter.is_system,
        )
        held_code = "contact_required" if letter.held else None
        recipients = [
            NewRecipient(agent=agent, project=self.project_of(agent), kind=kind, held_code=held_code)
            for kind, agents in ((RecipientKind.TO, to), (RecipientKind.BCC, letter.bcc))
            for agent in agents
        ]
        message, _ = self.harness.tx.messages.add(new, recipients, self.harness.clock())
        return message

    def project_of(self, agent: Agent) -> Project:
        return self.app if agent.project_id == self.app.id else self.lib

    def attachment(self, content: bytes, name: str, media_type: str = "text/plain") -> Attachment:
        return Attachment(content=keep_content(self.harness.root, content), name=name, media_type=media_type)

    @contextmanager
    def service(self) -> Iterator[SharingService]:
        with open_view(self.harness.database) as view:
            yield SharingService(view, Contents(AttachmentFiles(self.harness.root / ATTACHMENTS_FOLDER)))

    def export(
        self,
        target: Path,
        *projects: str,
        threads: Sequence[str] = (),
        preset: SharedPreset = SharedPreset.STANDARD,
        key: Path | None = None,
    ) -> BundleExport:
        """Of `app` where no project is named."""
        request = ShareRequest(project_keys=projects or (self.app.human_key,), threads=threads, preset=preset)
        with self.service() as service:
            pages = BundlePages(service, service.collect(request), progress=_silent)
            return export_bundle(
                target,
                pages.files(),
                preset=preset,
                storage_root=self.harness.root,
                sign=None if key is None else partial(signature_of, key=read_private_key(key)),
            )


@contextmanager
def open_given_mail(root: Path) -> Iterator[GivenMail]:
    root.mkdir()
    with open_archive_harness(root) as harness:
        app, lib = harness.add_project("/code/wares/app"), harness.add_project("/code/wares/lib")
        agents = [
            harness.add_agent(app, "BlueLake"),
            harness.add_agent(app, "RedStone"),
            harness.add_agent(lib, "QuietFox"),
        ]
        yield GivenMail(harness, app, lib, *agents)


def _silent(done: int, total: int) -> None:
    assert done <= total


def human_of(given: GivenMail) -> Agent:
    found = given.harness.tx.agents.find_by_name(given.app.id, "Human")
    assert found is not None
    assert found.kind is AgentKind.HUMAN
    return found


def all_text(folder: Path) -> str:
    """Every byte of every file that has mail in it, and the names."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != "assets"]
    return "\n".join(f"{path.relative_to(folder)}\n{path.read_bytes().decode('utf-8', 'replace')}" for path in files)
