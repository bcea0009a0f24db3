"""Acknowledgements that a project's agents owe: the operator sees them, and has those reminded that are late.

A reminder is mail of System in the thread of the message, to one agent, and answers the message: so the store knows
whom it reached, and a repeat within the hour sends nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import call_text, suggest_call
from mcp_agent_mail.core.escaping import as_code
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.messages import MAX_SUBJECT, Importance, Message, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.threads import thread_of
from mcp_agent_mail.features.identity.actor import Actor, require_able
from mcp_agent_mail.features.identity.lookup import require_agent
from mcp_agent_mail.features.identity.system_mail import SystemNotice, post_system_mail
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.owed_acks import OwedCopy
from mcp_agent_mail.store.transaction import Tx, View

QUIET_S = 3_600
"""Of one message an agent is reminded once in so long."""
REMINDERS_PER_CALL = 200
REMINDERS_AT_ONCE = 5
"""That one unit of work sends: about 5 ms."""
_MINUTE_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedRequest:
    """`agent_name` None: of every agent. `min_age_s`: since when a copy must lie there; None: ACK_TTL_SECONDS."""

    project_key: str
    agent_name: str | None
    min_age_s: int | None
    limit: int = REMINDERS_PER_CALL


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedMessage:
    """One agent's copy of a message that it has not acknowledged."""

    agent: Agent
    message: Message
    copy: OwedCopy


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedListing:
    """By delivery, oldest first. `has_more`: the project has others besides. Ages are counted up to `now`."""

    project: Project
    owed: list[OwedMessage]
    min_age_s: int
    has_more: bool
    now: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """`mail` reminded of what was owed."""

    owed: OwedMessage
    mail: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class SentReminders:
    """`has_more`: as many were sent as one call sends, and a repeat goes on."""

    project: Project
    reminders: list[Reminder]
    min_age_s: int
    has_more: bool


class ReminderService:
    """`ttl_s`: from when on an acknowledgement is late, where a call does not say. `throttle` is awaited before mail is
    stored.
    """

    def __init__(self, store: Store, *, ttl_s: int, throttle: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._ttl_s = ttl_s
        self._throttle = throttle

    async def list_(self, caller: Caller, request: OwedRequest) -> OwedListing:
        """What is owed, for the operator's eyes: of agents that are not retired, and of people. Blind copies too."""
        require_operator(caller)
        min_age_s = self._age(request)

        def look(view: View) -> OwedListing:
            project, agent = _whose(view, request)
            until = _before(view.now, min_age_s)
            copies = view.owed_acks.list_(project.id, None if agent is None else agent.id, until, request.limit + 1)
            return OwedListing(
                project=project,
                owed=[_owed(view, copy) for copy in copies[: request.limit]],
                min_age_s=min_age_s,
                has_more=len(copies) > request.limit,
                now=view.now,
            )

        return await self._store.read(look)

    async def remind(self, caller: Caller, request: OwedRequest) -> SentReminders:
        """Write to each agent that owes one, oldest first: `limit` reminders at most, and of one message to one agent
        none within QUIET_S of the last. A cut leaves some sent, and a repeat goes on.
        """
        require_operator(caller)
        min_age_s = self._age(request)

        def look(view: View) -> tuple[Project, list[OwedCopy]]:
            project, agent = _whose(view, request)
            require_writable(project)
            if agent is not None:
                require_able(Actor(agent=agent, project=project), "it is reminded of nothing")
            agent_id = None if agent is None else agent.id
            until, quiet_since = _before(view.now, min_age_s), _before(view.now, QUIET_S)
            return project, view.owed_acks.to_remind(project.id, agent_id, until, quiet_since, request.limit + 1)

        project, copies = await self._store.read(look)
        sent: list[Reminder] = []
        due = copies[: request.limit]
        for first in range(0, len(due), REMINDERS_AT_ONCE):
            lot = due[first : first + REMINDERS_AT_ONCE]
            await self._throttle()
            sent += await self._store.write(partial(_remind, project, lot, min_age_s))
        return SentReminders(project=project, reminders=sent, min_age_s=min_age_s, has_more=len(copies) > request.limit)

    def _age(self, request: OwedRequest) -> int:
        return self._ttl_s if request.min_age_s is None else request.min_age_s


def _whose(view: View, request: OwedRequest) -> tuple[Project, Agent | None]:
    project = require_project(view, request.project_key)
    return project, None if request.agent_name is None else require_agent(view, project, request.agent_name)


def _before(now: Micros, age_s: int) -> Micros:
    return Micros(now - age_s * SECOND)


def _owed(view: View, copy: OwedCopy) -> OwedMessage:
    agent, message = view.agents.find(copy.agent_id), view.messages.find(copy.message_id)
    assert agent is not None, copy
    assert message is not None, copy
    return OwedMessage(agent=agent, message=message, copy=copy)


def _remind(project: Project, lot: Sequence[OwedCopy], min_age_s: int, tx: Tx) -> list[Reminder]:
    """Those of `lot` that are still to be reminded."""
    until, quiet_since = _before(tx.now, min_age_s), _before(tx.now, QUIET_S)
    sent = []
    for copy in lot:
        if not tx.owed_acks.is_to_remind(project.id, copy, until, quiet_since):
            continue
        tx.require_room()
        owed = _owed(tx, copy)
        mail = post_system_mail(tx, project, [owed.agent], reminder_notice(owed, project, tx.now))
        sent.append(Reminder(owed=owed, mail=mail))
    return sent


def reminder_notice(owed: OwedMessage, project: Project, now: Micros) -> SystemNotice:
    """For the agent that owes it, in the operator's name: whose message it is, how old, and the call that acknowledges
    it. Of a blind copy nobody else may know.
    """
    message = owed.message
    sender = shown_name(message.sender_name, message.project_id, message.project_slug, project.id)
    minutes = max(0, now - owed.copy.delivered_ts) // (SECOND * _MINUTE_S)
    call = suggest_call(
        "acknowledge_message",
        {"project_key": project.human_key, "agent_name": owed.agent.name, "message_id": message.id},
    )
    return SystemNotice(
        subject=f"Please acknowledge: {message.subject}"[:MAX_SUBJECT],
        body_md=(
            f"The operator reminds you: {sender} asked you to acknowledge message {message.id}, "
            f"{as_code(message.subject)}. You got it {minutes} minutes ago and have not.\n\n"
            f"Read it, then: `{call_text(call)}`"
        ),
        importance=Importance.HIGH,
        thread_id=thread_of(message.id, message.thread_id),
        is_private=message.is_private or owed.copy.kind is RecipientKind.BCC,
        reply_to=message.id,
    )
