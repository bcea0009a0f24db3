"""Every kind of file that an archive has, and archives from which one of them is gone."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

KINDS: Mapping[str, str] = {
    "project": r"archive\.json",
    "profile": r"agents/[^/]+/profile\.json",
    "mail": r"messages/\d{4}/.*\.md",
    "inbox copy": r"agents/[^/]+/inbox/.*\.md",
    "outbox copy": r"agents/[^/]+/outbox/.*\.md",
    "receipts": r"receipts/.*\.jsonl",
    "blind receipts": r"agents/[^/]+/receipts/.*\.jsonl",
    "overdue notice": r"agents/[^/]+/overdue/.*\.json",
    "attachment": r"attachments/.*",
    "contact": r"contacts/.*\.json",
    "product": r"products/.*\.json",
    "live lease": r"file_reservations/id-\d+\.json",
    "ended lease": r"file_reservations/released/.*\.json",
    "live slot": r"build_slots/id-\d+\.json",
    "ended slot": r"build_slots/released/.*\.json",
}
DERIVED: Mapping[str, str] = {"thread": r"messages/threads/.*"}
"""What can be made of the others."""


def count_files(archive: Path, pattern: str) -> int:
    """How many files of that kind the newest commit has."""
    return len(_matching(archive, pattern))


def drop(archive: Path, pattern: str) -> int:
    """Make the newest commit one that never had these files, and say how many they were. The work tree stays."""
    gone = _matching(archive, pattern)
    if gone:
        index = {"GIT_INDEX_FILE": str(archive / ".git" / "dropping")}
        _git(archive, "read-tree", "main", env=index)
        _git(archive, "update-index", "--force-remove", "-z", "--stdin", env=index, given="\0".join(gone))
        tree = _git(archive, "write-tree", env=index).strip()
        commit = _git(archive, "cat-file", "commit", "main")
        changed = re.sub(r"\Atree [0-9a-f]+", f"tree {tree}", commit)
        made = _git(archive, "hash-object", "-t", "commit", "-w", "--stdin", given=changed).strip()
        _git(archive, "update-ref", "refs/heads/main", made)
    return len(gone)


def tip(archive: Path) -> str:
    """Its newest commit, as Git calls it."""
    return _git(archive, "rev-parse", "main").strip()


def unclassified(archive: Path) -> list[str]:
    """Files of the newest commit that are of no kind."""
    known = re.compile("|".join((*KINDS.values(), *DERIVED.values())))
    return [path for path in _paths(archive) if not known.fullmatch(path)]


def _matching(archive: Path, pattern: str) -> list[str]:
    return [path for path in _paths(archive) if re.fullmatch(pattern, path)]


def _paths(archive: Path) -> list[str]:
    return [path for path in _git(archive, "ls-tree", "-r", "-z", "--name-only", "main").split("\0") if path]


def _git(archive: Path, *arguments: str, env: Mapping[str, str] | None = None, given: str = "") -> str:
    return subprocess.run(
        ["git", "-C", str(archive), *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **(env or {})},
    ).stdout
