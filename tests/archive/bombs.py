"""Commits of a few objects that stand for any number of paths."""

from __future__ import annotations

import subprocess
from pathlib import Path

_WHO = ("-c", "user.name=x", "-c", "user.email=x")


def begin_bomb(path: Path, where: str, *, levels: int, leaf: str = "") -> str:
    """A commit with ten to the power of `levels` folders below `where`, made of as many objects as there are levels;
    `leaf`, as `git mktree` takes it, lies in each of the last ones.
    """
    tree = _told(path, leaf, "mktree")
    for _ in range(levels):
        tree = _told(path, "".join(f"040000 tree {tree}\td{number}\n" for number in range(10)), "mktree")
    root = _told(path, f"{_told(path, '', 'ls-tree', 'HEAD')}\n040000 tree {tree}\t{where}\n", "mktree")
    return commit_tree(path, root, parent="main")


def commit_tree(path: Path, tree: str, *, parent: str) -> str:
    """A commit of somebody's; no branch is moved."""
    return _told(path, "", *_WHO, "commit-tree", "-p", parent, "-m", "x", tree)


def _told(path: Path, said: str, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", path, *arguments], input=said, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()
