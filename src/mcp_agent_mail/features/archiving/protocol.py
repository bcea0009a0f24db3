"""What the server and its archiver child tell each other: settings at the start, then one JSON line per instruction
(server to child, standard input) and per report (child to server, standard output). And where archives and their
locks lie in the store, which both must know alike.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import AgentMailError, NotFound
from mcp_agent_mail.core.failpoints import FailPoint, Kill
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.domain.projects import is_slug

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


class SlugRefused(ArchiveRefused):
    """A database says that a project is called so, and no project can be: it would name any place of the disk."""


def archive_path(storage_root: Path, slug: str) -> Path:
    """Where a project's archive lies. Raises SlugRefused."""
    return place_in(storage_root / PROJECTS_FOLDER, slug)


def place_in(folder: Path, slug: str) -> Path:
    """What is called after a project in `folder`, and nothing outside of it. Raises SlugRefused."""
    if not is_slug(slug):
        raise SlugRefused(
            f"A project cannot have the slug {slug!r:.100}: no file is called after it.",
            hint="The database was changed by hand. Put a backup in its place (am doctor restore), or make it anew "
            "from the archives (am doctor rebuild). If you have it from somebody else, do not use it.",
            data={"slug": slug[:100]},
        )
    return folder / slug


def archive_folders(storage_root: Path) -> list[Path]:
    """All that may be archives, whosever they are."""
    try:
        return sorted(path for path in (storage_root / PROJECTS_FOLDER).iterdir() if path.is_dir())
    except OSError:
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The archiver holds the archives; what an earlier one left is mended beside everything else: `unfinished` archives
    are to be looked at.
    """

    pid: int
    unfinished: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """The archiver cannot begin: somebody else holds its lock."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """`commit` is on disk. `oldest_ts` is when its oldest event happened; None for one found at start."""

    project: str
    commit: ArchiveCommit
    events: int
    oldest_ts: Micros | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """One project's archive cannot be written just now; it is tried again, the others go on.

    `part`: "index", "work tree", "attachments" or "pages of threads", when commits are made all the same. `is_ahead`:
    since the archive has events that the database does not know. `lacks_room`: on a full disk, which proves nothing of
    the archive.
    """

    project: str
    message: str
    hint: str
    part: str = ""
    is_ahead: bool = False
    lacks_room: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """The project's archive, or this part of it, which failed before, is written again."""

    project: str
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CareTaken:
    """How large one archive is, after it has been looked after. `files` are the branch's."""

    project: str
    packs: int
    pack_bytes: int
    index_bytes: int
    files: int
    is_thinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CareFailed:
    """Mail is in Git; joining packs or putting months away did not work and is tried again."""

    project: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """An archive of an older version of the format is being brought to this one, or has been, in so many seconds.

    `problem`: why it is not, for now; it is tried again by itself.
    """

    project: str
    is_done: bool
    seconds: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOut:
    """The answer to a request for a month: it lies in the work tree, or `problem` says why not."""

    request: int
    files: int
    problem: str = ""
    hint: str = ""
    is_unknown: bool = False


def refusal_of(request: CheckOut, failure: Exception) -> CheckedOut:
    """The answer to a request that ended in this failure: what went wrong, and what to do about it."""
    return CheckedOut(
        request=request.number,
        files=0,
        problem=str(failure) or type(failure).__name__,
        hint=failure.hint if isinstance(failure, AgentMailError) else "",
        is_unknown=isinstance(failure, NotFound),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """The last word before an orderly end: how many events are not in Git."""

    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Archives that an unclean stop left: being mended, and waiting for it; and those that nothing comes back from."""

    mending: int = 0
    unfinished: int = 0
    hung: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pong:
    """The scheduling thread is at work: the answer to a `ping`."""


Report = (
    Ready
    | Pong
    | Blocked
    | Workload
    | Committed
    | Failed
    | Recovered
    | CareTaken
    | CareFailed
    | Converted
    | CheckedOut
    | Drained
)


SAID_AT_MOST = 2_000
"""Characters of a text in a report: whoever reads the line takes 64 KiB of it, and a character may become twelve."""
_CUT = " [cut]"


def to_line(report: Report) -> bytes:
    fields = {name: _cut(value) if isinstance(value, str) else value for name, value in asdict(report).items()}
    return json.dumps({type(report).__name__: fields}).encode() + b"\n"


def _cut(text: str) -> str:
    """What Git or a disk says has no bound, and a line that is too long would end the archiver for all projects."""
    return text if len(text) <= SAID_AT_MOST else text[: SAID_AT_MOST - len(_CUT)] + _CUT


def from_line(line: bytes) -> Report:
    """The report in a line of the archiver's. Raises ValueError for a line that is none."""
    ((kind, fields),) = json.loads(line).items()
    return _parse(kind, fields)


_KNOWN = (Ready, Pong, Blocked, Workload, Failed, Recovered, CareTaken, CareFailed, Converted, CheckedOut, Drained)


def _parse(kind: str, fields: dict[str, Any]) -> Report:
    if kind == Committed.__name__:
        return Committed(**(fields | {"commit": ArchiveCommit(**fields["commit"])}))
    for known in _KNOWN:
        if kind == known.__name__:
            return known(**fields)
    raise ValueError(f"{kind!r} is no report")
