"""pre-commit and pre-push: find out what is changed, who holds it, and whether to go on."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.domain.guard.decision import GuardOutcome, decide
from mcp_agent_mail.guard import report
from mcp_agent_mail.guard.changes import Pusher, author_of, pushed_paths, read_refs, staged_paths
from mcp_agent_mail.guard.lease_source import LeaseAnswer
from mcp_agent_mail.guard.session import Session, say


def run_hook(session: Session, arguments: Sequence[str], stdin: bytes) -> bool:
    """Whether the commit or push may go on. Raises what `Session.fail` is to be told."""
    changed = _changed(session, arguments, stdin)
    if not changed:
        return True
    translation = session.translation
    inside = [path for path in map(translation.to_project, changed) if path is not None]
    if len(inside) < len(changed):
        _tell_outside(session, len(changed) - len(inside))
    if not inside and not session.rules.requires_name and not session.rules.is_bypassed:
        return True
    return act_on(session, session.ask(inside))


def _changed(session: Session, arguments: Sequence[str], stdin: bytes) -> list[str]:
    if session.hook == "pre-commit":
        return staged_paths(session.git, session.repository)
    refs = read_refs(stdin)
    if not refs:
        return []
    pusher = Pusher(agent=session.committer.name, author=author_of(session.git))
    return pushed_paths(session.git, refs, arguments[0] if arguments else "", pusher)


def _tell_outside(session: Session, count: int) -> None:
    which = "1 path lies" if count == 1 else f"{count} paths lie"
    say([f"{which} outside the project {session.project}, where nothing can be reserved."])


def act_on(session: Session, answer: LeaseAnswer) -> bool:
    """Say and record what was decided; whether to go on."""
    action = decide(answer.held, answer.agent, session.rules_for(answer))
    facts = session.facts(answer)
    if action is GuardOutcome.PASSED:
        return True
    if action is GuardOutcome.BYPASSED:
        say([f"{session.deed} passes, because AGENT_MAIL_BYPASS is set; this is recorded."])
        if answer.held:
            say(report.warning(facts, "bypassed"))
    elif action is GuardOutcome.WARNED:
        say(report.warning(facts, why_it_passes(session, answer)))
    else:
        is_nameless = answer.agent is None
        say(report.nameless(facts, session.mark) if is_nameless else report.refusal(facts))
    session.record(action, answer)
    return action is not GuardOutcome.REFUSED


def why_it_passes(session: Session, answer: LeaseAnswer) -> str:
    """Why a warning stops nobody, for the one line that says so: only for an answer that `decide` has made a warning
    of.
    """
    if answer.agent is None and session.mark is not None:
        return f"it is an agent's, as {session.mark.variable} says, and names none: set AGENT_NAME"
    if answer.agent is None:
        return "it is a person's: neither AGENT_NAME nor agent-mail.name is set"
    if all(path.is_own_too for path in answer.held):
        return "you hold them too"
    return "AGENT_MAIL_GUARD_MODE=warn"
