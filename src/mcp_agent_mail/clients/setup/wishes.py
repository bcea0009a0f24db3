"""What one file of a client's configuration should hold of ours. Journals keep it, so that it can be taken out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from mcp_agent_mail.core.lazy.dataclass import dataclass

# Any: a plain JSON value.
Json = Any


COMMANDS = ("command", "bash")
"""By which names a handler says what it runs."""

_PROGRAMS = ("am", "am.exe", "claude-mailbox", "claude-mailbox.exe")
_WORD = re.compile(r"""(?:[\w@%+=:,./~\\-]|'[^'\n]*'|"[^"`$\n]*")+""", re.ASCII)
_WATCHES = "--wake"
_ASSIGNED = re.compile(r"\w+=", re.ASCII)


class FileFormat(StrEnum):
    """How a file is written; a `file` is ours as a whole."""

    JSON = "json"
    TOML = "toml"
    FILE = "file"


class Part(StrEnum):
    """What of a client a file sets up."""

    MCP = "mcp"
    HOOKS = "hooks"


class Scope(StrEnum):
    """For whom: a user in every project, or everyone in one project."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryWish:
    """A value at a path of names. Of a table or object that is there, what we do not set stays, but the names `drop`.

    With `at_most` nothing else may stay either: what it does not hold is foreign, and goes. What stands by a name that
    is `free` is a person's wish, if it is of that kind, and stays; ours is for where nothing does.
    A scaffold is what the file needs to be read at all (`version`): only where it is missing, and gone with the last
    of ours.
    """

    path: Sequence[str]
    value: Json
    drop: Sequence[str] = ()
    is_scaffold: bool = False
    at_most: Json = None
    free: Mapping[str, str] = field(default_factory=dict)

    def is_persons(self, path: Sequence[str], value: Json) -> bool:
        """Whether this value, there at a path below the entry, is a person's to choose."""
        return len(path) == 1 and path[0] in self.free and _is_of_kind(self.free[path[0]], value)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookWish:
    """An item of the array at `path`, known by the command in it: `am`, then `mark`."""

    path: Sequence[str]
    mark: str
    item: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredFile:
    """Another file of the client's, of which it does not read what stands at `keys` (no keys: anything) once ours is
    there. `reason` says so after the words "… in FILE", `step` what a person does then.
    """

    path: Path
    keys: Sequence[str]
    reason: str
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWish:
    """One client's part of one file. `content` is that of a whole file of ours. What it `hides` counts while there is
    no such file; a journal, which speaks of files that are there, does not keep it.
    """

    client: str
    part: Part
    scope: Scope
    path: Path
    file_format: FileFormat
    entries: Sequence[EntryWish] = ()
    hooks: Sequence[HookWish] = ()
    content: str | None = None
    is_executable: bool = False
    hides: Sequence[IgnoredFile] = ()

    def to_json(self) -> dict[str, Json]:
        kept = {**asdict(self), "path": str(self.path)}
        del kept["hides"]
        return kept

    @classmethod
    def from_json(cls, kept: dict[str, Json]) -> Self:
        """Raises KeyError, TypeError or ValueError for what no journal of ours holds."""
        return cls(
            **{
                **kept,
                "part": Part(kept["part"]),
                "scope": Scope(kept["scope"]),
                "path": Path(kept["path"]),
                "file_format": FileFormat(kept["file_format"]),
                "entries": [EntryWish(**entry) for entry in kept["entries"]],
                "hooks": [HookWish(**hook) for hook in kept["hooks"]],
            }
        )


def _is_of_kind(kind: str, value: Json) -> bool:
    if kind == "texts":
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if kind == "flag":
        return isinstance(value, bool)
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def is_ours(handler: Json, mark: str) -> bool:
    """Whether a hook's handler, as clients write it, runs `am`, or another command of ours, with these words, wherever
    it lies, and nothing else.
    """
    return any(_runs_am(command, mark) for command in commands_of(handler))


def is_ours_in_other_words(handler: Json, mark: str) -> bool:
    """Whether a handler that is not ours runs `am` with these words all the same, with more before, between or behind
    them (`AGENT_NAME=… am …`, `timeout 5 am …`, `… || true`): somebody changed our line, or wrote one. It is shown, and
    neither run nor trusted.
    """
    if is_ours(handler, mark):
        return False
    # A run of the watcher is no run of the hook.
    further = "" if mark.endswith(_WATCHES) else rf"(?!\s+{_WATCHES}(?![\w-]))"
    words = r"\s+".join(re.escape(word) for word in mark.split())
    reworded = re.compile(rf"""(?<![\w.@%+=:,~-])am(?:\.exe)?["']?\s+{words}(?![\w-]){further}""", re.ASCII)
    return any(reworded.search(command) for command in commands_of(handler))


def commands_of(handler: Json) -> list[str]:
    """What a handler runs, by the names that clients give it."""
    values = [handler.get(name) for name in COMMANDS] if isinstance(handler, dict) else []
    return [value for value in values if isinstance(value, str)]


def _runs_am(command: str, mark: str) -> bool:
    """One word of the shell before the mark, which ends in the program's name: no other command comes ahead of it."""
    found = _WORD.match(command)
    if found is None or re.fullmatch(rf"[ \t]+{re.escape(mark)}[ \t]*", command[found.end() :]) is None:
        return False
    bare = found[0].replace("'", "").replace('"', "")
    return _ASSIGNED.match(found[0]) is None and re.split(r"[/\\]", bare)[-1] in _PROGRAMS
