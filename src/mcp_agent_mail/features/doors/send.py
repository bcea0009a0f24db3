"""One message in by a door: name, id, decision and insert stand or fall in one unit of work."""

from __future__ import annotations

from typing import Protocol

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.agents import Agent, ContactPolicy
from mcp_agent_mail.domain.contacts import SenderDeclined
from mcp_agent_mail.domain.doors.ids import (
    NO_BODY,
    IdTaken,
    NewWirePlace,
    WireMessage,
    WirePlace,
    body_digest,
    number_of,
)
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.doors.texts import subject_of
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.doors.names import DoorActor
from mcp_agent_mail.features.doors.requests import DoorSendRequest
from mcp_agent_mail.features.doors.results import DoorSent
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.idempotency import Replay
from mcp_agent_mail.features.identity.lookup import name_that_leads
from mcp_agent_mail.features.messaging.requests import RecipientList, SendRequest
from mcp_agent_mail.features.messaging.send import Sent
from mcp_agent_mail.store.transaction import Tx, View


class MailboxFull(Conflict):
    """It holds as many unread messages as it may; reading makes room."""


class SendAs(Protocol):
    """`MessagingService.send_as`."""

    def __call__(
        self, tx: Tx, sender: Actor, request: SendRequest, brought: None, to: Agent | None
    ) -> Sent | Replay: ...


def send(
    tx: Tx, speaker: DoorActor, recipient: Agent, request: DoorSendRequest, door: Door, send_as: SendAs
) -> DoorSent:
    """Send it, unless it is there. Raises IdTaken, MailboxFull, SenderDeclined also for a repeat of what was held and
    is refused by now, and what a send raises.
    """
    sender = speaker.actor.agent
    answered = _find_answered(tx, door, request.external_id, sender.id, recipient.id)
    if request.external_id is not None:
        place = _place(door, request.external_id, sender, recipient, answered or 0)
        if (there := tx.wire_ids.at(place)) is not None:
            return _repeat(tx, place, there, body_digest(request.body))
    _require_room(tx, recipient, request)
    home = speaker.actor.project
    sent = send_as(
        tx,
        speaker.actor,
        SendRequest(
            project_key=home.human_key,
            sender_name=sender.name,
            recipients=RecipientList(to=(_address(tx, home, recipient),)),
            subject=subject_of(request.body),
            body_md=request.body,
            reply_to=_find_letter(tx, sender, recipient) if answered is None else answered,
            wire_place=NewWirePlace(
                door=door, recipient_id=recipient.id, chosen=request.external_id, answers=answered or 0
            ),
        ),
        None,
        recipient if recipient.project_id == home.id else None,
    )
    assert isinstance(sent, Sent), sent  # A request without a key of its own is no repeat.
    assert sent.message is not None, sent
    message, came_in = sent.message, sent.message.wire_place
    assert came_in is not None, sent
    return DoorSent(id=came_in.external_id, message_id=message.id, created_ts=message.created_ts, held=bool(sent.held))


def _find_letter(view: View, sender: Agent, recipient: Agent) -> MessageId | None:
    """What this is an answer to where its sender cannot say so, and where it matters: who has begun a conversation has
    agreed to be answered.
    """
    is_at_home = recipient.project_id == sender.project_id
    if recipient.contact_policy is ContactPolicy.OPEN or (
        is_at_home and recipient.contact_policy is ContactPolicy.AUTO
    ):
        return None
    return view.wire_ids.newest_read(recipient.id, sender.id)


def _address(view: View, home: Project, recipient: Agent) -> str:
    if recipient.project_id == home.id:
        return recipient.name  # It is known who is meant.
    project = view.projects.find(recipient.project_id)
    assert project is not None, recipient
    return shown_name(name_that_leads(view, recipient), project.id, project.slug, home.id)


def _place(door: Door, external_id: str, sender: Agent, recipient: Agent, answers: int) -> WirePlace:
    return WirePlace(
        door=door, external_id=external_id, sender_id=sender.id, recipient_id=recipient.id, answers=answers
    )


def _find_answered(
    view: View, door: Door, external_id: str | None, sender_id: AgentId, recipient_id: AgentId
) -> MessageId | None:
    """The newest message of this id that the sender has had from the recipient, also where nobody chose its id. Nobody
    answers themselves: what they send again is the message that they have read.
    """
    if external_id is None or sender_id == recipient_id:
        return None
    found = view.wire_ids.newest_had(door, external_id, recipient_id, sender_id)
    made = number_of(door, external_id)
    if made is not None and view.wire_ids.has_had(made, recipient_id, sender_id):
        return made if found is None else max(made, found)
    return found


def _repeat(view: View, place: WirePlace, there: WireMessage, digest: bytes) -> DoorSent:
    if there.body_hash not in (digest, NO_BODY):
        raise IdTaken(
            f"A message with the id {place.external_id!r:.100} was sent there already, with other content.",
            hint="Nothing was sent. Use another id, or none to be given one.",
            data={"parameter": "msg_id", "id": place.external_id},
        )
    copies = (one for one in view.messages.recipients(there.message_id) if one.agent_id == place.recipient_id)
    message, copy = view.messages.find(there.message_id), next(copies, None)
    assert message is not None, there
    if copy is not None and copy.refused_ts is not None:
        raise SenderDeclined(
            f"{copy.name} has refused the message with the id {place.external_id!r:.100}.",
            hint="Only the recipient can change that: leave it out.",
            data={"parameter": "msg_id", "id": place.external_id, "message_id": there.message_id},
        )
    return DoorSent(
        id=place.external_id,
        message_id=there.message_id,
        created_ts=message.created_ts,
        held=view.held.is_held(there.message_id, place.recipient_id),
        is_repeat=True,
    )


def _require_room(view: View, recipient: Agent, request: DoorSendRequest) -> None:
    if not request.mailbox_max:
        return
    unread = view.inboxes.counts(recipient.id).unread
    if unread >= request.mailbox_max:
        raise MailboxFull(
            f"Mailbox of {request.to.strip()} is full ({unread} unread).",
            hint="Nothing was sent. Send again once some of it is read.",
            data={"name": request.to.strip(), "unread": unread, "max": request.mailbox_max},
        )
