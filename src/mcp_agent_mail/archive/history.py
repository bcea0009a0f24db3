"""Reads the history of an archive for people: its commits, newest first."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mcp_agent_mail.archive.ownership import require_in_store
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.git.process import GitFailed

MAX_WALKED = 10_000
"""So many commits are looked at for those of one agent."""

_TIMEOUT_S = 60.0
_AGENT = "Agent: "
_SEQUENCE = "Outbox-Seq: "
_FORMAT = "%H%x1f%at%x1f%an%x1f%B"


class ArchiveNotFound(NotFound):
    """The project has no archive at this place, or no commit in it yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One commit. `agents` acted in it, by name; `last_seq` is None for a commit that a person made."""

    hexsha: str
    authored_ts: Micros
    author: str
    summary: str
    agents: tuple[str, ...]
    last_seq: int | None


def read_history(path: Path, *, agent: str | None, limit: int) -> list[HistoryEntry]:
    """The newest `limit` commits of the archive at `path`, or of those in which `agent` (case ignored) acted.

    Of what is checked out there, which may be a person's own branch. Raises ArchiveRefused, ArchiveNotFound.
    """
    repository = ArchiveRepository(path, only_git=True)
    require_in_store(repository)
    log = ("log", "-z", "--first-parent", "--encoding=UTF-8", f"--max-count={MAX_WALKED}", f"--format={_FORMAT}")
    try:
        with closing(repository.records(*log, "HEAD", "--", timeout_s=_TIMEOUT_S)) as records:
            entries = map(_entry, records)
            wanted = (entry for entry in entries if agent is None or _acted(entry, agent))
            return list(islice(wanted, limit))
    except (GitFailed, ValueError) as unreadable:
        raise ArchiveNotFound(
            f"There is no readable history in {path}.",
            hint="`am status` says whether the archive has caught up; `am doctor verify` says what is wrong.",
        ) from unreadable


def _acted(entry: HistoryEntry, agent: str) -> bool:
    return agent.casefold() in (name.casefold() for name in entry.agents)


def _entry(record: str) -> HistoryEntry:
    hexsha, seconds, author, message = record.split("\x1f", 3)
    subject, _, rest = message.strip("\n").partition("\n")
    # The last paragraph, as Git reads trailers: what stands above it is told, and may tell anything.
    trailers = rest.rpartition("\n\n")[2].split("\n") if "\n\n" in rest else rest.strip("\n").split("\n")
    sequence = next((line.removeprefix(_SEQUENCE) for line in trailers if line.startswith(_SEQUENCE)), "")
    return HistoryEntry(
        hexsha=hexsha,
        authored_ts=Micros(int(seconds) * SECOND),
        author=author,
        summary=subject,
        agents=tuple(line.removeprefix(_AGENT) for line in trailers if line.startswith(_AGENT)),
        last_seq=int(sequence) if sequence.isdecimal() else None,
    )
