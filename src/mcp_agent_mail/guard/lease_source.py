"""Who holds what: from the running server, else from the snapshot that the archive's writer keeps on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from mcp_agent_mail.core.clock import SECOND, Micros, iso, parse_time
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.core.running_server import GUARD_CHECK, MISREAD, Deadline, NoAnswer, Refused, RunningServer
from mcp_agent_mail.core.settings.client import ClientSettings
from mcp_agent_mail.domain.guard.decision import GuardedLease, HeldPath, same_agent
from mcp_agent_mail.guard.server import MAX_ANSWER_BYTES, find_server

if TYPE_CHECKING:
    from mcp_agent_mail.core.running_server import Json
    from mcp_agent_mail.domain.guard.held_paths import Neighbourhood

MAX_PATHS_ASKED = 5_000
"""Of one question to the server; with more, the snapshot is the source."""
MAX_SNAPSHOT_BYTES = 32 * 1024 * 1024
SNAPSHOT_FORMAT = 1

_MAX_NEAREST = 3
_MAX_COMPARED = 300
_WORK_STEPS = 4_000_000
"""About a second on the committer's machine, where nobody else waits."""


class CannotTell(Exception):
    """Neither the server nor the snapshot says who holds what. The text says why."""


class Committer(NamedTuple):
    """`name` was given to us, `author` is only Git's: it counts when an agent of the project has that name."""

    name: str | None
    author: str | None


class LeaseQuery(NamedTuple):
    """`paths` are relative to the project's root; bytes that are no UTF-8 are lone surrogates."""

    project: str
    committer: Committer
    paths: Sequence[str]
    hook: str


class LeaseAnswer(NamedTuple):
    """`agent` is None for a person. `source` says where this comes from, and how old it is. `nearest`: of a named
    agent that the project does not have (`is_agent_known` is False), whom it may mean. `is_server_up`: is there one
    that answers, which an agent can ask more?
    """

    agent: str | None
    held: Sequence[HeldPath]
    held_count: int
    source: str
    is_project_known: bool = True
    is_agent_known: bool = True
    nearest: Sequence[str] = ()
    is_server_up: bool = True


class LeasesSource:
    """Asks the server first. `why_no_server` tells why it was not the source, once it was not."""

    def __init__(self, settings: ClientSettings, patience: Deadline, now: Micros) -> None:
        self._settings = settings
        self._patience = patience
        self._now = now
        self.server: RunningServer | None = find_server(settings)
        self.why_no_server = "no server is running"

    def ask(self, question: LeaseQuery) -> LeaseAnswer:
        """Who holds which of the paths, by the server or else by the snapshot. Raises CannotTell."""
        answer = self._from_server(question)
        if answer is None:
            answer = self._from_snapshot(question)
        return answer

    def _from_server(self, question: LeaseQuery) -> LeaseAnswer | None:
        if self.server is None:
            return None
        if len(question.paths) > MAX_PATHS_ASKED:
            self.why_no_server = f"{len(question.paths)} paths are more than the server is asked about at once"
            return None
        sent = {quote(os.fsencode(path)): path for path in question.paths}
        value = {
            "project": question.project,
            "agent": question.committer.name,
            "author": question.committer.author,
            "hook": question.hook,
            "paths": list(sent),
        }
        try:
            answer = self.server.ask(GUARD_CHECK, value, self._patience, at_most=MAX_ANSWER_BYTES)
            return _read_answer(answer, sent)
        except NoAnswer as silent:
            self.why_no_server = f"the server at {self.server.url} was no help: {silent}"
            self.server = None
        except Refused as refused:
            if refused.kind == "NOT_FOUND":
                return _unknown_project(question, f"the server at {self.server.url}")
            self.why_no_server = f"the server at {self.server.url} refused: {refused}"
        except MISREAD:
            self.why_no_server = f"the server at {self.server.url} gave an answer that this version cannot read"
        return None

    def _from_snapshot(self, question: LeaseQuery) -> LeaseAnswer:
        found = _find_snapshot(self._settings.storage_root, question.project)
        if found is None:
            raise CannotTell(
                f"{self.why_no_server}, and {self._settings.storage_root} holds no snapshot of the leases "
                f"of {question.project}"
            )
        if found.get("truncated"):
            raise CannotTell(f"{self.why_no_server}, and the snapshot of the leases is not complete")
        # Only where no server answers: 10 ms of imports.
        from mcp_agent_mail.domain.guard.held_paths import Neighbourhood, held_paths  # noqa: PLC0415
        from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget  # noqa: PLC0415

        try:
            agents = found.get("agents") or ()
            agent = _agent_of(question.committer, agents)
            leases = _holdings(found["leases"], Neighbourhood(question.paths), agent)
            held = held_paths(question.paths, agent, leases, self._now, WorkBudget(_WORK_STEPS))
            age = _age(self._now, found["as_of"])
        except PatternsTooHard as too_hard:
            raise CannotTell(f"{self.why_no_server}, and {too_hard.message}") from too_hard
        except MISREAD as unreadable:
            raise CannotTell(f"{self.why_no_server}, and the snapshot of the leases cannot be read") from unreadable
        source = f"a snapshot of the leases, {age} ({self.why_no_server})"
        near = _nearest(agent, agents) if held and agent is not None else None
        return LeaseAnswer(
            agent=agent,
            held=held,
            held_count=len(held),
            source=source,
            is_agent_known=near is None,
            nearest=near or (),
            is_server_up=self.server is not None,
        )


