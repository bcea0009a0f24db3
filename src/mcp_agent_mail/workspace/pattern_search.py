"""Whether a pattern covers any file of a workspace: a short look, which says so when it did not come to its end.

Git is not asked, so that what it ignores counts too; no symbolic link is followed.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from mcp_agent_mail.core.likeness import HintBudget, most_like
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.pattern import Pattern, anchor, covers
from mcp_agent_mail.workspace.boundary import ProjectBoundary
from mcp_agent_mail.workspace.pathspecs import literal_paths

SEARCH_S = 0.05
MAX_STEPS = 60_000
"""Of comparing names with patterns, all of a search: about as long."""
MAX_NEAREST = 8
"""Patterns of a call for which it is."""
_LOOK_AT_TIME_EVERY = 64
_GIT = ".git"


class _OutOfTime(Exception):  # No OSError: that is of a folder, and the search goes on.
    pass


class PatternSearch:
    """One search, for the patterns of one call: `seconds` are for all of them. Blocks: call it in a thread.

    Where it `may_look` at nothing, nothing is there as far as it tells, and it never knows what a pattern covers.

    What is seen before the clock is first asked is always seen to the end, however slow the machine.
    """

    def __init__(
        self,
        root: Path,
        *,
        seconds: float = SEARCH_S,
        max_steps: int = MAX_STEPS,
        elapsed: Callable[[], float] = time.monotonic,
        may_look: Callable[[], bool] = lambda: True,
    ) -> None:
        self._root = root
        self._may_look = may_look
        self._elapsed = elapsed
        self._until = elapsed() + seconds
        self._work = WorkBudget(max_steps)
        self._likeness = HintBudget()
        self._nearest_left = MAX_NEAREST
        self._seen = 0

    @cached_property
    def _inside(self) -> ProjectBoundary:
        return ProjectBoundary(self._root)

    def has_workspace(self) -> bool:
        """Is the project's directory on this disk?"""
        return self._root.is_dir()

    def is_there(self, path: str) -> bool:
        """Does anything lie at this relative path? Not beyond a symbolic link that leads out."""
        return self._may_look() and self._inside.look(path.strip("/")) is not None

    def covers_some(self, pattern: Pattern) -> bool | None:
        """Does it cover any file? None when that was not found out in time; a folder without files has none."""
        if not self._may_look():
            return None
        try:
            for literal in literal_paths(pattern):
                if _GIT in literal.split("/"):
                    continue
                found = self._inside.look(literal)
                if found is not None and not stat.S_ISDIR(found.st_mode):
                    return True
            return any(covers(pattern, path, self._work) for path in self._files(self._start(pattern)))
        except (_OutOfTime, PatternsTooHard):
            return None

    def nearest(self, pattern: Pattern) -> str | None:
        """The pattern with the first of its folders that is not there replaced by the one most like it, if any is; of
        the first few patterns, and while there is time.
        """
        self._nearest_left -= 1
        if pattern.ignore_case or self._nearest_left < 0 or self._is_over():
            return None
        segments = pattern.text.split("/")
        for number, name in enumerate(anchor(pattern).split("/")):
            above = "/".join(segments[:number])
            if self._is_folder(f"{above}/{name}" if above else name):
                continue
            close = most_like(name, self._folders(above), limit=1, budget=self._likeness)
            return "/".join([*segments[:number], *close, *segments[number + 1 :]]) if close else None
        return None

    def _start(self, pattern: Pattern) -> str | None:
        """The folder that all of the pattern lies in; None where it is not there."""
        folder = "" if pattern.ignore_case else anchor(pattern)
        return folder if not folder or self._is_folder(folder) else None

    def _is_folder(self, path: str) -> bool:
        """Git's own is none here: of what lies in it nothing is told."""
        if _GIT in path.split("/"):
            return False
        found = self._inside.look(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def _files(self, start: str | None) -> Iterator[str]:
        """Those nearest to the start first. Raises _OutOfTime."""
        waiting = deque([] if start is None else [start])
        while waiting:
            folder = waiting.popleft()
            for entry in self._entries(folder):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not entry.is_dir(follow_symlinks=False):
                    yield path
                elif entry.name != _GIT:
                    waiting.append(path)

    def _folders(self, folder: str) -> Iterator[str]:
        with suppress(_OutOfTime):
            for entry in self._entries(folder):
                if entry.is_dir(follow_symlinks=False) and entry.name != _GIT:
                    yield entry.name

    def _entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """Of a folder that cannot be read, none. Raises _OutOfTime once the time is up."""
        self._tick()
        with suppress(OSError), os.scandir(self._root / folder) as entries:
            for entry in entries:
                self._tick()
                yield entry

    def _tick(self) -> None:
        self._seen += 1
        if self._seen % _LOOK_AT_TIME_EVERY == 0 and self._elapsed() > self._until:
            raise _OutOfTime

    def _is_over(self) -> bool:
        return self._seen >= _LOOK_AT_TIME_EVERY and self._elapsed() > self._until
