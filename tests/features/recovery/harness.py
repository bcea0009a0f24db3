"""A store of two projects with archives, to be rebuilt after something was done to it."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_agent_mail.features.doctor.verify import VerifyReport, verify_archives
from mcp_agent_mail.features.recovery.rebuild import Rebuilt, rebuild_database
from mcp_agent_mail.store.rebuild.dump import dump


@dataclass(frozen=True, kw_only=True)
class World:
    """BlueLake and RedStone are of project `app`, QuietFox of `lib`; `across` went to both, blind to one."""

    root: Path
    app: str
    lib: str
    plain: int
    across: int

    def at(self, root: Path) -> World:
        return replace(self, root=root)

    @property
    def database(self) -> Path:
        return self.root / "mail.sqlite3"

    @property
    def new(self) -> Path:
        """Where the rebuilt database is made."""
        return self.root.parent / "new.sqlite3"

    def archive(self, slug: str) -> Path:
        return self.root / "projects" / slug

    def rebuild(self, **chosen: Any) -> Rebuilt:  # those of rebuild_database
        return rebuild_database(self.root / "projects", self.new, self.root / "attachments", **chosen)

    def verify(self) -> VerifyReport:
        return verify_archives(self.root, self.new, progress=lambda _done, _total: None)

    def dump(self, path: Path | None = None) -> list[str]:
        """Without who acted in which commit: the harness lets residents act, as no tool does."""
        return [line for line in dump(path or self.new) if not line.startswith('["outbox.acted')]

    def rows(self, sql: str, path: Path | None = None) -> list[tuple[Any, ...]]:  # as SQLite has them
        with closing(sqlite3.connect(path or self.new)) as connection:
            return connection.execute(sql).fetchall()


def drop(archive: Path, pattern: str) -> list[str]:
    """Make the newest commit one that never had these files; which they are."""
    listed = git(archive, "ls-tree", "-r", "-z", "--name-only", "main").split("\0")
    gone = [path for path in listed if re.fullmatch(pattern, path)]
    change(archive, dict.fromkeys(gone))
    return gone


def change(archive: Path, files: Mapping[str, str | None]) -> None:
    """Make the newest commit one that has these files, or has them not."""
    index = {"GIT_INDEX_FILE": str(archive / ".git" / "changing")}
    git(archive, "read-tree", "main", env=index)
    for path, content in files.items():
        if content is None:
            git(archive, "update-index", "--force-remove", path, env=index)
        else:
            blob = git(archive, "hash-object", "-w", "--stdin", given=content).strip()
            git(archive, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", env=index)
    tree = git(archive, "write-tree", env=index).strip()
    commit = re.sub(r"\Atree [0-9a-f]+", f"tree {tree}", git(archive, "cat-file", "commit", "main"))
    made = git(archive, "hash-object", "-t", "commit", "-w", "--stdin", given=commit).strip()
    git(archive, "update-ref", "refs/heads/main", made)


def set_back(archive: Path, commits: int) -> None:
    """As if its last commits had never been made."""
    git(archive, "update-ref", "refs/heads/main", f"main~{commits}")


def text_of(archive: Path, path: str) -> str:
    return git(archive, "cat-file", "blob", f"main:{path}")


def paths_of(archive: Path, pattern: str) -> list[str]:
    listed = git(archive, "ls-tree", "-r", "-z", "--name-only", "main").split("\0")
    return [path for path in listed if re.fullmatch(pattern, path)]


def git(archive: Path, *arguments: str, env: Mapping[str, str] | None = None, given: str = "") -> str:
    return subprocess.run(
        ["git", "-C", str(archive), *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **(env or {})},
    ).stdout
