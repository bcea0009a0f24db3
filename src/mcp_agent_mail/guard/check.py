"""`am guard check`: may these files be edited? Asked before the edit, by an agent's hook or by itself.

With --json, one object on stdout:
`{"free": bool, "agent": name or null, "project": key, "source": text, "paths": [{"path", "free": bool,
"holder": null or {"agent", "reservation_id", "path_pattern", "expires_ts", "reason"}, "is_own_too": bool}]}`,
a path per argument, as given.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.domain.guard.decision import GuardOutcome, HeldPath
from mcp_agent_mail.guard import report
from mcp_agent_mail.guard.git import resolved, text_of
from mcp_agent_mail.guard.lease_source import LeaseAnswer
from mcp_agent_mail.guard.session import Session, say

if TYPE_CHECKING:
    from mcp_agent_mail.core.running_server import Json

MAX_PATHS = 5_000


class PathOutside(Exception):
    """A path that is not a file of this repository, or of the project. The text says which."""


class CheckArguments(NamedTuple):
    paths: list[str]
    is_json: bool


def read_arguments(arguments: Sequence[str]) -> CheckArguments | str:
    """What is asked, or what is wrong with the asking. `--` ends the options."""
    is_json, is_stdin, paths = False, False, []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            paths += rest
            break
        if word == "--json":
            is_json = True
        elif word in ("--stdin", "-"):
            is_stdin = True
        elif word.startswith("-"):
            return f"check knows no option {word}: am guard check [--json] PATH… | --stdin"
        else:
            paths.append(word)
    if is_stdin:
        paths += _lines(sys.stdin.buffer.read())
    if not paths:
        return "check wants paths: am guard check [--json] PATH… | --stdin (one per line, or NUL-separated)"
    if len(paths) > MAX_PATHS:
        return f"{len(paths)} paths are more than the {MAX_PATHS} that are checked at once"
    return CheckArguments(paths=paths, is_json=is_json)


def _lines(given: bytes) -> list[str]:
    """A path per line, or NUL-separated where there is a NUL: `git diff -z --name-only | am guard check --stdin`."""
    parts = given.split(b"\0") if b"\0" in given else given.splitlines()
    return [text_of(part) for part in parts if part]


def run_check(session: Session, asked: CheckArguments) -> bool:
    """Whether all are free: held by nobody else, or by the asking agent too. Raises PathOutside and CannotTell."""
    of_project = {path: paths_in_project(session, path) for path in dict.fromkeys(asked.paths)}
    answer = session.ask(list(dict.fromkeys(one for paths in of_project.values() for one in paths)))
    is_free = all(path.is_own_too for path in answer.held)
    if asked.is_json:
        _print_json(session, of_project, answer)
    _tell(session, answer, is_free=is_free, is_json=asked.is_json)
    if session.rules.is_bypassed and answer.held:
        session.record(GuardOutcome.BYPASSED, answer)
        return True
    if answer.held:
        session.record(GuardOutcome.WARNED if is_free else GuardOutcome.REFUSED, answer)
    return is_free


def _tell(session: Session, answer: LeaseAnswer, *, is_free: bool, is_json: bool) -> None:
    facts = session.facts(answer)
    if not is_free and not is_json:
        say(report.refusal(facts))
    elif answer.held and not is_json:
        say(report.warning(facts, "you hold them too"))


def paths_in_project(session: Session, path: str) -> list[str]:
    """The project's paths of a file named from where we stand, whether it exists or not: its own, and of a link also
    that of the file it leads to. An edit through the link changes that file, one that replaces the link its own.
    Raises PathOutside where none of them is the project's.
    """
    top = session.repository.top
    if top is None:
        raise PathOutside("a bare repository has no files to edit")
    folder, name = os.path.split(os.path.normpath(os.path.join(os.getcwd(), path)))  # noqa: PTH109, PTH118  # starts faster
    real = os.path.join(resolved(folder), name)  # noqa: PTH118
    ends = [real, resolved(real)] if os.path.islink(real) else [real]  # noqa: PTH114
    ours = [end for end in ends if end != top and end.startswith(f"{top.rstrip('/')}/")]
    if not ours:
        raise PathOutside(f"{path} is no file of the repository {top}")
    inside = [session.translation.to_project(end[len(top.rstrip("/")) + 1 :]) for end in ours]
    found = [one for one in inside if one is not None]
    if not found:
        raise PathOutside(f"{path} lies outside the project {session.project}, where nothing can be reserved")
    return found


def _print_json(session: Session, of_project: dict[str, list[str]], answer: LeaseAnswer) -> None:
    held = {path.path: path for path in answer.held}
    value = {
        "free": all(path.is_own_too for path in answer.held),
        "agent": answer.agent,
        "project": session.project,
        "source": answer.source,
        "paths": [_item(given, [held[path] for path in paths if path in held]) for given, paths in of_project.items()],
    }
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def _item(path: str, both: Sequence[HeldPath]) -> dict[str, Json]:
    """Of a file and where it leads: held is what others hold of it before what the agent holds too."""
    if not both:
        return {"path": path, "free": True, "holder": None, "is_own_too": False}
    held = min(both, key=lambda one: one.is_own_too)
    holding = held.holding
    holder = {
        "agent": holding.agent,
        "reservation_id": holding.id,
        "path_pattern": holding.path_pattern,
        "expires_ts": iso(holding.expires_ts),
        "reason": holding.reason,
    }
    return {"path": path, "free": held.is_own_too, "holder": holder, "is_own_too": held.is_own_too}
