"""The ladder at rest: which steps each recipient's copy of a message has taken, and how unread copies end.

A copy that is withdrawn unread leaves its inbox, and with it threads, search, waits and counts; its number stays in
`withdrawn_seq`. One that has expired stays listed, and is unread no more. What somebody has read stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.copy_readership import OpenEnds
from mcp_agent_mail.domain.ladder import CopyProgress, LadderStep
from mcp_agent_mail.domain.messages import RecipientKind, Terms
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.passed_ends import still_valid, true_end
from mcp_agent_mail.store.mail.successors import ended_blindly

_STEP_COLUMNS = {
    LadderStep.DELIVERED: "delivered_ts",
    LadderStep.HANDED_OVER: "handed_ts",
    LadderStep.SHOWN: "shown_ts",
    LadderStep.READ: "read_ts",
    LadderStep.ACKNOWLEDGED: "ack_ts",
    LadderStep.ANSWERED: "answered_ts",
    LadderStep.REFUSED: "refused_ts",
    LadderStep.EXPIRED: "expired_ts",
    LadderStep.WITHDRAWN: "withdrawn_ts",
}
_TIMES = ", ".join(true_end("r") if one == "expired_ts" else f"r.{one}" for one in _STEP_COLUMNS.values())
_COPIES = f"""
SELECT r.agent_id, a.name, a.project_id, p.slug, r.kind, {_TIMES}
FROM recipients r CROSS JOIN agents a ON a.id = r.agent_id CROSS JOIN projects p ON p.id = a.project_id
WHERE r.message_id = ? ORDER BY r.position, r.agent_id
"""
_ADD_TERMS = "INSERT INTO message_terms (message_id, valid_until_ts, supersedes) VALUES (?, ?, ?)"
_DRAW_TIME = "UPDATE counters SET value = max(value, ?) WHERE name = 'delivered_ts' RETURNING value"
_WITHDRAW = """
INSERT INTO message_terms (message_id, withdrawn_ts, withdrawn_reason) VALUES (:message, :at, :reason)
ON CONFLICT (message_id) DO UPDATE SET withdrawn_ts = excluded.withdrawn_ts,
    withdrawn_reason = excluded.withdrawn_reason
"""
# Whether a copy is counted as open is asked before its message leaves the mail of projects.
_UNREAD = """
SELECT r.message_id, r.agent_id, r.delivery_seq IS NOT NULL, r.delivery_seq IS NOT NULL AND r.expired_ts IS NULL,
       r.urgent, r.ack_required AND r.ack_ts IS NULL, r.kind <> 'bcc' AND EXISTS (
           SELECT 1 FROM agents a JOIN message_projects mp ON mp.project_id = a.project_id
           WHERE a.id = r.agent_id AND mp.message_id = r.message_id)
FROM recipients r
"""
_UNREAD_OF_MESSAGE = f"""
{_UNREAD} WHERE r.message_id = :message AND r.read_ts IS NULL AND r.withdrawn_ts IS NULL AND r.refused_ts IS NULL
"""
_UNREAD_OF = f"{_UNREAD_OF_MESSAGE} ORDER BY r.position, r.agent_id"
_DUE = f"""
{_UNREAD.replace("FROM recipients r", "FROM recipients r INDEXED BY recipients_valid")}
WHERE r.valid_until_ts IS NOT NULL AND r.valid_until_ts <= :now AND r.read_ts IS NULL AND r.expired_ts IS NULL
  AND r.withdrawn_ts IS NULL AND r.refused_ts IS NULL
ORDER BY r.valid_until_ts, r.message_id, r.agent_id LIMIT :limit
"""
_DUE_OF = f"""
{_UNREAD_OF_MESSAGE} AND r.expired_ts IS NULL AND r.valid_until_ts <= :now
ORDER BY r.position, r.agent_id
"""
_EARLIEST = """
SELECT min(valid_until_ts) FROM recipients INDEXED BY recipients_valid
WHERE valid_until_ts IS NOT NULL AND read_ts IS NULL AND expired_ts IS NULL AND withdrawn_ts IS NULL
  AND refused_ts IS NULL