def _unknown_project(question: LeaseQuery, who: str) -> LeaseAnswer:
    """Nobody can hold anything there. Not a failure, but said: the project may be misspelt."""
    return LeaseAnswer(agent=question.committer.name, held=(), held_count=0, source=who, is_project_known=False)


def _read_answer(value: Json, sent: dict[str, str]) -> LeaseAnswer:
    held = [
        HeldPath(path=sent[item["path"]], holding=_holding(item["holder"]), is_own_too=bool(item["is_own_too"]))
        for item in value["held"]
    ]
    agent = value["agent"]
    if agent is not None and not isinstance(agent, str):
        raise TypeError("an agent's name is text")
    return LeaseAnswer(
        agent=agent,
        held=held,
        held_count=int(value["held_count"]),
        source="the server",
        is_agent_known=value.get("agent_known") is not False,
        nearest=[str(name) for name in value.get("nearest") or ()][:_MAX_NEAREST],
    )


def _holding(item: Json) -> GuardedLease:
    return GuardedLease(
        id=int(item["id"]),
        agent=str(item["agent"]),
        path_pattern=str(item["path_pattern"]),
        is_folder=bool(item.get("is_folder")),
        ignore_case=bool(item.get("ignore_case")),
        exclusive=bool(item["exclusive"]),
        reason=str(item.get("reason") or ""),
        expires_ts=_micros(item["expires_ts"]),
    )


def _holdings(items: Json, near: Neighbourhood, agent: str | None) -> Iterator[GuardedLease]:
    """Those that can matter: most of a large snapshot need not become an object."""
    me = agent.lower() if agent is not None else None
    for item in items:
        can_matter = item["exclusive"] or item["agent"].lower() == me
        if can_matter and near.has(item["path_pattern"], ignore_case=item["ignore_case"]):
            yield _holding(item)


def _micros(value: object) -> Micros:
    """Times stand as ISO 8601 or as microseconds."""
    micros = Micros(value) if isinstance(value, int) else parse_time(str(value))
    iso(micros)  # A time that no calendar has is none.
    return micros


def _agent_of(committer: Committer, agents: Sequence[str]) -> str | None:
    if committer.name is not None:
        return committer.name
    return next((name for name in agents if same_agent(committer.author, name)), None)


def _nearest(agent: str, agents: Sequence[str]) -> list[str] | None:
    """Whom a name that no agent of the snapshot has may mean; None for one of them."""
    if any(same_agent(agent, name) for name in agents):
        return None
    from mcp_agent_mail.core.likeness import most_like  # noqa: PLC0415  # 5 ms, for a mistake alone

    return most_like(agent, agents[:_MAX_COMPARED], limit=_MAX_NEAREST)


def _find_snapshot(storage_root: Path, project: str) -> dict[str, Json] | None:
    """The project's snapshot; None when there is none that is whole and of this very project."""
    from mcp_agent_mail.domain.projects import canonical_path, is_path, slugs_of  # noqa: PLC0415  # as above

    folder = storage_root / "projects"
    try:
        slugs = slugs_of(canonical_path(project)) if is_path(project) else [project]
    except InvalidInput:
        return None
    for slug in slugs:
        if "/" in slug or slug.startswith("."):
            continue
        snapshot = _load(folder / f"{slug}.leases.json")
        if snapshot is None:
            continue
        of = snapshot.get("project")
        if not is_path(project) or (isinstance(of, dict) and of.get("human_key") == canonical_path(project)):
            return snapshot
    return None


def _load(file: Path) -> dict[str, Json] | None:
    try:
        content = read_plain(str(file), MAX_SNAPSHOT_BYTES)
    except UnfitFile as unfit:
        raise CannotTell(f"{unfit.message.removesuffix('.')}, which is the snapshot of the leases") from unfit
    if content is None:
        return None
    try:
        value = json.loads(content)
    except MISREAD as broken:
        raise CannotTell(f"the snapshot {file} is no JSON") from broken
    if not isinstance(value, dict) or value.get("format") != SNAPSHOT_FORMAT:
        raise CannotTell(f"the snapshot {file} has a format that this version cannot read")
    return value


def _age(now: Micros, as_of: object) -> str:
    return f"{in_words(max(0, now - _micros(as_of)) // SECOND)} old"


def in_words(seconds: int) -> str:
    """`5 seconds`, `3 minutes`, `2 hours`, `4 days`: the largest unit that says enough."""
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size or seconds == size:
            return _count(seconds // size, name)
    return _count(seconds, "second")


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
