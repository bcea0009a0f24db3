"""The oldest message of a mailbox, given to one caller: its for as long as the answer is under way, read once that was
written, and the next one's where it was not.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.ids import made_id
from mcp_agent_mail.domain.doors.names import Door, shown_to
from mcp_agent_mail.domain.doors.texts import shown_text
from mcp_agent_mail.domain.messages import Message, ReceiptStep
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.doors.correspondents import full_name
from mcp_agent_mail.features.doors.names import DoorActor, find_agent, is_nobodys, is_shut
from mcp_agent_mail.features.doors.results import Pending, Popped
from mcp_agent_mail.features.doors.told_names import Tells
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.door_callers import require_unbound
from mcp_agent_mail.features.messaging.receipts import mark_own
from mcp_agent_mail.store.doors.pops import Head
from mcp_agent_mail.store.transaction import Tx, View

MAX_TAKEN = 5_000
MAX_TAKEN_CHARACTERS = 1024 * 1024
"""As much as one message may have: what a client takes slowly is nobody else's meanwhile."""


def take(tx: Tx, speaker: DoorActor, door: Door) -> Popped | None:
    """The head of the speaker's mailbox. None where nothing waits that is nobody's."""
    head = tx.pops.head(speaker.actor.agent.id)
    return None if head is None else _give(tx, speaker, door, head)


def take_all(tx: Tx, speaker: DoorActor, door: Door) -> list[Popped]:
    """All that wait and are nobody's, oldest first: as many as one answer may hold, MAX_TAKEN and MAX_TAKEN_CHARACTERS,
    and one in any case. The rest waits for the next call.
    """
    taken: list[Popped] = []
    characters = 0
    for head in tx.pops.heads(speaker.actor.agent.id, MAX_TAKEN):
        popped = _give(tx, speaker, door, head)
        characters += len(popped.body)
        if taken and characters > MAX_TAKEN_CHARACTERS:
            give_back(tx, popped)
            break
        taken.append(popped)
    return taken


def _give(tx: Tx, speaker: DoorActor, door: Door, head: Head) -> Popped:
    agent = speaker.actor.agent
    tx.pops.give(head, agent.id, door, tx.now)
    message = tx.messages.find(head.message_id)
    assert message is not None, head
    return Popped(
        id=tx.wire_ids.find(message.id, door) or made_id(door, message.id),
        sender=sender_shown(tx, door, message, speaker.actor.project),
        body=shown_text(message.subject, message.body_md, is_from_door=tx.wire_ids.is_from_door(message.id)),
        created_ts=head.since_ts,
        message_id=message.id,
        agent_id=agent.id,
        door=door,
        popped_ts=tx.now,
    )


def sender_shown(view: View, door: Door, message: Message, home: Project) -> str:
    """The name that the door knows, else the native one; of an agent of another project its full name."""
    if message.project_id == home.id:
        return shown_to(door, view.wire_names.of_agent(message.sender_id)) or message.sender_name
    sender = view.agents.find(message.sender_id)
    assert sender is not None, message
    return full_name(view, sender, home.id)


def settle(tx: Tx, taken: Sequence[Popped]) -> list[Popped]:
    """The answer that had these of one mailbox was written: they are read, as by their recipient. Those that were still
    this caller's; nothing changes of the others.
    """
    still = [popped for popped in taken if tx.pops.end(popped.message_id, popped.agent_id, popped.popped_ts)]
    if still:
        mark_own(tx, _reader(tx, still[0]), [popped.message_id for popped in still], ReceiptStep.READ)
    return still


def _reader(view: View, popped: Popped) -> Actor:
    agent = view.agents.find(popped.agent_id)
    project = None if agent is None else view.projects.find(agent.project_id)
    assert agent is not None, popped
    assert project is not None, popped
    return Actor(agent=agent, project=project)


def give_back(tx: Tx, popped: Popped) -> bool:
    """It is the next one's again. False where it was not this caller's any more."""
    return tx.pops.end(popped.message_id, popped.agent_id, popped.popped_ts)


def count_pending(view: View, project: Project | None, name: str, tells: Tells) -> Pending:
    """Of a name that nobody has there is none, and of one that who looks is not told of."""
    agent = None if project is None or is_nobodys(view, project, name) else find_agent(view, project, name)
    if agent is None or not tells(agent):
        return Pending(count=0, oldest_ts=None)
    head = view.pops.head(agent.id)
    return Pending(count=view.pops.count_waiting(agent.id), oldest_ts=None if head is None else head.since_ts)


def find_idle(view: View, project: Project, door: Door, name: str) -> Agent | None:
    """The agent of the name, where a look has nothing to write: it is the door's own, open, has not retired, and
    nothing waits. Raises WrongToken.
    """
    known = view.wire_names.find(project.id, name)
    if known is None or known.owner is not door:
        return None
    agent = view.agents.find(known.agent_id)
    if agent is None or agent.is_retired or is_shut(agent):
        return None
    require_unbound(view, agent)
    return None if view.pops.head(agent.id) is not None else agent
