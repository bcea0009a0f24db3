"""Which paths Git ignores. Git says it, through a shadow, and only where a line of the repository's own lists may mean
such a path: most reservations are of paths that none does, and start no program.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.core.git.foreign_repository import ForeignRepository, UnfitRepository
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.workspace.repository import find_work_tree, open_work_tree

MAX_BYTES = 65_536
MAX_FILES = 200
"""Lists that are read for one call; beyond, Git is asked."""
MAX_STEPS = 100_000
"""Of comparing names with lines, all of a call: a tenth of a second."""
_LONGEST = 255
"""Characters of a name that a disk can hold."""
_LIST = ".gitignore"
_BRACKET = re.compile(r"\[[!^]?\]?[^\]]*\]")
_EVERYTHING = "*"


def find_ignored(root: Path, paths: Sequence[str], *, timeout_s: float) -> set[str]:
    """Those of `paths` that Git ignores, relative to `root`, as they were written; a final `/` means a folder.

    A tracked file is not ignored. Blocks for `timeout_s` at most, beside a few small reads. What cannot be told
    counts as not ignored: this is for advice alone.
    """
    try:
        found = find_work_tree(root)
        if found is None or found.top is None:
            return set()
        hints = _IgnoreHints(found.top, os.path.relpath(os.path.realpath(root), found.top), found)
        asked = [path for path in paths if hints.may_mean(path)]
        if not asked:
            return set()
        with open_work_tree(root) as tree:
            return set() if tree is None else set(tree.ignored(asked, timeout_s=timeout_s))
    except (UnfitRepository, UnfitFile, GitFailed, OSError, ValueError):
        return set()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _IgnoreLines:
    """The last names of the lines of a list: whole ones, what others begin or end with, and the globs that are left."""

    names: frozenset[str] = frozenset()
    beginnings: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()

    def steps(self, name: str) -> int:
        plain = (len(self.endings) + len(self.beginnings)) // 50
        return 1 + plain + sum(len(glob) for glob in self.globs) * len(name) // 8

    def may_mean(self, name: str) -> bool:
        return (
            name in self.names
            or name.endswith(self.endings)
            or name.startswith(self.beginnings)
            or any(fits(glob, name) for glob in self.globs)
        )


_ANY = _IgnoreLines(endings=("",))
_NONE = _IgnoreLines()


class _IgnoreHints:
    """Takes in more than Git ignores, never less: letter case, folders and exceptions (`!`) are not looked at."""

    def __init__(self, top: str, prefix: str, found: ForeignRepository) -> None:
        self._top = top
        self._above = [] if prefix == "." else prefix.split("/")
        self._lists: dict[str, _IgnoreLines] = {}
        self._left = MAX_STEPS
        self._of_all = self._read(f"{found.common_dir}/info/exclude")

    def may_mean(self, path: str) -> bool:
        """Beyond MAX_STEPS of comparing every path may be meant."""
        names = [*self._above, *path.strip("/").split("/")]
        lists, folder = [self._of_all], self._top
        for name in names:
            lists.append(self._list_in(folder))
            folder = f"{folder}/{name}"
            if not _is_real_folder(folder):
                break
        small = [name.lower() for name in names]
        return any(self._fit(one, name) for one in dict.fromkeys(lists) for name in small)

    def _fit(self, lines: _IgnoreLines, name: str) -> bool:
        self._left -= lines.steps(name)
        return self._left < 0 or lines.may_mean(name)

    def _list_in(self, folder: str) -> _IgnoreLines:
        known = self._lists.get(folder)
        if known is None:
            known = self._read(f"{folder}/{_LIST}") if len(self._lists) < MAX_FILES else _ANY
            self._lists[folder] = known
        return known

    def _read(self, file: str) -> _IgnoreLines:
        try:
            content = read_plain(file, MAX_BYTES, follow=False)
        except UnfitFile:
            return _ANY
        return _NONE if content is None else _lines_of(content.decode("utf-8", "surrogateescape"))


def _is_real_folder(path: str) -> bool:
    """No link to one: what lies behind it is not the repository's."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _lines_of(content: str) -> _IgnoreLines:
    names: set[str] = set()
    beginnings: set[str] = set()
    endings: set[str] = set()
    globs: set[str] = set()
    for last in _last_names(content.lower().splitlines()):
        plain = last.strip("*")
        if "*" in plain or "?" in plain or plain != last.replace("*", "", 1):
            globs.add(last)
        elif plain == last:
            names.add(last)
        else:
            (endings if last[0] == "*" else beginnings).add(plain)
    return _IgnoreLines(
        names=frozenset(names),
        beginnings=tuple(sorted(beginnings)),
        endings=tuple(sorted(endings)),
        globs=tuple(sorted(globs)),
    )


def _last_names(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if not line.strip() or line[0] in "#!":
            continue
        parts = [part for part in line.strip().split("/") if part.strip("*")]
        last = parts[-1] if parts else _EVERYTHING
        is_hard = "\\" in last or "[[:" in last or len(last) > _LONGEST
        yield _EVERYTHING if is_hard else _BRACKET.sub("?", last)


def fits(glob: str, name: str) -> bool:
    """Whether a name fits a pattern of `*` and `?` alone. Takes their lengths multiplied at most."""
    at = start = resume = 0
    star = -1
    while start < len(name):
        if at < len(glob) and glob[at] == "*":
            star, resume = at, start
            at += 1
        elif at < len(glob) and glob[at] in ("?", name[start]):
            at, start = at + 1, start + 1
        elif star >= 0:
            resume += 1
            at, start = star + 1, resume
        else:
            return False
    return not glob[at:].strip("*")
