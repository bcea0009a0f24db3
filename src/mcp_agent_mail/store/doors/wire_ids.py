"""What came in by doors, and by which id: one message for each id, sender, recipient and message that it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.doors.ids import NO_BODY, NewWirePlace, WireMessage, WirePlace, body_digest, made_id
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.store.engine.port import Connection

_FIND = "SELECT external_id FROM wire_ids WHERE message_id = ? AND door = ?"
_IS_FROM_DOOR = "SELECT 1 FROM wire_ids WHERE message_id = ?"
_AT = """
SELECT message_id, body_hash FROM wire_ids INDEXED BY wire_ids_place
WHERE door = ? AND external_id = ? AND sender_id = ? AND recipient_id = ? AND answers = ?
"""
_ADD = """
INSERT INTO wire_ids (message_id, door, external_id, sender_id, recipient_id, answers, body_hash)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_FORGET_BODY = "UPDATE wire_ids SET body_hash = ? WHERE message_id = ?"
_HAD = """
EXISTS (SELECT 1 FROM recipients r WHERE r.message_id = {message} AND r.agent_id = :reader
        AND r.delivery_seq IS NOT NULL AND (r.read_ts IS NOT NULL OR EXISTS (
            SELECT 1 FROM pops p WHERE p.message_id = r.message_id AND p.agent_id = r.agent_id)))
"""
# From the newest on: what the reader has not had yet stands before the first that it has.
_NEWEST_HAD = f"""
SELECT w.message_id FROM wire_ids w INDEXED BY wire_ids_newest
WHERE w.door = :door AND w.external_id = :id AND w.sender_id = :sender AND w.recipient_id = :reader
  AND {_HAD.format(message="w.message_id")}
ORDER BY w.message_id DESC LIMIT 1
"""
# Of the newest letters: mailboxes are read in order, so what was had stands behind what waits.
_NEWEST_LETTER = """
SELECT message_id FROM (
    SELECT r.message_id, r.delivery_seq, r.read_ts FROM recipients r INDEXED BY recipients_sender
    WHERE r.agent_id = :reader AND r.sender_id = :sender AND r.delivery_seq IS NOT NULL
    ORDER BY r.delivery_seq DESC LIMIT 1000) AS newest
WHERE read_ts IS NOT NULL ORDER BY delivery_seq DESC LIMIT 1
"""
_HAS_HAD = f"SELECT 1 FROM messages m WHERE m.id = :message AND m.sender_id = :sender AND {_HAD.format(message='m.id')}"


class WireIds:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, message_id: MessageId, door: Door) -> str | None:
        """The id by which the message came in by this door; None where it came another way."""
        row = self._connection.execute(_FIND, (message_id, door.value)).fetchone()
        return None if row is None else row[0]

    def is_from_door(self, message_id: MessageId) -> bool:
        return self._connection.execute(_IS_FROM_DOOR, (message_id,)).fetchone() is not None

    def at(self, place: WirePlace) -> WireMessage | None:
        """What came in there."""
        row = self._connection.execute(_AT, _values(place)).fetchone()
        return None if row is None else WireMessage(message_id=MessageId(row[0]), body_hash=row[1])

    def add(self, message_id: MessageId, place: WirePlace, body_hash: bytes) -> None:
        """Where nothing came in before."""
        self._connection.execute(_ADD, (message_id, *_values(place), body_hash))

    def add_new(self, message_id: MessageId, sender_id: AgentId, new: NewWirePlace, body: str) -> WirePlace:
        """The place of a message that has its number now. An id that is made of it may have been chosen by somebody
        before it was: then the message answers itself, which no other does.
        """
        place = WirePlace(
            door=new.door,
            external_id=made_id(new.door, message_id) if new.chosen is None else new.chosen,
            sender_id=sender_id,
            recipient_id=new.recipient_id,
            answers=new.answers,
        )
        if new.chosen is None and self.at(place) is not None:
            place = replace(place, answers=message_id)
        self.add(message_id, place, body_digest(body))
        return place

    def forget_body(self, message_id: MessageId) -> None:
        """The message has been purged. Of one that came by no door there is nothing to forget."""
        self._connection.execute(_FORGET_BODY, (NO_BODY, message_id))

    def newest_had(self, door: Door, external_id: str, sender_id: AgentId, reader_id: AgentId) -> MessageId | None:
        """The newest message of this id from the sender that the reader has read, or was given at a door."""
        key = {"door": door.value, "id": external_id, "sender": sender_id, "reader": reader_id}
        row = self._connection.execute(_NEWEST_HAD, key).fetchone()
        return None if row is None else MessageId(row[0])

    def newest_read(self, sender_id: AgentId, reader_id: AgentId) -> MessageId | None:
        """The newest message from the sender that the reader has read, whichever way it came."""
        row = self._connection.execute(_NEWEST_LETTER, {"sender": sender_id, "reader": reader_id}).fetchone()
        return None if row is None else MessageId(row[0])

    def has_had(self, message_id: MessageId, sender_id: AgentId, reader_id: AgentId) -> bool:
        """Whether it is a message of this sender's that the reader has read, or was given at a door."""
        key = {"message": message_id, "sender": sender_id, "reader": reader_id}
        return self._connection.execute(_HAS_HAD, key).fetchone() is not None


def to_place(row: Sequence[Any]) -> WirePlace:
    """From the columns `door external_id sender_id recipient_id answers`. (Any: SQLite's rows are untyped.)"""
    door, external_id, sender_id, recipient_id, answers = row
    return WirePlace(
        door=Door(door),
        external_id=external_id,
        sender_id=AgentId(sender_id),
        recipient_id=AgentId(recipient_id),
        answers=answers,
    )


def _values(place: WirePlace) -> tuple[str, str, int, int, int]:
    return (place.door.value, place.external_id, place.sender_id, place.recipient_id, place.answers)