"""
_EXPIRE = "UPDATE recipients SET expired_ts = valid_until_ts WHERE message_id = ? AND agent_id = ?"
_LEAVE = """
UPDATE recipients SET withdrawn_ts = ?, withdrawn_seq = delivery_seq, delivery_seq = NULL
WHERE message_id = ? AND agent_id = ?
"""
_WITHDRAWN_AFTER_READING = """
UPDATE recipients SET withdrawn_ts = :at
WHERE message_id = :message AND read_ts IS NOT NULL AND withdrawn_ts IS NULL
"""
_SUPERSEDED = """
SELECT o.message_id, o.agent_id, n.message_id FROM message_terms t
CROSS JOIN recipients n ON n.message_id = t.message_id AND n.delivery_seq IS NOT NULL
CROSS JOIN recipients o ON o.message_id = t.supersedes AND o.agent_id = n.agent_id
WHERE t.message_id = ? AND t.supersedes IS NOT NULL AND o.superseded_by IS NULL
ORDER BY n.delivery_seq
"""
_REPLACED_BY = "UPDATE recipients SET superseded_by = ? WHERE message_id = ? AND agent_id = ?"
# What was read stays as it is. The successor that came first is noted on the copy; an open one may follow.
_ENDED_BLINDLY = """
SELECT r.agent_id, r.valid_until_ts, (SELECT withdrawn_ts FROM message_terms WHERE message_id = r.message_id), (
    SELECT min(o.delivered_ts) FROM message_terms t INDEXED BY message_terms_supersedes
    CROSS JOIN recipients o ON o.message_id = t.message_id AND o.agent_id = r.agent_id
    WHERE t.supersedes = r.message_id AND o.kind <> 'bcc')
FROM recipients r CROSS JOIN recipients n ON n.message_id = r.superseded_by AND n.agent_id = r.agent_id
WHERE r.message_id = ? AND r.superseded_by IS NOT NULL AND r.read_ts IS NULL AND n.kind = 'bcc'
"""
# Not those whose message had been taken back before.
_REPLACED = """
SELECT r.agent_id, r.superseded_by, r.withdrawn_ts FROM recipients r
LEFT JOIN message_terms t ON t.message_id = r.message_id
WHERE r.message_id = ? AND r.superseded_by IS NOT NULL AND r.withdrawn_ts IS NOT NULL
  AND (t.withdrawn_ts IS NULL OR r.withdrawn_ts < t.withdrawn_ts)
"""
_CLOSE = f"""
DELETE FROM message_projects WHERE message_id = :message AND (
    EXISTS (SELECT 1 FROM message_terms WHERE message_id = :message AND withdrawn_ts IS NOT NULL)
    OR NOT EXISTS (
        SELECT 1 FROM recipients r
        WHERE r.message_id = :message AND (r.delivery_seq IS NOT NULL OR {ended_blindly("r")})))
"""
_COUNT = """
UPDATE agents SET unread_count = unread_count - ?, urgent_unread_count = urgent_unread_count - ?,
    open_unread_count = open_unread_count - ?, ack_pending_count = ack_pending_count - ?, inbox_count = inbox_count - ?
WHERE id = ?
"""
# By a clock that was set back nothing comes before what it follows.
_HAND_OVER = """
UPDATE recipients SET handed_ts = max(:at, coalesce(delivered_ts, 0))
WHERE message_id = :message AND agent_id = :agent AND handed_ts IS NULL
  AND coalesce(delivery_seq, withdrawn_seq) IS NOT NULL
"""
_SHOW = """
UPDATE recipients SET shown_ts = max(:at, handed_ts)
WHERE message_id = :message AND agent_id = :agent AND shown_ts IS NULL AND handed_ts IS NOT NULL
"""
_IS_DELIVERED = "SELECT 1 FROM recipients WHERE message_id = ? AND agent_id = ? AND delivery_seq IS NOT NULL"

EXPIRED_AT_ONCE = 200
"""Copies that one unit of work ends, with what feeds and archives are told of it: 40 to 100 ms that others wait."""

GONE_AT_ONCE = 200
"""Copies whose readers are gone that one unit of work tells of: about 10 ms."""

# Copies that somebody waits for: urgent ones (high too), and those that ask for an acknowledgement. Two statements, so
# that each goes along the index of what it looks for.
_GONE = """
SELECT message_id, agent_id FROM recipients INDEXED BY {index}
WHERE agent_id = ? AND delivery_seq IS NOT NULL AND {mark} = 1 AND read_ts IS NULL AND expired_ts IS NULL {more}
  AND {valid}
  AND gone_ts IS NULL
