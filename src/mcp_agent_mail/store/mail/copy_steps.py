"""The steps that a recipient takes with its copy of a message: it reads, acknowledges and answers it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations
from typing import NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.ladder import LadderStep
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.passed_ends import still_valid, true_end

# All that a step asks of a copy. Whether others may count it matters for one that is still unread.
_COPY = f"""
SELECT r.read_ts, r.ack_ts, r.answered_ts, r.expired_ts, r.kind, {true_end("r")},
       r.expired_ts IS NULL AND {still_valid("r")}, r.urgent, r.ack_required,
       r.read_ts IS NULL AND r.kind <> 'bcc' AND EXISTS (
           SELECT 1 FROM agents a JOIN message_projects mp ON mp.project_id = a.project_id
           WHERE a.id = r.agent_id AND mp.message_id = r.message_id),
       (SELECT instr(' ' || m.scope || ' ', ' p' || m.project_id || ' ') = 0 FROM messages m WHERE m.id = r.message_id)
FROM recipients r WHERE r.message_id = ? AND r.agent_id = ? AND r.delivery_seq IS NOT NULL
"""
# One statement for all steps of a copy: the trigger of the feed tells of them up the ladder, whatever their order here.
_TIMES = ("read_ts", "ack_ts", "answered_ts")
_TAKE = {
    some: f"UPDATE recipients SET {' = :now, '.join(some)} = :now WHERE message_id = :message AND agent_id = :agent"
    for count in range(1, len(_TIMES) + 1)
    for some in combinations(_TIMES, count)
}
# Two statements: who waits for mail is woken wherever `unread_count` is set.
_COUNT_READ = """
UPDATE agents SET unread_count = unread_count - ?, urgent_unread_count = urgent_unread_count - ?,
    open_unread_count = open_unread_count - ?, ack_pending_count = ack_pending_count - ?
WHERE id = ?
"""
_COUNT_ACKNOWLEDGED = "UPDATE agents SET ack_pending_count = ack_pending_count - ? WHERE id = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingState:
    """What a recipient did with a message. `changed`: this call made it true. `expired_ts`: unread by then, it can
    only be answered. `is_private`: the message is no project's mail.
    """

    read_ts: Micros | None
    ack_ts: Micros | None
    changed: bool
    kind: RecipientKind
    expired_ts: Micros | None = None
    is_private: bool = False


class _Copy(NamedTuple):
    """A row of `_COPY`. `ended_ts`: when it expired, also where that is not written down yet."""

    read_ts: Micros | None
    ack_ts: Micros | None
    answered_ts: Micros | None
    expired_ts: Micros | None
    kind: str
    ended_ts: Micros | None
    may_be_read: int
    is_urgent: int
    wants_ack: int
    is_open: int
    is_private: int

    def steps_of(self, wanted: Collection[LadderStep]) -> tuple[str, ...]:
        """The columns that these steps fill. An expired copy becomes read by its answer alone; what is unread cannot be
        acknowledged.
        """
        is_answer = LadderStep.ANSWERED in wanted
        reads = self.read_ts is None and bool(self.may_be_read or is_answer)
        acknowledges = LadderStep.ACKNOWLEDGED in wanted and self.ack_ts is None
        return (
            *(("read_ts",) if reads else ()),
            *(("ack_ts",) if acknowledges and (reads or self.read_ts is not None) else ()),
            *(("answered_ts",) if is_answer and self.answered_ts is None else ()),
        )

    def counted(self, taken: Collection[str]) -> tuple[int, int, int, int]:
        """By how much the unread, urgent, open and waiting of its inbox fall. What has expired is counted no more."""
        if self.expired_ts is not None:
            return 0, 0, 0, 0
        unread = int("read_ts" in taken)
        return unread, unread and self.is_urgent, unread and self.is_open, int("ack_ts" in taken) and self.wants_ack

    def state(self, taken: Collection[str], now: Micros, last: str) -> ReadingState:
        is_read = "read_ts" in taken
        return ReadingState(
            read_ts=now if is_read else self.read_ts,
            ack_ts=now if "ack_ts" in taken else self.ack_ts,
            changed=last in taken,
            kind=RecipientKind(self.kind),
            expired_ts=self.expired_ts if is_read else self.ended_ts,
            is_private=bool(self.is_private),
        )


def find_state(connection: Connection, agent_id: AgentId, message_id: MessageId) -> ReadingState | None:
    """What the agent did with the message; None for an agent that is no recipient."""
    row = connection.execute(_COPY, (message_id, agent_id)).fetchone()
    return None if row is None else _Copy._make(row).state((), Micros(0), "")


def take_steps(
    connection: Connection,
    agent_id: AgentId,
    message_ids: Iterable[MessageId],
    now: Micros,
    wanted: Collection[LadderStep],
) -> dict[MessageId, ReadingState]:
    """Take these steps, of which READ is always one, with each of the messages that were delivered to the agent; the
    others are absent. First times stand for good. `changed` is of the acknowledgement where that is wanted, else of
    the reading.
    """
    last = "ack_ts" if LadderStep.ACKNOWLEDGED in wanted else "read_ts"
    states: dict[MessageId, ReadingState] = {}
    falls = []
    any_read = False
    for message_id in dict.fromkeys(message_ids):
        row = connection.execute(_COPY, (message_id, agent_id)).fetchone()
        if row is None:
            continue
        copy = _Copy._make(row)
        taken = copy.steps_of(wanted)
        if taken:
            connection.execute(_TAKE[taken], {"now": now, "message": message_id, "agent": agent_id})
            falls.append(copy.counted(taken))
            any_read = any_read or "read_ts" in taken
        states[message_id] = copy.state(taken, now, last)
    if falls:  # The agent's counts, which others wait for, change once for all of the messages.
        *of_unread, waiting = map(sum, zip(*falls, strict=True))
        if any_read:
            connection.execute(_COUNT_READ, (*of_unread, waiting, agent_id))
        elif waiting:
            connection.execute(_COUNT_ACKNOWLEDGED, (waiting, agent_id))
    return states
