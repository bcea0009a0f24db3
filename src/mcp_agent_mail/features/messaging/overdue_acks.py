"""Acknowledgements that do not come: the sender is told, and what the operator chose happens besides. Once a message.

One unit of work looks at some copies that have become due, tells, notes it, and moves the mark: after a kill the next
start goes on exactly there. Times are the store's own.
"""

from __future__ import annotations

import logging
from enum import StrEnum

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.identity.names import HUMAN
from mcp_agent_mail.domain.messages import Message
from mcp_agent_mail.domain.patterns.pattern import parse_pattern
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.reservations import Patterns, RequestedPath
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.system_mail import post_system_mail
from mcp_agent_mail.features.messaging.overdue_notices import (
    NAMES_SHOWN,
    OverdueMessage,
    overseer_notice,
    sender_notice,
)
from mcp_agent_mail.features.reservations.conflicts import NeedsPrecheck
from mcp_agent_mail.features.reservations.grant import GrantRequest, decide
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.overdue_events import record_overdue
from mcp_agent_mail.store.transaction import Tx

logger = logging.getLogger("mcp_agent_mail.acknowledgements")

MESSAGES_AT_ONCE = 5
"""That one unit of work tells of: about 5 ms."""
COPIES_AT_ONCE = 500
UNITS_PER_PASS = 200


class Escalation(StrEnum):
    LOG = "log"
    FILE_RESERVATION = "file_reservation"
    MAIL = "mail"


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationLease:
    """The lease that stands for an overdue message: `resource://ack-overdue/<id>`, held by an agent of this name."""

    holder: str
    ttl_s: int
    exclusive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OverdueRules:
    """When an acknowledgement is overdue, and what happens then. `escalation` None: the sender is told and no more."""

    ttl_s: int
    interval_s: int
    escalation: Escalation | None
    claim: EscalationLease


@dataclass(frozen=True, slots=True, kw_only=True)
class OverdueFigures:
    """Since the start; `looked_at` is None before the first pass."""

    looked_at: Micros | None
    told: int
    escalated: int
    last_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OverdueNotice:
    """A message that was told of. `escalation` is what was really done; `problem` why it was not what was asked for."""

    message_id: MessageId
    project: str
    count: int
    escalation: Escalation | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult:
    """What one unit of work told of. `more`: copies are left that it did not get to."""

    told: list[OverdueNotice]
    more: bool


class OverdueWorker:
    """`start()` on the running loop, `await stop()` while the store is still open."""

    def __init__(self, store: Store, rules: OverdueRules, *, clock: Clock) -> None:
        self._store = store
        self._rules = rules
        self._clock = clock
        self.keeper = Periodic("acknowledgements", self.look, interval_s=rules.interval_s)
        self._looked_at: Micros | None = None
        self._told = 0
        self._escalated = 0
        self.start = self.keeper.start
        self.stop = self.keeper.stop

    def figures(self) -> OverdueFigures:
        """Counts since the server started."""
        return OverdueFigures(
            looked_at=self._looked_at,
            told=self._told,
            escalated=self._escalated,
            last_error=self.keeper.error,
        )

    async def look(self) -> None:
        """One pass, bounded; the next goes on where it ended. Raises what a sick store raises."""
        for _ in range(UNITS_PER_PASS):
            looked = await self._store.write(lambda tx: tell_overdue(tx, self._rules))
            for told in looked.told:
                self._count(told)
            if not looked.more or self.keeper.is_stopping:
                break
        self._looked_at = self._clock()

    def _count(self, told: OverdueNotice) -> None:
        self._told += 1
        if told.escalation is None:
            return
        self._escalated += 1
        facts = {"message": told.message_id, "project": told.project, "silent": told.count}
        if told.problem is not None:
            facts["problem"] = told.problem
        logger.warning("an acknowledgement is overdue", extra={"facts": facts})