ORDER BY delivery_seq LIMIT ?
"""
_KINDS_GONE = (
    _GONE.format(index="recipients_urgent_unread", mark="urgent", more="", valid=still_valid()),
    _GONE.format(index="recipients_unacked", mark="ack_required", more="AND ack_ts IS NULL", valid=still_valid()),
)
_WAITED_FOR = """
SELECT id FROM agents
WHERE project_id = ? AND id >= ? AND (urgent_unread_count > 0 OR ack_pending_count > 0) ORDER BY id LIMIT ?
"""
_NOTE_GONE = "UPDATE recipients SET gone_ts = ? WHERE message_id = ? AND agent_id = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderCopy:
    """One recipient's copy of a message, and how far it has come."""

    agent_id: AgentId
    name: str
    project_id: ProjectId
    project_slug: str
    kind: RecipientKind
    progress: CopyProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyWithdrawal:
    """Of an unread copy that another message replaced: which, and when."""

    by: MessageId
    withdrawn_ts: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """An unread copy that ends, and what its recipient's counts held of it."""

    message_id: MessageId
    agent_id: AgentId
    is_delivered: bool
    is_unread: bool
    is_urgent: bool
    wants_ack: bool
    is_open: bool

    def counted(self, *, leaves: bool) -> tuple[int, ...]:
        """By how much each count of its inbox falls, and whose."""
        unread = int(self.is_unread)
        return (
            unread,
            unread and int(self.is_urgent),
            unread and int(self.is_open),
            unread and int(self.wants_ack),
            int(leaves and self.is_delivered),
            self.agent_id,
        )


