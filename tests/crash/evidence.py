"""What is there after a restart: SQLite and Git, each asked on its own."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.crash.record import ANYTHING, Cell, Record, Value
from tests.served import Connection, Served, git

_OBJECT = re.compile(r"[0-9a-f]{40} blob ([0-9]+)")


class Evidence:
    """Of a running, drained server. Everything is read once."""

    def __init__(self, server: Served, connection: Connection, record: Record) -> None:
        self.connection = connection
        self.record = record
        self._root = server.root
        self._database = server.database
        self._files: dict[str, list[str]] = {}

    def rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(f"{self._database.as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(query).fetchall()

    @cached_property
    def archives(self) -> dict[str, Path]:
        """The repositories by the path of their project."""
        rows = self.rows("SELECT human_key, slug FROM projects")
        return {key: self._root / "projects" / slug for key, slug in rows}

    def files(self, project: str) -> list[str]:
        """What the branch holds; nothing where there is no archive, or one without a commit."""
        if not self.archives[project].exists() or not _has_commit(self.archives[project]):
            return []
        if project not in self._files:
            listed = git(self.archives[project], "ls-tree", "-r", "-z", "--name-only", "HEAD")
            self._files[project] = listed.split("\0")
        return self._files[project]

    def documents(self, pattern: str) -> dict[tuple[str, str], Any]:
        """The JSON files of all archives whose path matches, by project and path, as the branch holds them."""
        wanted = re.compile(pattern)
        return {
            (project, path): document
            for project in self.archives
            for path, document in _read(
                self.archives[project], [file for file in self.files(project) if wanted.fullmatch(file)]
            ).items()
        }


def _has_commit(repository: Path) -> bool:
    asked = ["git", "-C", str(repository), "rev-parse", "--quiet", "--verify", "HEAD"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def _read(repository: Path, paths: list[str]) -> dict[str, Any]:
    if not paths:
        return {}
    if not paths:
        return {}
    asked = "".join(f"HEAD:{path}\n" for path in paths).encode()
    done = subprocess.run(
        ["git", "-C", repository, "cat-file", "--batch"], input=asked, capture_output=True, check=True
    )
    rest, documents = done.stdout, {}
    for path in paths:
        head, _, rest = rest.partition(b"\n")
        found = _OBJECT.fullmatch(head.decode())
        assert found is not None, head
        documents[path] = json.loads(rest[: int(found[1])])
        rest = rest[int(found[1]) + 1 :]
    return documents


@dataclass(frozen=True, slots=True)
class Look:
    """Where the last values of a kind of cells stand."""

    kind: str
    where: str
    find: Callable[[Evidence], Mapping[Cell, Value]]

    def faults(self, evidence: Evidence) -> list[str]:
        cells = evidence.record.cells.items()
        settled = [
            (cell, last.may_be)
            for cell, last in cells
            if cell[0] == self.kind and last.is_settled and ANYTHING not in last.may_be
        ]
        found = self.find(evidence) if settled else {}
        return [
            f"{cell} is {found.get(cell, 'lost')!r} in {self.where}, not {' or '.join(map(repr, may_be))}"
            for cell, may_be in settled
            if cell not in found or found[cell] not in may_be
        ]
