"""How a client stands: what is installed, missing or drifted, what its contract promises, what a person has to do."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from mcp_agent_mail.clients.contracts.reader import MARKS, Contract, read_contract
from mcp_agent_mail.clients.setup.codex_query import in_words
from mcp_agent_mail.clients.setup.contract_wishes import lacks_token_reference, watching
from mcp_agent_mail.clients.setup.edits.look import Difference
from mcp_agent_mail.clients.setup.edits.text import UnfitText
from mcp_agent_mail.clients.setup.file_edit import differences
from mcp_agent_mail.clients.setup.hidden_files import OtherFileIgnored
from mcp_agent_mail.clients.setup.plan import follows_links
from mcp_agent_mail.clients.setup.staged_file import FileNotWritable
from mcp_agent_mail.clients.setup.targets import look_at, runnable
from mcp_agent_mail.clients.setup.wishes import FileFormat, FileWish, Part
from mcp_agent_mail.core.lazy.dataclass import dataclass

_TOKEN_BY_HAND = (
    "{when}: put the token into the entry's Authorization header yourself, for {title} knows no "
    "reference to the environment, and never into a file that Git tracks."
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
    """How a file stands; `partly`: some of ours is missing; `left alone`: it is not made, for it would hide another."""

    INSTALLED = "installed"
    MISSING = "missing"
    PARTLY = "partly"
    DRIFTED = "drifted"
    UNREADABLE = "unreadable"
    LEFT_ALONE = "left alone"


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
    """How mail wakes an idle session, and how that is known; without `way` it waits for the next turn. `is_installed`:
    our line for it stands there.
    """

    way: str | None
    how: str | None
    mark: str
    source: str
    is_installed: bool

    def in_words(self) -> str:
        said = "by nothing that is known: mail waits for its next turn" if self.how is None else f"by {self.how}"
        return f"{said} ({self.mark})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientState:
    """`marks`: how many rows of the contract are documented, measured or inferred. `cannot`: what the client has no
    way for; `advisory` says it in words. `trust`: whether its user lets our hooks run. `woken`: by what an idle session
    is. `next_step`: how to put right what is not.
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
    command: str

    @property
    def state(self) -> State:
        """The worst of its files; installed and missing ones together are partly installed."""
        found = {file.state for file in self.files}
        for worst in (State.UNREADABLE, State.LEFT_ALONE, State.DRIFTED, State.PARTLY):
            if worst in found:
                return worst
        if found == {State.INSTALLED}:
            return State.INSTALLED
        return State.PARTLY if State.INSTALLED in found else State.MISSING

    @property
    def next_step(self) -> str | None:
        """For the state as a whole; None where nothing is to be done."""
        if any(one.is_reworded for file in self.files for one in file.differences):
            return f"Mend the lines that run am hook in other words, or take them out, and run {self.command}."
        return {
            State.INSTALLED: None,
            State.MISSING: f"{self.command} puts it there.",
            State.PARTLY: f"{self.command} puts there what is missing.",
            State.DRIFTED: f"{self.command} puts it right.",
            State.UNREADABLE: f"Mend what cannot be read, and run {self.command}.",
            State.LEFT_ALONE: f"Do what is said of the file that was left alone, and run {self.command}.",
        }[self.state]


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
        woken=_wake(contract, wishes, files),
        trust=_trust(client, files, read_trust if project is None else None),
        person=persons_part(contract, has_token=has_token),
        command=f"am setup --client {client}" + (f" --project {shlex.quote(str(project))}" if project else ""),
    )


def persons_part(contract: Contract, *, has_token: bool) -> list[str]:
    """What only a person can do, once ours is there."""
    steps: list[str] = list(contract["person"])
    if lacks_token_reference(contract):
        when = "For a server with a token" if has_token else "Should the server get a token (HTTP_BEARER_TOKEN)"
        steps.append(_TOKEN_BY_HAND.format(when=when, title=contract["title"]))
    return steps


def hint_for(line: int | None, command: str = "am setup") -> str:
    """What to do where a reason is given and nothing better is known."""
    return f"{'See to that' if line is None else 'Mend the line'} and run {command} again."


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
            state=State.LEFT_ALONE if isinstance(unfit, OtherFileIgnored) else State.UNREADABLE,
            reason=unfit.message,
            line=(line := unfit.line if isinstance(unfit, UnfitText) else None),
            hint=unfit.hint or hint_for(line),
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


def _wake(contract: Contract, wishes: Sequence[FileWish], files: Sequence[FileState]) -> Wake:
    known = {name: contract["wake"][name] for name in ("way", "how", "mark", "source")}
    hooks = [(wish, file) for wish, file in zip(wishes, files, strict=True) if wish.part is Part.HOOKS]
    way, event = contract["wake"]["way"], contract["wake"]["event"]
    # Without an event of its own the way is the name of the hook that it goes by.
    words = f"{contract['client']} {way if event is None else watching(event)}"
    return Wake(**known, is_installed=way is not None and any(_has_hook(wish, file, words) for wish, file in hooks))


def _has_hook(wish: FileWish, file: FileState, words: str) -> bool:
    """Whether the hook of these words stands there as it should, whatever else does not. A whole file is one thing."""
    if file.state is State.INSTALLED:
        return True
    if wish.file_format is FileFormat.FILE or file.state not in (State.DRIFTED, State.PARTLY):
        return False
    return not any(one.what in (f"hook {words}", f"runs am hook in other words ({words})") for one in file.differences)


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
