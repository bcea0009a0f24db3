"""Which paths Git ignores. Git says it, through a shadow, and only where a line of the repository's own lists may mean
such a path: most reservations are of paths that none does, and start no program.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from mcp_agent_mail.core.git.foreign_repository import UnfitRepository
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.workspace.repository import find_work_tree, open_work_tree
from mcp_agent_mail.workspace.ttl_cache import Memory

MAX_BYTES = 65_536
MAX_FILES = 200
"""Lists that are read for one call; beyond, Git is asked."""
MAX_STEPS = 100_000
"""Of comparing names with lines, all of a call: a tenth of a second."""
_LONGEST = 255
"""Characters of a name that a disk can hold."""
_LIST = ".gitignore"
_BRACKET = lazy_pattern(r"\[[!^]?\]?[^\]]*\]")
_EVERYTHING = "*"


KEEP_TREES = 1_000
KEEP_LISTS = 64
KEEP_BYTES = 16_384
"""A longer list is read anew each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _WorkTree:
    """`above` are the folders on the way from `top` to the project's own."""

    top: str
    above: tuple[str, ...]
    excludes: str


class IgnoredPaths:
    """Remembers for `keep_s` where a directory's repository lies, and what its lists say while the files are the same.

    Every method blocks: a few small reads. What cannot be told counts as not ignored: this is for advice alone.
    """

    def __init__(self, elapsed: Callable[[], float], *, keep_s: float) -> None:
        self._trees: Memory[_WorkTree | None] = Memory(elapsed, keep_s=keep_s, at_most=KEEP_TREES)
        self._lists: Memory[_IgnoreLines] = Memory(elapsed, keep_s=keep_s, at_most=KEEP_LISTS)

    def doubtful(self, root: str, paths: Sequence[str]) -> list[str]:
        """Those of `paths`, relative to `root`, that a line of the lists may mean; Git ignores none of the others. Asks
        no Git.
        """
        tree = self._trees.get(root, lambda: _find_tree(Path(root)))
        if tree is None:
            return []
        hints = _IgnoreHints(tree, self._lists)
        return [path for path in paths if hints.may_mean(path)]

    def find(self, root: str, paths: Sequence[str], *, timeout_s: float) -> set[str]:
        """Those that Git ignores, as they were written; a final `/` means a folder. Blocks for `timeout_s` at most.

        A tracked file is not ignored.
        """
        asked = self.doubtful(root, paths)
        if not asked:
            return set()
        try:
            with open_work_tree(Path(root)) as tree:
                return set() if tree is None else set(tree.ignored(asked, timeout_s=timeout_s))
        except (UnfitRepository, UnfitFile, GitFailed, OSError, ValueError):
            return set()


def _find_tree(root: Path) -> _WorkTree | None:
    try:
        found = find_work_tree(root)
        if found is None or found.top is None:
            return None
        prefix = os.path.relpath(os.path.realpath(root), found.top)
    except (UnfitRepository, UnfitFile, OSError, ValueError):
        return None
    above = () if prefix == "." else tuple(prefix.split("/"))
    return _WorkTree(top=found.top, above=above, excludes=f"{found.common_dir}/info/exclude")


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

    def __init__(self, tree: _WorkTree, known: Memory[_IgnoreLines]) -> None:
        self._top = tree.top
        self._above = tree.above
        self._known = known
        self._lists: dict[str, _IgnoreLines] = {}
        self._left = MAX_STEPS
        self._of_all = self._read(tree.excludes)

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
            found = os.lstat(file)
        except (FileNotFoundError, NotADirectoryError):
            return _NONE
        except (OSError, ValueError):
            return _ANY
        if found.st_size > KEEP_BYTES:
            return _read_lines(file)
        version = (file, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        return self._known.get(version, lambda: _read_lines(file))


def _read_lines(file: str) -> _IgnoreLines:
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
