"""What the workspace says of the paths of a call before it is decided: several paths in one text are refused, and one
that may protect nothing is granted with a warning.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.path_expansion import expanded_braces, has_braces, listed_paths, may_list
from mcp_agent_mail.domain.patterns.pattern import Pattern, parse_pattern
from mcp_agent_mail.domain.patterns.syntax import UnreadablePattern
from mcp_agent_mail.domain.reservations import JoinedPaths, PathWarning, RequestedPath
from mcp_agent_mail.workspace.facts import Workspaces
from mcp_agent_mail.workspace.pathspecs import literal_paths
from mcp_agent_mail.workspace.pattern_search import PatternSearch

MAX_MEANT = 500
"""Paths of a call, and so of the list that is shown."""
_FEW = 20
_MAX_DIVIDED = 50_000
"""Characters of a call's texts that are divided; texts behind them are taken as they are written."""

_SHOWN = 10

_BRACES = "braces are literal: it stands for the one file of that name"
_BACKSLASH = "a backslash divides no folders: it stands for no path below them"
_ESCAPES_NOTHING = lazy_pattern(r"\\[\w.*?]")
_NO_FILE = "no file fits it"
_IGNORED = "Git ignores it: the commit guard never sees it"


def require_single_paths(paths: Sequence[str], root: str, workspaces: Workspaces) -> None:
    """Raise JoinedPaths, with all that was meant, where a text lists several paths and nothing lies there of that
    very name.
    """
    if not any(may_list(path) for path in paths):
        return
    search = workspaces.search(root)
    is_there = cache(lambda text: _is_there(text, root, search))
    read = accumulate(map(len, paths))
    meant = [
        listed_paths(path, is_there) if so_far <= _MAX_DIVIDED else [] for path, so_far in zip(paths, read, strict=True)
    ]
    together = [path.strip() for path, parts in zip(paths, meant, strict=True) if parts and not is_there(path)]
    if not together:
        return
    wrong = set(together)
    every = (parts if path.strip() in wrong else [path.strip()] for path, parts in zip(paths, meant, strict=True))
    did_you_mean = list(dict.fromkeys(one for parts in every for one in parts))[:MAX_MEANT]
    shown = json.dumps(did_you_mean[:_SHOWN], ensure_ascii=False)
    more = f" and {len(did_you_mean) - _SHOWN} more" if len(did_you_mean) > _SHOWN else ""
    raise JoinedPaths(
        f"{together[0]!r:.300} is several paths in one text; give a list.",
        hint=f"Did you mean {shown:.2000}{more}? A new file of that very name: \\ before each comma or blank.",
        data={"paths": together, "did_you_mean": did_you_mean},
    )


def may_warn(workspaces: Workspaces, root: str, wanted: Sequence[RequestedPath]) -> bool:
    """Whether `find_warnings` has to look: not for a few plain paths that no line of a `.gitignore` may mean.

    A few small reads, of what reading the paths looks at anyway; no walk and no Git. For a thread.
    """
    if len(wanted) > _FEW:
        return True
    patterns = [one.pattern for one in wanted if not one.pattern.is_virtual]
    is_odd = any(_has_wildcard(one) or "\\" in one.text or has_braces(one.text) for one in patterns)
    return is_odd or workspaces.may_be_ignored(root, [path for one in patterns for path in _for_git(one)])


def find_warnings(workspaces: Workspaces, root: str, wanted: Sequence[RequestedPath]) -> tuple[PathWarning, ...]:
    """What of the wanted paths may protect nothing, in their order. Looks at the workspace: call it in a thread.

    What could not be found out in time, or where there is no workspace, is not warned of.
    """
    search = workspaces.search(root)
    if not search.has_workspace():
        return ()
    ignored = workspaces.ignored(root, [path for one in wanted for path in _for_git(one.pattern)])
    work = WorkBudget()
    found = (_warning(one, search, ignored, work) for one in wanted if not one.pattern.is_virtual)
    return tuple(warning for warning in found if warning is not None)


def _warning(one: RequestedPath, search: PatternSearch, ignored: set[str], work: WorkBudget) -> PathWarning | None:
    pattern = one.pattern
    if has_braces(pattern.text) and not _is_literally_there(pattern, search):
        return PathWarning(path=one.given, reason=_BRACES, did_you_mean=_meant(pattern, work))
    if _ESCAPES_NOTHING.search(pattern.text) and not _is_literally_there(pattern, search):
        return PathWarning(path=one.given, reason=_BACKSLASH, did_you_mean=(pattern.text.replace("\\", "/"),))
    if not ignored.isdisjoint(_for_git(pattern)):
        return PathWarning(path=one.given, reason=_IGNORED)
    if _has_wildcard(pattern) and search.covers_some(pattern) is False:
        near = search.nearest(pattern)
        return PathWarning(path=one.given, reason=_NO_FILE, did_you_mean=() if near is None else (near,))
    return None


def _meant(pattern: Pattern, work: WorkBudget) -> tuple[str, ...]:
    try:
        return tuple(expanded_braces(pattern.text, work))
    except PatternsTooHard:
        return ()


def _has_wildcard(pattern: Pattern) -> bool:
    return not pattern.is_literal and not pattern.text.endswith("/")


def _for_git(pattern: Pattern) -> list[str]:
    """The paths that a pattern without wildcards, or of a folder and all below, means; of others Git is not asked."""
    if pattern.is_virtual:
        return []
    is_tree = pattern.is_folder or not pattern.is_literal
    return [f"{path}/" if is_tree else path for path in literal_paths(pattern)]


def _is_literally_there(pattern: Pattern, search: PatternSearch) -> bool:
    return any(search.is_there(path) for path in literal_paths(pattern))


def _is_there(text: str, root: str, search: PatternSearch) -> bool:
    """As a path of that very name, whatever it would mean as a pattern."""
    try:
        pattern = parse_pattern(text, project_root=root)
    except UnreadablePattern:
        return False
    return not pattern.is_virtual and search.is_there(pattern.text)