def tell_overdue(tx: Tx, rules: OverdueRules) -> ScanResult:
    """Tell of the next few messages, and move the mark past every copy that was looked at."""
    now = tx.now
    until = Micros(now - rules.ttl_s * SECOND)
    due = tx.overdue.due(until, COPIES_AT_ONCE)
    told: list[OverdueNotice] = []
    for seq, message_id in due:
        if not tx.overdue.is_noted(message_id):
            if len(told) == MESSAGES_AT_ONCE:
                return ScanResult(told=told, more=True)
            tx.require_room()
            told.append(_tell(tx, message_id, rules, until))
        tx.overdue.advance(seq)
    return ScanResult(told=told, more=len(due) == COPIES_AT_ONCE)


def _tell(tx: Tx, message_id: MessageId, rules: OverdueRules, until: Micros) -> OverdueNotice:
    message = tx.messages.find(message_id)
    assert message is not None, message_id
    project = tx.projects.find(message.project_id)
    assert project is not None, message
    count, blind = tx.overdue.count_silent(message_id, until)
    silent = tx.overdue.silent(message_id, until, NAMES_SHOWN)
    late = OverdueMessage(message=message, silent=silent, count=count, blind=blind)
    sender = tx.agents.find(message.sender_id)
    assert sender is not None, message
    if _can_be_told(project, sender):
        post_system_mail(tx, project, [sender], sender_notice(late, tx.now))
    escalation, problem = _escalate(tx, project, sender, late, rules)
    tx.overdue.note(message_id, tx.now, escalation)
    record_overdue(tx, message_id)
    return OverdueNotice(
        message_id=message_id, project=project.slug, count=count, escalation=escalation, problem=problem
    )


def _can_be_told(project: Project, agent: Agent) -> bool:
    return not project.is_archived and not agent.is_retired and agent.kind is not AgentKind.SYSTEM


def _escalate(
    tx: Tx, project: Project, sender: Agent, late: OverdueMessage, rules: OverdueRules
) -> tuple[Escalation | None, str | None]:
    """What was done, and why not more. A way that is not open is no reason to be silent: then it is the log."""
    if rules.escalation is Escalation.MAIL:
        human = tx.agents.find_by_name(project.id, HUMAN)
        if human is None or human.id == sender.id or not _can_be_told(project, human):
            return Escalation.LOG, "there is nobody else to write to"
        now = tx.now
        post_system_mail(tx, project, [human], overseer_notice(late, now))
    elif rules.escalation is Escalation.FILE_RESERVATION:
        # A lease that all see would tell of a blind copy that nobody knows of.
        is_open = late.count > late.blind and not late.message.is_private
        problem = _claim(tx, project, late.message, rules.claim) if is_open else "it is not for everyone to know of"
        if problem is not None:
            return Escalation.LOG, problem
    return rules.escalation, None


def _claim(tx: Tx, project: Project, message: Message, claim: EscalationLease) -> str | None:
    """Why there is no lease; None when there is. What the message is about is not for everyone to read."""
    agent = tx.agents.find_by_name(project.id, claim.holder)
    if agent is None:
        return f"{project.slug} has no agent {claim.holder}"
    path = f"resource://ack-overdue/{message.id}"
    request = ReserveRequest(
        project_key=project.human_key,
        agent_name=agent.name,
        paths=(path,),
        ttl_seconds=claim.ttl_s,
        exclusive=claim.exclusive,
        reason=f"message {message.id} is not acknowledged",
    )
    wanted = [RequestedPath.of(path, parse_pattern(path), exclusive=claim.exclusive)]
    holder = Actor(project=project, agent=agent, verified=True)
    try:
        decided = decide(tx, holder, GrantRequest(request=request, wanted=wanted), Patterns())
    except AgentMailError as refused:
        return refused.message
    except NeedsPrecheck:
        return "too many leases are in the way"
    return None if decided.granted else f"{path} is held by another agent"
