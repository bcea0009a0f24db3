"""Edits before they happen: which files a tool call would change, and what the guard says of them.

Imported for an edit alone: the guard takes longer to import than everything else of a hook.
"""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr
from typing import TYPE_CHECKING

from mcp_agent_mail.clients.hook.text import QUOTE, cut, fold
from mcp_agent_mail.core.settings.client import read_client_settings
from mcp_agent_mail.domain.guard.decision import GuardOutcome
from mcp_agent_mail.guard import report
from mcp_agent_mail.guard.check import PathOutside, path_in_project
from mcp_agent_mail.guard.server import Deadline
from mcp_agent_mail.guard.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_agent_mail.clients.hook.identity import HookStanding
    from mcp_agent_mail.guard.lease_source import LeaseAnswer

_MAX_LINE = 300
_BYPASSED = "bypassed"
_WARNS = "AGENT_MAIL_GUARD_MODE=warn"


class GuardVerdict:
    """`lines` is what the guard says; `is_refused` whether it stops the edit."""

    __slots__ = ("is_refused", "lines")

    def __init__(self, *, is_refused: bool, lines: list[str]) -> None:
        self.is_refused = is_refused
        self.lines = lines


def ask_guard(
    paths: list[str], standing: HookStanding, environ: Mapping[str, str], patience_s: float
) -> GuardVerdict | None:
    """What the guard says of editing these files; None where they are free, or where it could not find out."""
    named = {**environ, **({"AGENT_NAME": standing.agent} if standing.agent else {})}
    if standing.project.startswith("/"):
        named["AGENT_MAIL_PROJECT"] = standing.project
    os.chdir(standing.folder)
    # What the guard says besides goes nowhere: one line is all that a hook may say there.
    with redirect_stderr(io.StringIO()):
        session = Session("check", "edit", read_client_settings(named), patience=Deadline(patience_s))
        try:
            return _judge(session, paths)
        except Exception:  # noqa: BLE001  # not found out: allowed, whatever it is
            return None
        finally:
            session.close()


def _judge(session: Session, paths: list[str]) -> GuardVerdict | None:
    inside = []
    for path in paths:
        try:
            inside.append(path_in_project(session, path))
        except PathOutside:
            continue
    if not inside:
        return None
    answer = session.ask(list(dict.fromkeys(inside)))
    if not answer.held or all(path.is_own_too for path in answer.held):
        return None
    return _decide(session, answer)


def _decide(session: Session, answer: LeaseAnswer) -> GuardVerdict:
    facts = session.facts(answer)
    if session.rules.is_bypassed:
        session.record(GuardOutcome.BYPASSED, answer)
        return GuardVerdict(is_refused=False, lines=fenced(report.warning(facts, _BYPASSED)))
    if not session.rules.is_blocking:
        session.record(GuardOutcome.WARNED, answer)
        return GuardVerdict(is_refused=False, lines=fenced(report.warning(facts, _WARNS)))
    session.record(GuardOutcome.REFUSED, answer)
    return GuardVerdict(is_refused=True, lines=fenced(report.refusal(facts)))


def fenced(lines: list[str]) -> list[str]:
    """The guard's words: its first line is its own, the others hold paths and reasons of other agents."""
    return [cut(fold(lines[0], _MAX_LINE), _MAX_LINE), *(QUOTE + fold(line, _MAX_LINE) for line in lines[1:])]
