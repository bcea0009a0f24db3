"""What doors call messages. Each door has ids of a form of its own; the same message has the same one each time.

An id that nobody chose is made of the number of the message, and the number can be read back: so nothing has to be
kept of it, and a store that is rebuilt of its archives calls its messages as before.
"""

from __future__ import annotations

import hashlib
import re
from uuid import UUID

from mcp_agent_mail.core.errors import Conflict, InvalidInput
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.doors.names import Door

MAX_WIRE_ID = 256
"""Characters of an id that a sender chooses."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LENGTH = 8
_SPACE = len(_DIGITS) ** _LENGTH
# Odd, no multiple of 31, and near the golden part of the space: neighbours look nothing alike.
_STRIDE = 134_942_066_120_389
_BACK = pow(_STRIDE, -1, _SPACE)
_BASE62 = re.compile(r"[0-9A-Za-z]{8}")
_INTEGER = lazy_pattern(r"[1-9][0-9]{0,18}")
_UUID = lazy_pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_NUMBER_BITS = 62


@dataclass(frozen=True, slots=True, kw_only=True)
class WirePlace:
    """Of one place there is one message. `answers` is the newest message of the same id that its sender had had from
    the recipient, 0 for none: so an answer may have the id of what it answers, in both directions, for ever.
    """

    door: Door
    external_id: str
    sender_id: AgentId
    recipient_id: AgentId
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWirePlace:
    """Where a message is about to come in. `chosen` is an id of which its sender has seen to it that the place is
    free; without one it is made of the number that the message gets.
    """

    door: Door
    recipient_id: AgentId
    chosen: str | None = None
    answers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WireMessage:
    """What came in at a place, and the digest of its body: none (`NO_BODY`) where that was purged."""

    message_id: MessageId
    body_hash: bytes


NO_BODY = bytes(32)
"""In the place of a digest: what was said is not to be guessed at."""


class UnfitWireId(InvalidInput):
    """An id that no message can have."""


class IdTaken(Conflict):
    """The same id, from the same sender to the same recipient in answer to the same message, with another content."""


def made_id(door: Door, message_id: MessageId) -> str:
    """The id of a message for which nobody has chosen one. Numbers from 1 up to 2^47 have one at every door."""
    if door is Door.CLAUDE_MAILBOX:
        return str(message_id)
    if door is Door.AGENTMAIL:
        return _base62(message_id)
    return _uuid(message_id)


def number_of(door: Door, external_id: str) -> MessageId | None:
    """The number of which `made_id` makes this id; None for any other text."""
    if door is Door.CLAUDE_MAILBOX:
        return MessageId(int(external_id)) if _INTEGER.fullmatch(external_id) else None
    if door is Door.AGENTMAIL:
        return _number_of_base62(external_id)
    return _number_of_uuid(external_id)


def require_wire_id(text: str | None) -> str | None:
    """An id that a sender has chosen, as it is; None where none was. Raises UnfitWireId."""
    if not text:
        return None
    if is_wire_id(text):
        return text
    raise UnfitWireId(
        f"The id has {len(text)} characters." if len(text) > MAX_WIRE_ID else "The id holds what is no text.",
        hint=f"Give one of at most {MAX_WIRE_ID} characters, or none to be given one.",
        data={"parameter": "msg_id", "max_length": MAX_WIRE_ID},
    )


def is_wire_id(text: str) -> bool:
    """Whether a message can have it, as it stands: what is kept of ids."""
    is_text = "\x00" not in text and not any("\ud800" <= one <= "\udfff" for one in text)
    return 0 < len(text) <= MAX_WIRE_ID and is_text


def body_digest(body: str) -> bytes:
    """By which a repeat is known."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).digest()


def _base62(message_id: int) -> str:
    number = message_id * _STRIDE % _SPACE
    digits = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))


def _number_of_base62(text: str) -> MessageId | None:
    if not _BASE62.fullmatch(text):
        return None
    number = 0
    for one in text:
        number = number * len(_DIGITS) + _DIGITS.index(one)
    found = number * _BACK % _SPACE
    return MessageId(found) if found > 0 else None


def _uuid(message_id: int) -> str:
    """A UUID of version 8: its last 62 bits are the number, the others a hash of it."""
    hashed = int.from_bytes(hashlib.sha256(b"door id %d" % message_id).digest()[:8], "big")
    high = hashed & ~0xF000 | 0x8000
    low = message_id & ((1 << _NUMBER_BITS) - 1) | 1 << 63
    return str(UUID(int=high << 64 | low))


def _number_of_uuid(text: str) -> MessageId | None:
    if not _UUID.fullmatch(text):
        return None
    number = UUID(text).int & ((1 << _NUMBER_BITS) - 1)
    return MessageId(number) if number > 0 and _uuid(number) == text else None
