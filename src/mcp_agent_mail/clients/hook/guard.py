"""Edits before they happen: which files a tool call would change, and what the guard says of them.

Imported for an edit alone: the guard takes longer to import than everything else of a hook.
"""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr
from typing import TYPE_CHECKING

from mcp_agent_mail.clients.hook.targets import MAX_PATHS
from mcp_agent_mail.clients.hook.text import MAX_BYTES, QUOTE, cut, fold, name_of, whose
from mcp_agent_mail.core.settings.client import read_client_settings
from mcp_agent_mail.domain.guard.decision import GuardOutcome
from mcp_agent_mail.guard import report
from mcp_agent_mail.guard.check import PathOutside, paths_in_project
from mcp_agent_mail.guard.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_agent_mail.clients.hook.identity import HookIdentity
    from mcp_agent_mail.core.running_server import Deadline
    from mcp_agent_mail.domain.guard.decision import HeldPath
    from mcp_agent_mail.guard.lease_source import LeaseAnswer
    from mcp_agent_mail.guard.report import ReportContext

_MAX_LINE = 300
_SIZES = (200, 100, 40)
"""Bytes of a path, a pattern and a reason: the first that fits is used."""
_MAX_SHOWN = 3
_MAX_ASKED = 3
_BYPASSED = "bypassed"
_WARNS = "AGENT_MAIL_GUARD_MODE=warn"


class GuardVerdict:
    """`lines` is what the guard says; `is_refused` whether it stops the edit."""

    __slots__ = ("is_refused", "lines")

    def __init__(self, *, is_refused: bool, lines: list[str]) -> None:
        self.is_refused = is_refused
        self.lines = lines


def ask_guard(
    paths: list[str], identity: HookIdentity, environ: Mapping[str, str], patience: Deadline
) -> GuardVerdict | None:
    """What the guard says of editing these files, of which it checks MAX_PATHS; None where they are free, or where it
    could not find out. When the deadline has passed it reads what the disk says.
    """
    verdict = _ask_within(paths[:MAX_PATHS], identity, environ, patience)
    if len(paths) <= MAX_PATHS or (verdict is not None and verdict.is_refused):
        return verdict
    many = f"{len(paths) - MAX_PATHS} of the {len(paths)} paths"
    unchecked = f"edit passes, but {many} were not checked: {MAX_PATHS} are at once."
    return GuardVerdict(is_refused=False, lines=[unchecked, *(verdict.lines if verdict is not None else [])])


def _ask_within(
    paths: list[str], identity: HookIdentity, environ: Mapping[str, str], patience: Deadline
) -> GuardVerdict | None:
    named = {**environ, **({"AGENT_NAME": identity.agent} if identity.agent else {})}
    if identity.project.startswith("/"):
        named["AGENT_MAIL_PROJECT"] = identity.project
    os.chdir(identity.folder)
    # What the guard says besides goes nowhere: one line is all that a hook may say there.
    with redirect_stderr(io.StringIO()):
        session = Session("check", "edit", read_client_settings(named), patience=patience)
        try:
            return _judge(session, paths, identity)
        except Exception:  # noqa: BLE001  # not found out: allowed, whatever it is
            return None
        finally:
            session.close()


def _judge(session: Session, paths: list[str], identity: HookIdentity) -> GuardVerdict | None:
    inside: list[str] = []
    for path in paths:
        try:
            inside += paths_in_project(session, path)
        except PathOutside:
            continue
    if not inside:
        return None
    answer = session.ask(list(dict.fromkeys(inside)))
    if not answer.held or all(path.is_own_too for path in answer.held):
        return None
    return _decide(session, answer, identity)


def _decide(session: Session, answer: LeaseAnswer, identity: HookIdentity) -> GuardVerdict:
    facts = session.facts(answer)
    if session.rules.is_bypassed:
        session.record(GuardOutcome.BYPASSED, answer)
        return GuardVerdict(is_refused=False, lines=warning_lines(facts, _BYPASSED))
    if not session.rules.is_blocking:
        session.record(GuardOutcome.WARNED, answer)
        return GuardVerdict(is_refused=False, lines=warning_lines(facts, _WARNS))
    session.record(GuardOutcome.REFUSED, answer)
    return GuardVerdict(is_refused=True, lines=refusal_lines(facts, identity))


