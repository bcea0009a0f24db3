"""Reads the history of an archive for people: its commits, newest first.

GitPython hands the environment on to Git, so the variables that could redirect it (a hook's GIT_DIR,
say) are set to the archive's own places.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from git import Commit, Repo
from git.exc import GitError, ODBError

from mcp_agent_mail.core.clock import Micros, from_datetime
from mcp_agent_mail.core.errors import NotFound

MAX_WALKED = 10_000
"""So many commits are looked at for those of one agent."""

_AGENT = "Agent: "
_SEQUENCE = "Outbox-Seq: "


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
    """The newest `limit` commits of the archive at `path`, or of those in which `agent` (case ignored) acted."""
    try:
        with Repo(path) as repository:
            repository.git.update_environment(**_places(Path(repository.git_dir)))
            entries = (_entry(commit) for commit in islice(_first_parents(repository.head.commit), MAX_WALKED))
            wanted = (entry for entry in entries if agent is None or _acted(entry, agent))
            return list(islice(wanted, limit))
    except (GitError, ODBError, ValueError) as unreadable:
        raise ArchiveNotFound(
            f"There is no readable history in {path}.",
            hint="`am status` says whether the archive has caught up; `am doctor verify` says what is wrong.",
        ) from unreadable


def _places(folder: Path) -> dict[str, str]:
    return {
        "GIT_DIR": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


def _first_parents(newest: Commit) -> Iterator[Commit]:
    commit = newest
    while True:
        yield commit
        if not commit.parents:
            return
        commit = commit.parents[0]


def _acted(entry: HistoryEntry, agent: str) -> bool:
    return agent.casefold() in (name.casefold() for name in entry.agents)


def _entry(commit: Commit) -> HistoryEntry:
    subject, *rest = str(commit.message).splitlines() or [""]
    trailers = [line for line in rest if line.startswith((_AGENT, _SEQUENCE))]
    sequence = next((line.removeprefix(_SEQUENCE) for line in trailers if line.startswith(_SEQUENCE)), "")
    return HistoryEntry(
        hexsha=commit.hexsha,
        authored_ts=from_datetime(commit.authored_datetime),
        author=commit.author.name or "",
        summary=subject,
        agents=tuple(line.removeprefix(_AGENT) for line in trailers if line.startswith(_AGENT)),
        last_seq=int(sequence) if sequence.isdecimal() else None,
    )
