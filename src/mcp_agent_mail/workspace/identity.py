"""What says which project a directory belongs to, gathered: marks in files, and what Git knows of the repository."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from mcp_agent_mail.core.git.foreign_repository import UnfitRepository
from mcp_agent_mail.domain.project_identity import RepositoryFacts, WorkspaceFacts, normalized_remote
from mcp_agent_mail.workspace import repository
from mcp_agent_mail.workspace.marks import read_marks
from mcp_agent_mail.workspace.ttl_cache import Memory

KEEP_S = 10.0
KEEP_AT_MOST = 1_000


class WorkspaceIdentities:
    """Safe to use from several threads. Every method looks at the disk or runs Git: none is for the event loop.

    `remote` is the name of the remote that tells repositories apart.
    """

    def __init__(
        self, *, remote: str = "origin", elapsed: Callable[[], float] = time.monotonic, keep_s: float = KEEP_S
    ) -> None:
        self._remote = remote
        self._repositories: Memory[RepositoryFacts | None] = Memory(elapsed, keep_s=keep_s, at_most=KEEP_AT_MOST)

    def marked(self, path: str) -> WorkspaceFacts:
        """Only the marks: a few looks at the disk, no Git."""
        return WorkspaceFacts(path=path, marks=read_marks(Path(path)), is_missing=_is_missing(Path(path)))

    def facts(self, path: str) -> WorkspaceFacts:
        """All of it; what Git said is remembered for a few seconds. A directory that is not on this disk has none."""
        folder = Path(path)
        repository = self._repositories.get(path, lambda: self._repository(folder))
        return WorkspaceFacts(
            path=path, marks=read_marks(folder), repository=repository, is_missing=_is_missing(folder)
        )

    def remote(self, path: str) -> str | None:
        """`host/path` of the remote of the repository around the directory, remembered as in `facts`. None also where
        that is the whole disk or somebody's home: what lies there need not belong together.
        """
        folder = Path(path)
        if not repository.holds_code(folder):
            return None
        found = self._repositories.get(path, lambda: self._repository(folder))
        return None if found is None else found.remote

    def _repository(self, folder: Path) -> RepositoryFacts | None:
        if not folder.is_dir():
            return None
        try:
            found = repository.find_work_tree(folder)
            branch = None if found is None else found.branch()
        except UnfitRepository:
            return None
        if found is None or found.top is None:
            return None  # A repository's own settings may put its work tree anywhere: it speaks for what is inside.
        urls = found.values(f"remote.{self._remote}.url")
        return RepositoryFacts(
            root=found.top,
            common_dir=found.common_dir,
            branch=branch,
            worktree=Path(found.git_dir).name if found.is_linked else None,
            ignore_case=found.is_set("core.ignorecase"),
            remote=normalized_remote(urls[0]) if urls else None,
        )


def _is_missing(folder: Path) -> bool:
    return not folder.is_dir() and folder.parent.is_dir()
