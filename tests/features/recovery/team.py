"""Two projects whose mail is all in Git, to be saved and given away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from tests.archive_harness import ArchiveHarness


def silent(done: int, total: int) -> None:
    assert done <= total


@dataclass(frozen=True)
class Team:
    """Two projects with mail between them, one with a blind copy and a file."""

    harness: ArchiveHarness
    app: Project
    lib: Project
    blue: Agent
    red: Agent
    fox: Agent

    @property
    def root(self) -> Path:
        return self.harness.root
