"""What a client's hook may tell an agent of its mail, and when: in each session of the client a message once.

The server gives a message to one hook; the hook confirms once it has printed it. What is given and never confirmed is
counted as unread and not given to that session again: nobody knows whether it was printed. (docs/adr/0156)
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.escaping import printable
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.domain.messages import Importance

STOP_TOPIC = "stop"
"""An urgent message of this topic refuses the next tool call, where the client can."""

MAX_STOPS = 3
STOPS_WITHIN_S = 60.0
"""So many calls of one session are refused within that time; what asks to stop besides is told as an item. Human's are
not bound.
"""

MAX_ITEMS = 3
"""Messages that one event is given."""

MAX_SESSIONS = 200
"""Of one agent that are remembered of those that were heard with proof, and as many of the others. Beyond, of the same
kind the one that was given something longest ago is forgotten.
"""

MAX_GIVEN = 1_000
"""Messages that are remembered of one session. Beyond, it is told of counts alone."""

MOST_MORE = 1_000
"""So far it is counted how many more may be told."""

MAX_LINE = 200
MAX_STOP_TEXT = 600
LINE_LOOKED_AT = 4_000
"""Characters of a body in which its first line with words is looked for."""


class ImportanceBound(StrEnum):
    """The lowest importance that may be told at the event: after a tool, at the end of a turn, at the next turn."""

    URGENT = "urgent"
    HIGH = "high"
    ANY = "any"

    @property
    def order(self) -> tuple[Importance | None, ...]:
        """What is told first, and so on; None is all of lower importance than high."""
        return _ORDER[self]


_ORDER: dict[ImportanceBound, tuple[Importance | None, ...]] = {
    ImportanceBound.URGENT: (Importance.URGENT,),
    ImportanceBound.HIGH: (Importance.URGENT, Importance.HIGH),
    ImportanceBound.ANY: (Importance.URGENT, Importance.HIGH, None),
}


class StopRule(NamedTuple):
    """Whose mail refuses a call, besides Human's: that of `agents` of the same project, or only of those who had proven
    to be it (`proven`). Of others it is mail that may be told.
    """

    agents: bool
    proven: bool


class UnreadCopy(NamedTuple):
    """A copy that may be told: unread, neither withdrawn nor expired, and not given to the session before."""

    message_id: MessageId
    delivery_seq: int


class Announcement(NamedTuple):
    """A message as a hook tells of it. `is_verified`: its sender had proven to be it. `since_ts`: since when it is in
    the inbox. `beginning` is that of the body. `asks_stop`: it refuses a tool call where the client can.
    """

    id: MessageId
    sender: str
    project_id: ProjectId
    project_slug: str
    is_verified: bool
    since_ts: Micros
    importance: str
    subject: str
    ack_required: bool
    beginning: str
    asks_stop: bool


def age_s(since: Micros, now: Micros) -> int:
    """Whole seconds; none by a clock that was set back."""
    return max(0, now - since) // SECOND


def first_line(body: str) -> str:
    """The first line with words that show, MAX_LINE characters at most."""
    return next((line.strip()[:MAX_LINE] for line in body.splitlines() if printable(line).strip()), "")
