"""What the server knows of projects' directories: asked in threads, remembered for a few seconds, never for good."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from mcp_agent_mail.core.clock import SECOND, Clock, system_clock
from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.domain.patterns.pattern import stored_pattern
from mcp_agent_mail.domain.staleness import WorkspaceActivity
from mcp_agent_mail.workspace import repository
from mcp_agent_mail.workspace.activity import ActivityQuery, Bounds, find_activity
from mcp_agent_mail.workspace.boundary import is_folder
from mcp_agent_mail.workspace.ignored_paths import IgnoredPaths
from mcp_agent_mail.workspace.pattern_search import PatternSearch
from mcp_agent_mail.workspace.ttl_cache import Memory

KEEP_S = 10.0
KEEP_AT_MOST = 10_000


class Workspaces:
    """Safe to use from several threads. Every method may look at the disk: none is for the event
    loop, all are for `looks`. A project's directory that is not on this disk has no folders, no branch and no activity.
    """

    def __init__(
        self,
        *,
        bounds: Bounds | None = None,
        clock: Clock = system_clock,
        elapsed: Callable[[], float] = time.monotonic,
        keep_s: float = KEEP_S,
        looks: Looks | None = None,
    ) -> None:
        self.looks = looks or Looks()
        self._bounds = bounds or Bounds()
        self._clock = clock
        self._elapsed = elapsed
        self._case: Memory[bool] = Memory(elapsed, keep_s=keep_s, at_most=KEEP_AT_MOST)
        self._folders: Memory[bool] = Memory(elapsed, keep_s=keep_s, at_most=KEEP_AT_MOST)
        self._code: Memory[bool] = Memory(elapsed, keep_s=keep_s, at_most=KEEP_AT_MOST)
        self._branches: Memory[str | None] = Memory(elapsed, keep_s=keep_s, at_most=KEEP_AT_MOST)
        self._ignored = IgnoredPaths(elapsed, keep_s=keep_s)
        self._activities: Memory[WorkspaceActivity] = Memory(elapsed, keep_s=keep_s, at_most=KEEP_AT_MOST)

    def ignore_case(self, root: str) -> bool:
        """The repository's `core.ignorecase`."""
        return self._case.get(root, lambda: repository.ignore_case(Path(root)))

    def is_folder(self, root: str, path: str) -> bool:
        """Is there a folder at this relative path? Not beyond a symbolic link that leads out."""
        return self._folders.get((root, path), lambda: is_folder(Path(root), path))

    def search(self, root: str) -> PatternSearch:
        """A search of one call: its time runs from now. Outside of code repositories it finds out nothing."""
        return PatternSearch(Path(root), elapsed=self._elapsed, may_look=partial(self._holds_code, root))

    def _holds_code(self, root: str) -> bool:
        return self._code.get(root, lambda: repository.holds_code(Path(root)))

    def may_be_ignored(self, root: str, paths: Sequence[str]) -> bool:
        """Whether `ignored` has to ask Git of any of the paths: of most it need not."""
        return bool(self._ignored.doubtful(root, paths))

    def ignored(self, root: str, paths: Sequence[str]) -> set[str]:
        """Those of the paths that Git ignores in the repository around `root`."""
        return self._ignored.find(root, paths, timeout_s=self._bounds.seconds)

    def branch(self, root: str) -> str | None:
        """The branch checked out in the repository around `root`; None when detached, or without one."""
        return self._branches.get(root, lambda: repository.branch(Path(root)))

    def activity(self, root: str, pattern: str, *, ignore_case: bool, anew: bool = False) -> WorkspaceActivity:
        """When the pattern's files were last written and last committed to; `anew` trusts no memory."""

        def find() -> WorkspaceActivity:
            query = ActivityQuery(root=Path(root), pattern=stored_pattern(pattern, ignore_case=ignore_case))
            return find_activity(query, self._bounds, now_s=self._clock() // SECOND)

        return self._activities.get((root, pattern, ignore_case), find, anew=anew)
