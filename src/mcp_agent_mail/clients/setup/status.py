"""How a client stands: what is installed, missing or drifted, what its contract promises, what a person has to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mcp_agent_mail.clients.contracts.reader import MARKS, Contract, read_contract
from mcp_agent_mail.clients.setup.codex_query import in_words
from mcp_agent_mail.clients.setup.contract_wishes import lacks_token_reference
from mcp_agent_mail.clients.setup.edits.look import Difference
from mcp_agent_mail.clients.setup.edits.text import UnfitText
from mcp_agent_mail.clients.setup.file_edit import differences
from mcp_agent_mail.clients.setup.plan import follows_links
from mcp_agent_mail.clients.setup.targets import FileNotWritable, look_at, runnable
from mcp_agent_mail.clients.setup.wishes import FileWish, Part

_TOKEN_BY_HAND = (
    "It knows no reference to the environment: put the server's token into the entry's Authorization header yourself, "
    "and never into a file that Git tracks."
)
_WANTS_TRUST = ("codex",)
"""Clients that skip a hook in silence until their user trusts it."""

_NOT_ASKED = (
    "untrusted until you say otherwise in /hooks; Codex is not asked of a project's hooks, for it would read that "
    "project's configuration"
)

ReadTrust = Callable[[], Mapping[str, str] | None]
"""Asks such a client of our hooks, by event: `codex_query.read_trust`."""


class State(StrEnum):
    """How a file stands; `partly`: some of ours is missing."""

    INSTALLED = "installed"
    MISSING = "missing"
    PARTLY = "partly"
    DRIFTED = "drifted"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    path: Path
    part: Part
    state: State
    differences: Sequence[Difference] = ()
    reason: str | None = None
    line: int | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """How mail wakes an idle session, and how that is known; without `way` it waits for the next turn."""

    way: str | None
    how: str | None
    mark: str
    source: str

    def in_words(self) -> str:
        said = "by nothing that is known: mail waits for its next turn" if self.how is None else f"by {self.how}"
        return f"{said} ({self.mark})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientState:
    """`marks`: how many rows of the contract are documented, measured or inferred. `cannot`: what the client has no
    way for; `advisory` says it in words. `trust`: whether its user lets our hooks run. `woken`: by what an idle session
    is.
    """

    client: str
    title: str
    version: str
    files: Sequence[FileState]
    marks: dict[str, int]
    cannot: Sequence[str]
    advisory: str | None
    woken: Wake
    trust: str | None
    person: Sequence[str]

    @property
    def state(self) -> State:
        """The worst of its files; installed and missing ones together are partly installed."""
        found = {file.state for file in self.files}
        for worst in (State.UNREADABLE, State.DRIFTED, State.PARTLY):
            if worst in found:
                return worst
        if found == {State.INSTALLED}:
            return State.INSTALLED
        return State.PARTLY if State.INSTALLED in found else State.MISSING


def look_at_client(
    client: str,
    wishes: Sequence[FileWish],
    *,
    has_token: bool,
    project: Path | None,
    read_trust: ReadTrust = lambda: None,
) -> ClientState:
    """Changes nothing; `read_trust` is asked only where hooks of ours are, and wanted to be trusted, and never of a
    project's: whoever wrote that would have a say in what the client does when it is asked.
    """
    contract = read_contract(client)
    files = [_look_at_file(wish, project) for wish in wishes]
    return ClientState(
        client=client,
        title=contract["title"],
        version=contract["version"],
        files=files,
        marks=_marks(contract),
        cannot=_cannot(contract),
        advisory=contract["advisory"],
        woken=Wake(**{name: contract["wake"][name] for name in ("way", "how", "mark", "source")}),
        trust=_trust(client, files, read_trust if project is None else None),
        person=persons_part(contract, has_token=has_token),
    )


def persons_part(contract: Contract, *, has_token: bool) -> list[str]:
    """What only a person can do, once ours is there."""
    steps: list[str] = list(contract["person"])
    if has_token and lacks_token_reference(contract):
        steps.append(_TOKEN_BY_HAND)
    return steps


def _look_at_file(wish: FileWish, project: Path | None) -> FileState:
    try:
        target = look_at(wish.path, within=project, follows=follows_links([wish]))
        found = differences(target.content, wish)
        if not found and wish.is_executable and target.mode != runnable(target.mode):
            found = [Difference(what="it may not be run", line=1)]
    except (UnfitText, FileNotWritable) as unfit:
        return FileState(
            path=wish.path,
            part=wish.part,
            state=State.UNREADABLE,
            reason=unfit.message,
            line=unfit.line if isinstance(unfit, UnfitText) else None,
            hint=unfit.hint,
        )
    state = State.MISSING if target.content is None else _state(wish, found)
    return FileState(path=wish.path, part=wish.part, state=state, differences=found)


def _state(wish: FileWish, found: Sequence[Difference]) -> State:
    if any(difference.line is not None for difference in found):
        return State.DRIFTED
    if not found:
        return State.INSTALLED
    wanted = sum(not entry.is_scaffold for entry in wish.entries) + len(wish.hooks)
    return State.PARTLY if len(found) < wanted else State.MISSING


def _marks(contract: Contract) -> dict[str, int]:
    rows = [*contract["events"].values(), contract["token"], contract["edits"], contract["mcp_tool"], contract["wake"]]
    rows += [row for part in contract["files"].values() for row in part.values() if row is not None]
    return {mark: sum(row["mark"] == mark for row in rows) for mark in MARKS}


def _cannot(contract: Contract) -> list[str]:
    can = {ability for event in contract["events"].values() for ability in event["can"]}
    lacking = [ability for ability in ("inject", "continue", "refuse", "reprime") if ability not in can]
    return lacking + (["wake"] if contract["wake"]["way"] is None else [])


def _trust(client: str, files: Sequence[FileState], read_trust: ReadTrust | None) -> str | None:
    has_hooks = any(file.part is Part.HOOKS and file.state is not State.MISSING for file in files)
    if client not in _WANTS_TRUST or not has_hooks:
        return None
    return _NOT_ASKED if read_trust is None else in_words(read_trust())
