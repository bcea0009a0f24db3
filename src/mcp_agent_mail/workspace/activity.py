"""When a pattern's files were last written, and when a commit last touched them. Bounded in files and in time:
a search that did not come to its end says so.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.git.foreign_repository import UnfitRepository
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.pattern import Pattern, covers
from mcp_agent_mail.domain.staleness import NEVER, NO_WORKSPACE, UNKNOWN, Sighting, WorkspaceActivity
from mcp_agent_mail.workspace.boundary import ProjectBoundary
from mcp_agent_mail.workspace.pathspecs import literal_paths, pathspecs
from mcp_agent_mail.workspace.repository import CodeWorkTree, open_work_tree

_LOOK_AT_TIME_EVERY = 256
_NANOS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Of one search: `horizon_s` is how far back commits are looked for when all of history takes too long."""

    files: int = 20_000
    seconds: float = 2.0
    horizon_s: int = 7 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityQuery:
    root: Path
    pattern: Pattern


def find_activity(query: ActivityQuery, bounds: Bounds, *, now_s: int) -> WorkspaceActivity:
    """Blocks for at most a few times `bounds.seconds`: call it in a thread. Never raises for what it finds."""
    if query.pattern.is_virtual or not query.root.is_dir():
        return NO_WORKSPACE
    try:
        with open_work_tree(query.root) as tree:
            if tree is not None:
                return _activity_in(tree, query, bounds, now_s)
    except (UnfitRepository, OSError):
        return WorkspaceActivity(filesystem=UNKNOWN, git=UNKNOWN, is_matched=True)
    files, is_matched = _newest_file(query.root, _walked(query, bounds), bounds)
    return WorkspaceActivity(filesystem=files, git=NEVER, is_matched=is_matched)


def _activity_in(tree: CodeWorkTree, query: ActivityQuery, bounds: Bounds, now_s: int) -> WorkspaceActivity:
    specs = pathspecs(query.pattern)
    listing = _listed(tree, query, specs, bounds)
    files, is_matched = _newest_file(query.root, listing, bounds)
    git = _last_commit(tree, specs, bounds, now_s)
    # A file that is gone was here when the commit touched it: work, not a pattern that fits nothing.
    return WorkspaceActivity(filesystem=files, git=git, is_matched=is_matched or git != NEVER)


Listing = AbstractContextManager[Iterable[str]]


def _newest_file(root: Path, listing: Listing, bounds: Bounds) -> tuple[Sighting, bool]:
    """The newest time of the files listed, and whether there was one; unknown when there are too many to look at."""
    inside = ProjectBoundary(root)
    until = time.monotonic() + bounds.seconds
    newest_ns, seen = 0, 0
    is_complete = True
    try:
        with listing as paths:
            for seen, path in enumerate(paths, start=1):
                found = inside.look(path)
                if found is not None and not stat.S_ISDIR(found.st_mode):
                    newest_ns = max(newest_ns, found.st_mtime_ns)
                if seen >= bounds.files or (seen % _LOOK_AT_TIME_EVERY == 0 and time.monotonic() > until):
                    is_complete = False
                    break
    except (GitFailed, TimeoutError, PatternsTooHard):
        is_complete = False
    last_ts = Micros(newest_ns // _NANOS) if newest_ns else None
    return Sighting(last_ts=last_ts, is_known=is_complete), seen > 0 or not is_complete


@contextmanager
def _listed(tree: CodeWorkTree, query: ActivityQuery, specs: list[str], bounds: Bounds) -> Iterator[Iterable[str]]:
    """What Git lists, and the literal path itself, which may be ignored by Git and reserved all the same."""
    with tree.listed_files(specs, timeout_s=bounds.seconds) as names:
        yield _with_literal(query, map(os.fsdecode, names))


def _with_literal(query: ActivityQuery, paths: Iterator[str]) -> Iterator[str]:
    inside = ProjectBoundary(query.root)
    for literal in literal_paths(query.pattern):
        found = inside.look(literal)
        if found is not None and not stat.S_ISDIR(found.st_mode):
            yield literal
    yield from paths


@contextmanager
def _walked(query: ActivityQuery, bounds: Bounds) -> Iterator[Iterable[str]]:
    """Without Git: every file below the literal part of the pattern that the pattern covers."""
    yield _walk(query, time.monotonic() + bounds.seconds)


def _walk(query: ActivityQuery, until: float) -> Iterator[str]:
    """Raises TimeoutError when the time is up, so that also a long search without a find ends as unknown."""
    inside = ProjectBoundary(query.root)
    literals = literal_paths(query.pattern)
    folders = [] if literals else [""]
    for literal in literals:
        found = inside.look(literal)
        if found is not None and stat.S_ISDIR(found.st_mode):
            folders.append(literal)
        elif found is not None:
            yield literal
    while folders:
        folder = folders.pop()
        if time.monotonic() > until:
            raise TimeoutError
        try:
            with os.scandir(query.root / folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif covers(query.pattern, path, WorkBudget()):
                yield path


def _last_commit(tree: CodeWorkTree, specs: list[str], bounds: Bounds, now_s: int) -> Sighting:
    """All of history; when that takes too long, the last days alone, which is all that a judgement needs."""
    for since_s in (None, now_s - bounds.horizon_s):
        try:
            found = tree.newest_commit(specs, since_s=since_s, timeout_s=bounds.seconds)
        except GitFailed:
            continue
        return Sighting(last_ts=None if found is None else Micros(found * SECOND))
    return UNKNOWN
