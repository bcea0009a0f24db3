"""A project whose mail is all in Git, to be broken."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import Message
from mcp_agent_mail.domain.projects import Project
from tests.archive_harness import ArchiveHarness


@dataclass
class Archived:
    """A project whose mail is all in Git: BlueLake wrote to RedStone, who read it."""

    harness: ArchiveHarness
    project: Project
    blue: Agent
    red: Agent
    message: Message

    @property
    def path(self) -> Path:
        return self.harness.path(self.project)

    @property
    def mail_path(self) -> str:
        (path,) = (self.path / "messages").rglob("*.md")
        return str(path.relative_to(self.path))

    def findings(self) -> list[tuple[str, str, str | None]]:
        return [(found.check, found.problem, found.path) for found in self.harness.verify().findings]