# --- The guard's words ---


def refusal_lines(facts: ReportContext, identity: HookIdentity | None = None) -> list[str]:
    """Why the edit is refused, and what its agent can do, whose calls `identity` names: not to pass all the same, since
    no agent can set the environment of its client's hooks. Ours but for paths and reasons, which stand behind the mark.
    """
    held = [one for one in facts.answer.held if not one.is_own_too]
    return _fitting(report.refusal(facts)[0], held, facts, _what_to_do(held, facts, identity))


def warning_lines(facts: ReportContext, why_it_passes: str) -> list[str]:
    """The same of an edit that passes."""
    return _fitting(report.warning(facts, why_it_passes)[0], facts.answer.held, facts, [])


def _fitting(head: str, held: Sequence[HeldPath], facts: ReportContext, advice: list[str]) -> list[str]:
    """With their words so short that the advice behind them is not cut."""
    around = [*_unknown(facts), *advice, f"This was read from {facts.answer.source.partition(' (')[0]}."]
    count = max(facts.answer.held_count - (len(facts.answer.held) - len(held)), len(held))
    more = [f"and {count - _MAX_SHOWN} more"] if count > _MAX_SHOWN else []
    lines: list[str] = []
    for size in _SIZES:
        lines = [cut(fold(head, _MAX_LINE), _MAX_LINE), *_listed(held[:_MAX_SHOWN], facts, size), *more, *around]
        if len("\n".join(lines).encode()) <= MAX_BYTES:
            break
    return lines


def _listed(held: Sequence[HeldPath], facts: ReportContext, size: int) -> list[str]:
    """Paths of one lease stand together, before it."""
    lines: list[str] = []
    for number, one in enumerate(held):
        lines.append(f"{QUOTE}path: {fold(facts.shown(one.path), size)}")
        if held[number + 1 : number + 2] and held[number + 1].holding == one.holding:
            continue
        until = report.until(one.holding.expires_ts, facts.now, in_utc=True)
        too = " (so do you)" if one.is_own_too else ""
        lines += [
            f"held by {name_of(one.holding.agent)} until {until}{too}",
            f"{QUOTE}pattern: {fold(one.holding.path_pattern, size)}",
        ]
        reason = fold(one.holding.reason, size)
        lines += [f"{QUOTE}reason: {reason}"] if reason else []
    return lines


def _unknown(facts: ReportContext) -> list[str]:
    if facts.answer.is_agent_known:
        return []
    near = " or ".join(one for one in facts.answer.nearest if name_of(one) == one)
    did_you_mean = f" Did you mean {near}?" if near else ""
    return [f"No agent here is called {name_of(facts.answer.agent)}.{did_you_mean}"]


def _what_to_do(held: Sequence[HeldPath], facts: ReportContext, identity: HookIdentity | None) -> list[str]:
    first = min(one.holding.expires_ts for one in held)
    until = report.until(first, facts.now, in_utc=True)
    if not facts.answer.is_server_up:
        return [
            "What you can do:",
            f"- wait until {until}, when the first of these leases ends",
            "- try again when a server answers: none does now, so nobody can be asked and nothing be reserved",
            "- leave these paths out of the edit",
        ]
    agent, project = (None, None) if identity is None else (identity.agent, identity.project)
    sender, caller = (whose(agent, project, role) for role in ("sender_name", "agent_name"))
    holders = dict.fromkeys(one.holding.agent for one in held if name_of(one.holding.agent) == one.holding.agent)
    asked = ", ".join(f'"{one}"' for one in list(holders)[:_MAX_ASKED])
    return [
        "What you can do:",
        f"- wait until {until}, when the first of these leases ends, or for its release",
        *(
            [f'- ask for it: send_message({sender}to=[{asked}], subject="May I change it?", body_md=…)']
            if asked
            else []
        ),
        f"- reserve it as soon as it is free: file_reservation_paths({caller}paths=[…], wait_seconds=50)",
        "- leave these paths out of the edit",
    ]
