"""What the guard says on stderr: which path, who holds it, until when, why, and what to do. Plain text, no colour."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.escaping import on_one_line
from mcp_agent_mail.domain.guard.agent_marks import AgentMark
from mcp_agent_mail.domain.guard.decision import GuardedLease, HeldPath
from mcp_agent_mail.guard.lease_source import LeaseAnswer, in_words
from mcp_agent_mail.guard.repository import name_command

MAX_PATHS_SHOWN = 20
_MAX_REASON = 200
_MAX_PATH = 300
_MAX_ASKED = 5
_MAX_NAME = 64


class ReportContext(NamedTuple):
    """What every report is about. `deed` is `commit`, `push` or `edit`; `shown` turns a project's path into one
    of the repository.
    """

    deed: str
    project: str
    answer: LeaseAnswer
    now: Micros
    shown: Callable[[str], str]


def refusal(facts: ReportContext) -> list[str]:
    """The refusal of a commit, push or edit of paths that other agents hold and the committer does not, with what to
    do.
    """
    held = _refused(facts.answer.held)
    count = max(facts.answer.held_count - (len(facts.answer.held) - len(held)), len(held))
    return [
        f"{facts.deed} refused: {_paths(count)} held by another agent.",
        *_listed(held, count, facts),
        *([] if facts.answer.is_agent_known else _unknown(facts)),
        *_what_to_do(held, facts),
        f"  This was read from {facts.answer.source}.",
    ]


def warning(facts: ReportContext, why_it_passes: str) -> list[str]:
    """What is said when some paths are held by others and the commit, push or edit passes all the same."""
    held = facts.answer.held
    return [
        f"{facts.deed} passes, but {_paths(facts.answer.held_count)} held by another agent ({why_it_passes}).",
        *_listed(held, facts.answer.held_count, facts),
        *([] if facts.answer.is_agent_known else _unknown(facts)),
        f"  This was read from {facts.answer.source}.",
    ]


def _unknown(facts: ReportContext) -> list[str]:
    """What is said of a name that no agent of the project has."""
    name = on_one_line(facts.answer.agent or "")[:_MAX_NAME]
    if facts.answer.nearest:
        near = " or ".join(on_one_line(one)[:_MAX_NAME] for one in facts.answer.nearest)
        return [f"  No agent here is called {name}. Did you mean {near}? Set AGENT_NAME to the name you registered as."]
    return [f"  No agent here is called {name}: set AGENT_NAME to the name you registered as; a person sets none."]


def nameless(facts: ReportContext, mark: AgentMark | None) -> list[str]:
    """The refusal of a commit or push that names no agent where one is asked for, what of it is held, and how to name
    the agent. `mark` is by what the shell is known as an agent's; without one the settings ask everybody.
    """
    why = "AGENT_MAIL_GUARD_REQUIRE_NAME is set" if mark is None else f"{mark.variable} says that an agent makes it"
    held = facts.answer.held
    return [
        f"{facts.deed} refused: say who you are. It does not say which agent makes it, and {why}.",
        *_listed(held, facts.answer.held_count, facts),
        f"  As the agent that you registered as: AGENT_NAME=YourName git {facts.deed} …",
        "  For good: export AGENT_NAME=YourName, or for this work tree alone:",
        f"    {name_command('YourName')}",
        f"  Or pass once, recorded: {_bypass(facts.deed)}",
        *([] if mark is None else ["  A person is here? AGENT_MAIL_GUARD_REQUIRE_NAME=false asks nobody."]),
    ]


def failure(deed: str, why: str, *, is_blocking: bool) -> list[str]:
    """What is said when the guard could not find out `why`: a refusal where it is blocking, else that the deed passes
    unchecked.
    """
    if is_blocking:
        return [
            f"{deed} refused: the guard could not check it: {on_one_line(why)}.",
            f"  Repair it (am status tells more), or pass once, recorded: {_bypass(deed)}",
            "  AGENT_MAIL_GUARD_ON_ERROR=warn lets pass what cannot be checked.",
        ]
    return [f"{deed} passes UNCHECKED: {on_one_line(why)}."]


def until(expires_ts: Micros, now: Micros, *, in_utc: bool = False) -> str:
    """`14:05 (in 23 minutes)`, by the clock of this machine, or `14:05 UTC (…)`; with the day when it is not today."""
    broken_down = time.gmtime if in_utc else time.localtime
    at, today = broken_down(expires_ts // SECOND), broken_down(now // SECOND)
    is_today = at[:3] == today[:3]
    clock = time.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M", at)
    return f"{clock}{' UTC' if in_utc else ''} (in {in_words(max(expires_ts - now, 0) // SECOND)})"


def _refused(held: Iterable[HeldPath]) -> list[HeldPath]:
    return [path for path in held if not path.is_own_too]


def _paths(count: int) -> str:
    return "1 path is" if count == 1 else f"{count} paths are"


def _listed(held: Sequence[HeldPath], count: int, facts: ReportContext) -> list[str]:
    lines = []
    for path in held[:MAX_PATHS_SHOWN]:
        too = " (so do you)" if path.is_own_too else ""
        lines += [f"  {_path(facts.shown(path.path))}", f"    {holder(path.holding, facts.now)}{too}"]
    if count > MAX_PATHS_SHOWN:
        lines.append(f"  and {count - MAX_PATHS_SHOWN} more")
    return lines


def holder(holding: GuardedLease, now: Micros) -> str:
    """One lease in one line. Its reason is the words of a peer: quoted, and nothing in it is obeyed."""
    reason = on_one_line(holding.reason)[:_MAX_REASON].replace("\\", "\\\\").replace('"', '\\"')
    why = f', says: "{reason}"' if reason else ""
    pattern = _path(holding.path_pattern)
    return f"held by {on_one_line(holding.agent)} until {until(holding.expires_ts, now)} by {pattern}{why}"


def _path(path: str) -> str:
    """In quotes where its ends would not be seen otherwise."""
    shown = on_one_line(path)
    shown = shown if len(shown) <= _MAX_PATH else f"{shown[:_MAX_PATH]}…"
    return f'"{shown}"' if " " in shown or shown != path else shown


def _what_to_do(held: Sequence[HeldPath], facts: ReportContext) -> list[str]:
    first = min((path.holding for path in held), key=lambda holding: holding.expires_ts)
    holders = list(dict.fromkeys(path.holding.agent for path in held))[:_MAX_ASKED]
    paths = [path.path for path in held[:_MAX_ASKED]]
    # A call as nobody could not work.
    me = (facts.answer.agent if facts.answer.is_agent_known else None) or "YourName"
    ask = _call(
        "send_message",
        project_key=facts.project,
        sender_name=me,
        to=holders,
        subject=f"May I change {paths[0]}?",
        body_md="...",
    )
    reserve = _call("file_reservation_paths", project_key=facts.project, agent_name=me, paths=paths, wait_seconds=50)
    return [
        "  What you can do:",
        f"  - wait until {until(first.expires_ts, facts.now)}, when the first of these leases ends, or for its release",
        f"  - ask for it: {ask}",
        f"  - reserve it as soon as it is free: {reserve}",
        f"  - leave these paths out of the {facts.deed}",
        f"  - pass all the same, recorded: {_bypass(facts.deed)}",
    ]


def _call(tool: str, **arguments: object) -> str:
    """A call that can be made as it stands. JSON in ASCII: a peer's path cannot break out of its quotes."""
    written = ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())
    return f"{tool}({written})"


def _bypass(deed: str) -> str:
    return "AGENT_MAIL_BYPASS=1" if deed == "edit" else f"AGENT_MAIL_BYPASS=1 git {deed} …"
