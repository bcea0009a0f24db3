"""What the server and its archiver tell each other over the archiver's standard input."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from mcp_agent_mail.core.failpoints import FailPoint, Kill

PROJECTS_FOLDER = "projects"
LOCK_FILE = "archive.lock"
LOCKS_FOLDER = "archive-locks"
"""A lock per archive, held by whoever writes it and by the Git processes of that."""
DRAIN = b"drain"
CHECK_OUT = b"checkout"
MAX_TRACKED_FILES = 100_000
WAKE = b"wake\n"
PING = b"ping\n"
"""Its scheduling thread answers with a `Pong`, between two looks at what is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiverSettings:
    """Plain values, so that they travel as one line of JSON. `failpoint`: where a test wants the process killed."""

    storage_root: str
    database_path: str
    author_name: str
    author_email: str
    commit_interval_ms: int
    in_workspace: bool = False
    max_tracked_files: int = MAX_TRACKED_FILES
    lock_timeout_s: float = 30.0
    git_timeout_s: float = 60.0
    failpoint: Kill | None = None

    def to_line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> ArchiverSettings:
        fields = json.loads(line)
        kill = fields["failpoint"]
        return cls(**(fields | {"failpoint": kill and Kill(point=FailPoint(kill["point"]), nth=kill["nth"])}))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOut:
    """A month (`2026-11`) that somebody wants in the work tree of a project; a `CheckedOut` with its number answers."""

    number: int
    project: str
    month: str

    def to_line(self) -> bytes:
        return CHECK_OUT + b" " + json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> CheckOut:
        return cls(**json.loads(line.removeprefix(CHECK_OUT)))


def archive_path(storage_root: Path, slug: str) -> Path:
    """Where a project's archive lies."""
    return storage_root / PROJECTS_FOLDER / slug