class Ladder:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def copies(self, message_id: MessageId) -> list[LadderCopy]:
        """Of all recipients, blind and held ones too, in the order addressed."""
        return [_copy(row) for row in self._connection.execute(_COPIES, (message_id,))]

    def ended_blindly(self, message_id: MessageId) -> dict[AgentId, OpenEnds]:
        """Whose unread copies ended by a successor that came to their readers blindly, and how they would have ended
        without it.
        """
        found = self._connection.execute(_ENDED_BLINDLY, (message_id,))
        return {
            agent_id: OpenEnds(valid_until=until, withdrawn=min((at for at in ends if at is not None), default=None))
            for agent_id, until, *ends in found
        }

    def replacements(self, message_id: MessageId) -> dict[AgentId, CopyWithdrawal]:
        """Of the message's copies that were withdrawn because another message replaced them, by whose they were."""
        return {
            AgentId(agent_id): CopyWithdrawal(by=MessageId(by), withdrawn_ts=Micros(at))
            for agent_id, by, at in self._connection.execute(_REPLACED, (message_id,))
        }

    def delivered_to(self, agent_id: AgentId, message_ids: Iterable[MessageId]) -> list[MessageId]:
        """Those of the messages that lie in the agent's inbox, in their order."""
        return [one for one in message_ids if self._connection.execute(_IS_DELIVERED, (one, agent_id)).fetchone()]

    def add_terms(self, message_id: MessageId, terms: Terms) -> None:
        """Of a new message, before anybody has read it."""
        self._connection.execute(_ADD_TERMS, (message_id, terms.valid_until, terms.supersedes))

    def withdraw(self, message_id: MessageId, now: Micros, reason: str | None) -> Micros:
        """End every copy that nobody has read, held ones too; those that were read say so. Once for each message.
        Gives the time: like that of a delivery it never falls, whatever the clock.
        """
        (at,) = self._connection.execute(_DRAW_TIME, (now,)).fetchone()
        self._connection.execute(_WITHDRAW, {"message": message_id, "at": at, "reason": reason})
        self._leave(self._unread_of(message_id), at)
        self._connection.execute(_WITHDRAWN_AFTER_READING, {"message": message_id, "at": at})
        self._close(message_id)
        return Micros(at)

    def supersede(self, message_ids: Sequence[MessageId], at: Micros) -> None:
        """Of the messages that these replace, end the unread copies of those to whom these have been delivered, and
        note on the others by which they are replaced. Messages that replace nothing change nothing.
        """
        by_message: dict[MessageId, set[AgentId]] = {}
        for message_id in message_ids:
            for old_id, agent_id, new_id in self._connection.execute(_SUPERSEDED, (message_id,)).fetchall():
                self._connection.execute(_REPLACED_BY, (new_id, old_id, agent_id))
                by_message.setdefault(old_id, set()).add(agent_id)
        for old_id, agents in by_message.items():
            self._leave([one for one in self._unread_of(old_id) if one.agent_id in agents], at)
            self._close(old_id)

    def expire_due(self, now: Micros, limit: int = EXPIRED_AT_ONCE) -> list[MessageId]:
        """End up to `limit` unread copies whose time has passed; the messages that they are of."""
        return self._expire(self._connection.execute(_DUE, {"now": now, "limit": limit}).fetchall())

    def expire_of(self, message_id: MessageId, now: Micros) -> list[MessageId]:
        """The same of all copies of one message."""
        return self._expire(self._connection.execute(_DUE_OF, {"message": message_id, "now": now}).fetchall())

    def _expire(self, rows: Sequence[Any]) -> list[MessageId]:  # Any: SQLite's rows are untyped
        due = [_ending(row) for row in rows]
        self._connection.executemany(_EXPIRE, [(one.message_id, one.agent_id) for one in due])
        self._connection.executemany(_COUNT, [one.counted(leaves=False) for one in due])
        return list(dict.fromkeys(one.message_id for one in due))

    def earliest_expiry(self) -> Micros | None:
        """When the next unread copy expires; None where none ever does."""
        (earliest,) = self._connection.execute(_EARLIEST).fetchone()
        return None if earliest is None else Micros(earliest)

    def hand_over(self, agent_id: AgentId, message_ids: Iterable[MessageId], at: Micros) -> None:
        """Answers with these have left the process. The first time stands; what was never delivered stays as it is."""
        self._each(_HAND_OVER, agent_id, message_ids, at)

    def show(self, agent_id: AgentId, message_ids: Iterable[MessageId], at: Micros) -> None:
        """It is proven that the agent got those answers. The first time stands; what was not handed over is not
        shown.
        """
        self._each(_SHOW, agent_id, message_ids, at)

    def tell_gone(self, agent_id: AgentId, at: Micros, limit: int) -> int:
        """Tell senders, once for each copy, that the agent is gone with their mail unread: of up to `limit` copies that
        are urgent or ask for an acknowledgement. How many; fewer than `limit` is all.
        """
        told = 0
        for kind in _KINDS_GONE:
            found = self._connection.execute(kind, (agent_id, limit - told)).fetchall()
            self._connection.executemany(_NOTE_GONE, [(at, *copy) for copy in found])
            told += len(found)
        return told

    def tell_gone_in(self, project_id: ProjectId, at: Micros, limit: int, begin: AgentId) -> AgentId | None:
        """The same of the project's agents from `begin` on, by id, and of up to `limit` of them. Where to go on; None
        when all are told of.
        """
        told = 0
        agents = self._connection.execute(_WAITED_FOR, (project_id, begin, limit + 1)).fetchall()
        for (agent_id,) in agents[:limit]:
            told += self.tell_gone(agent_id, at, limit - told)
            if told >= limit:
                return AgentId(agent_id)
        return AgentId(agents[limit][0]) if len(agents) > limit else None

    def _each(self, sql: str, agent_id: AgentId, message_ids: Iterable[MessageId], at: Micros) -> None:
        self._connection.executemany(
            sql, [{"message": message_id, "agent": agent_id, "at": at} for message_id in message_ids]
        )

    def _unread_of(self, message_id: MessageId) -> list[_Ending]:
        return [_ending(row) for row in self._connection.execute(_UNREAD_OF, {"message": message_id}).fetchall()]

    def _leave(self, copies: Sequence[_Ending], at: Micros) -> None:
        self._connection.executemany(_LEAVE, [(at, one.message_id, one.agent_id) for one in copies])
        self._connection.executemany(_COUNT, [one.counted(leaves=True) for one in copies])

    def _close(self, message_id: MessageId) -> None:
        """What is withdrawn, or lies in no inbox any more, is no project's mail; but that it left one blindly shows
        nowhere.
        """
        self._connection.execute(_CLOSE, {"message": message_id})


def _copy(row: Sequence[Any]) -> LadderCopy:  # Any: SQLite's rows are untyped
    times = zip(_STEP_COLUMNS, row[5:], strict=True)
    return LadderCopy(
        agent_id=row[0],
        name=row[1],
        project_id=row[2],
        project_slug=row[3],
        kind=RecipientKind(row[4]),
        progress=CopyProgress(steps={step: Micros(at) for step, at in times if at is not None}),
    )


def _ending(row: Sequence[Any]) -> _Ending:
    message_id, agent_id, *flags = row
    delivered, unread, urgent, ack, is_open = map(bool, flags)
    return _Ending(
        message_id=message_id,
        agent_id=agent_id,
        is_delivered=delivered,
        is_unread=unread,
        is_urgent=urgent,
        wants_ack=ack,
        is_open=is_open,
    )
