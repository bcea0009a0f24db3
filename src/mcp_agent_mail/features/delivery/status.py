"""What became of each copy of a message, for those who may know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace

from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.copy_readership import may_know_of_copy, progress_beside
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind
from mcp_agent_mail.domain.identity.readership import READING_MAIL, require_reader
from mcp_agent_mail.domain.ladder import LadderStep
from mcp_agent_mail.domain.messages import Message
from mcp_agent_mail.domain.presence import Presence
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.delivery.requests import StatusRequest
from mcp_agent_mail.features.identity.actor import Actor, require_actor_in
from mcp_agent_mail.features.messaging.visibility import (
    UnknownMessage,
    is_visible_from,
    is_visible_to,
    unknown_message,
    unseen_message,
)
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.ladder import LadderCopy
from mcp_agent_mail.store.transaction import View

MAX_COPIES = 1_000
"""Of one answer; the counts are of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStatus:
    """As seen from `project`. `counts` by status, and `total`, are of all copies that the reader may know of; `copies`
    are the first MAX_COPIES of them, in the order addressed; `presences` tells of their readers just now. `reader` is
    the agent that asks, if it is known; `hint` is how it may see more.
    """

    message_id: MessageId
    project: Project
    copies: list[LadderCopy]
    total: int
    counts: Mapping[str, int]
    reader: Actor | None
    hint: str | None = None
    presences: Mapping[AgentId, Presence] = field(default_factory=dict)


def read_status(view: View, caller: Caller, request: StatusRequest) -> MessageStatus:
    """The sender sees all copies, blind ones and those that wait for approval only once it is proven. Others see the
    open ones that were delivered, and their own. Raises UnknownMessage for what the caller may not see.
    """
    require_reader(caller, READING_MAIL)
    project = require_project(view, request.project_key)
    reader = _reader(view, caller, project, request.agent_name)
    message = view.messages.find(request.message_id)
    if message is None or not _is_seen(view, caller, project, message, request, reader):
        if reader is None:
            raise _unseen_by_nobody(request.message_id)
        raise unseen_message(view, request.message_id, reader.agent)
    copies = shown_copies(view, message, reader)
    return MessageStatus(
        message_id=message.id,
        project=project,
        copies=copies[:MAX_COPIES],
        total=len(copies),
        counts=Counter(copy.progress.status for copy in copies),
        reader=reader,
        hint=hint_to_prove(caller, message, reader),
    )


def hint_to_prove(caller: Caller, message: Message, reader: Actor | None) -> str | None:
    """What a sender that is taken at its word can do to see all copies: the same for every message, whether it has
    others or not.
    """
    if reader is None or reader.verified or reader.agent.id != message.sender_id:
        return None
    return (
        "Blind and held copies, if there are any, are shown to the proven sender alone: "
        f"send your registration_token {caller.token_ways}."
    )


def shown_copies(view: View, message: Message, reader: Actor | None) -> list[LadderCopy]:
    """Those copies of a message that the reader may know of, in the order addressed."""
    is_sender = reader is not None and reader.verified and reader.agent.id == message.sender_id
    own = None if reader is None else reader.agent.id
    shown = [
        copy
        for copy in view.ladder.copies(message.id)
        if may_know_of_copy(
            copy.kind,
            is_delivered=LadderStep.DELIVERED in copy.progress.steps,
            is_own=copy.agent_id == own,
            is_proven_sender=is_sender,
        )
    ]
    return shown if is_sender else _without_blind_successors(view, message, shown, own)


def _without_blind_successors(
    view: View, message: Message, copies: list[LadderCopy], own: AgentId | None
) -> list[LadderCopy]:
    """A copy that a blind successor ended stands as it would without it, but to its own reader."""
    ends = view.ladder.ended_blindly(message.id)
    return [
        copy
        if copy.agent_id == own or copy.agent_id not in ends
        else replace(copy, progress=progress_beside(copy.progress, ends[copy.agent_id], view.now))
        for copy in copies
    ]


def _reader(view: View, caller: Caller, project: Project, agent_name: str | None) -> Actor | None:
    """Naming an agent is acting as it; without a name it is the agent that a token proves."""
    if agent_name is not None:
        return require_actor_in(view, caller, project, agent_name)
    if caller.kind is not CallerKind.AGENT or caller.agent_id is None:
        return None
    agent = view.agents.find(caller.agent_id)
    return None if agent is None else Actor(agent=agent, project=project, verified=True)


def _is_seen(
    view: View, caller: Caller, project: Project, message: Message, request: StatusRequest, reader: Actor | None
) -> bool:
    """With the eyes of the agent that is named, whoever looks through them: the operator may name any."""
    if reader is not None and (request.agent_name is not None or is_visible_to(view, message, reader.agent)):
        return is_visible_to(view, message, reader.agent)
    return is_visible_from(view, caller, message, project)


def _unseen_by_nobody(message_id: MessageId) -> UnknownMessage:
    """The same for every message: of what was taken back, is held or private, its parties alone may know."""
    refusal = unknown_message(message_id)
    return refusal.reworded(
        hint=f"If you sent it or got it, name yourself in agent_name. {refusal.hint}", data=refusal.data
    )
