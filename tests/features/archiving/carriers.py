"""Two projects whose mail carries something."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.attachments import StoredContent
from mcp_agent_mail.domain.messages import Message
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.protocol import Failed, Recovered
from mcp_agent_mail.store.mail.message_events import record_purges
from mcp_agent_mail.store.retention import RetentionCutoff
from tests.archive_harness import ArchiveHarness, git
from tests.stored_contents import content_path, keep_content

PLAN = b"the plan, in a file\n"
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9_000


@dataclass
class Desk:
    """BlueLake and RedStone are of app, Green of lib."""

    harness: ArchiveHarness
    app: Project
    lib: Project
    blue: Agent
    red: Agent
    green: Agent

    def send(self, *carried: bytes, to: Agent | None = None) -> Message:
        return self.harness.send(self.blue, [to or self.red], carried=carried)

    def content(self, data: bytes) -> StoredContent:
        return keep_content(self.harness.root, data)

    def lose(self, data: bytes) -> StoredContent:
        """Beside the database alone."""
        content = self.content(data)
        content_path(self.harness.root, content).unlink()
        return content

    def shown(self, project: Project | None = None) -> dict[str, bytes]:
        """What the work tree has of attachments, by path."""
        root = self.harness.path(project or self.app)
        files = (path for path in (root / "attachments").rglob("*") if path.is_file())
        return {str(path.relative_to(root)): path.read_bytes() for path in files}

    def in_git(self, project: Project | None = None, revision: str = "main") -> list[str]:
        path = self.harness.path(project or self.app)
        return git(path, "ls-tree", "-r", "--name-only", revision, "attachments/").split()

    def status(self, project: Project | None = None) -> str:
        return git(self.harness.path(project or self.app), "status", "--porcelain")

    def told(self) -> list[tuple[str, str]]:
        return [(type(report).__name__, report.part) for report in self.harness.reports if isinstance(report, TROUBLE)]

    def purge(self, message: Message) -> None:
        """As retention does, a day later."""
        self.harness.clock.step(86_400)
        cutoff = RetentionCutoff(at=self.harness.clock())
        with self.harness.together():
            assert self.harness.tx.retention.purge(message.id, cutoff, self.harness.clock())
            record_purges(self.harness.tx, [message.id])

    def findings(self) -> list[tuple[str, str, str | None]]:
        return [(found.check, found.problem, found.path) for found in self.harness.verify().findings]


TROUBLE = (Failed, Recovered)


def open_desk(harness: ArchiveHarness) -> Desk:
    app, lib = harness.add_project("/code/app"), harness.add_project("/code/lib")
    blue, red, green = (
        harness.add_agent(project, name) for project, name in ((app, "BlueLake"), (app, "RedStone"), (lib, "Green"))
    )
    return Desk(harness, app, lib, blue, red, green)
