"""What hooks were given at rest: per session of a client, which messages it was given, printed, and is proven to have.

Rows are numbered as deliveries are, and go when the feed of that time goes. A session keeps the number up to which they
went: so nothing is told in it again.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.hooks.announcements import (
    LINE_LOOKED_AT,
    MAX_GIVEN,
    MAX_SESSIONS,
    STOP_TOPIC,
    Announcement,
    ImportanceBound,
    StopRule,
    UnreadCopy,
)
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.domain.presence import SessionName
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.passed_ends import still_valid

_SESSION = "SELECT id FROM hook_sessions WHERE agent_id = ? AND session_hash = ?"
# A session that was given nothing yet has no row, and no number.
_NOT_GIVEN = """
  AND r.delivery_seq > coalesce((SELECT passed_seq FROM hook_sessions WHERE id = :session), 0)
  AND NOT EXISTS (SELECT 1 FROM announcements g WHERE g.session_id = :session AND g.message_id = r.message_id)
"""
_UNREAD = f"""
FROM recipients r INDEXED BY {{index}} CROSS JOIN messages m ON m.id = r.message_id
CROSS JOIN agents s ON s.id = m.sender_id
WHERE r.agent_id = :agent AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL AND r.expired_ts IS NULL
  AND {still_valid("r")} {_NOT_GIVEN}
"""
_UNREAD_URGENT = _UNREAD.format(index="recipients_urgent_unread") + " AND r.urgent = 1 AND m.importance = :importance"
_IS_STOP = f"""(r.topic_key = '{STOP_TOPIC}' AND r.topic_key IS NOT NULL AND m.importance = 'urgent'
    AND (s.kind = 'human' OR m.project_id = (SELECT project_id FROM agents WHERE id = :agent)))"""
_REFUSES = f"({_IS_STOP} AND (s.kind = 'human' OR :agents AND (m.is_verified OR NOT :proven)))"
_PAGE = "ORDER BY r.delivery_seq LIMIT :limit"
_AFTER = "AND r.delivery_seq > :after"
_TELLABLE_URGENT = f"""
SELECT r.message_id, r.delivery_seq {_UNREAD_URGENT} {_AFTER}
  AND NOT (:without_stops AND coalesce({_REFUSES}, 0)) {_PAGE}
"""
_TELLABLE_OTHERS = f"""
SELECT r.message_id, r.delivery_seq {_UNREAD.format(index="recipients_unread")} {_AFTER} AND r.urgent = 0 {_PAGE}
"""
_STOP = f"SELECT r.message_id, r.delivery_seq {_UNREAD_URGENT} AND {_REFUSES} {_PAGE}"
_ANNOUNCED = f"""
SELECT m.id, s.name, m.project_id, p.slug, m.is_verified OR m.is_system OR s.kind = 'human',
       CASE WHEN r.held_code IS NULL THEN min(m.created_ts, r.delivered_ts) ELSE r.delivered_ts END,
       m.importance, m.subject, m.ack_required, substr(ltrim(m.body_md, char(9, 10, 13, 32)), 1, {LINE_LOOKED_AT}),
       coalesce({_IS_STOP}, 0)
FROM messages m CROSS JOIN agents s ON s.id = m.sender_id CROSS JOIN projects p ON p.id = m.project_id
CROSS JOIN recipients r ON r.message_id = m.id AND r.agent_id = :agent
WHERE m.id = :message
"""
_COUNT_GIVEN = "SELECT count(*) FROM announcements WHERE session_id = ?"
# The last of an agent is last whatever the clock says.
_OPEN_SESSION = """
INSERT INTO hook_sessions (agent_id, session_hash, is_proven, last_ts)
VALUES (:agent, :hash, :is_proven,
        max(:now, 1 + coalesce((SELECT max(last_ts) FROM hook_sessions WHERE agent_id = :agent), 0)))
ON CONFLICT (agent_id, session_hash) DO UPDATE SET last_ts = excluded.last_ts RETURNING id
"""
_OLDEST_SESSIONS = """
SELECT id FROM hook_sessions INDEXED BY hook_sessions_last WHERE agent_id = ? AND is_proven = ? AND id <> ?
ORDER BY last_ts DESC, id DESC LIMIT -1 OFFSET ?
"""
_FORGET_GIVEN = "DELETE FROM announcements WHERE session_id = ?"
_FORGET_SESSION = "DELETE FROM hook_sessions WHERE id = ?"
# What is unread no more is told no more, whether it is remembered or not.
_FORGET_ENDED = """
DELETE FROM announcements WHERE session_id = :session AND shown_ts IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM recipients r JOIN hook_sessions h ON h.agent_id = r.agent_id
    WHERE h.id = :session AND r.message_id = announcements.message_id AND r.delivery_seq IS NOT NULL
      AND r.read_ts IS NULL AND r.expired_ts IS NULL)
"""
_GIVE = """
INSERT INTO announcements (session_id, message_id, delivery_seq, claim, given_ts) VALUES (?, ?, ?, ?, ?)
"""
_CLAIMED = """
SELECT message_id, told_ts IS NULL FROM announcements WHERE session_id = ? AND claim = ? ORDER BY message_id
"""
_TOLD = "UPDATE announcements SET told_ts = ? WHERE session_id = ? AND claim = ? AND told_ts IS NULL"
_UNSHOWN = """
SELECT message_id FROM announcements INDEXED BY announcements_told
WHERE session_id = ? AND told_ts IS NOT NULL AND shown_ts IS NULL ORDER BY message_id
"""
_SHOWN = """
UPDATE announcements SET shown_ts = ? WHERE session_id = ? AND told_ts IS NOT NULL AND shown_ts IS NULL
"""
_OLD = """
SELECT session_id, message_id FROM announcements INDEXED BY announcements_seq
WHERE delivery_seq <= ? ORDER BY delivery_seq, session_id LIMIT ?
"""
_PASS = "UPDATE hook_sessions SET passed_seq = max(passed_seq, ?) WHERE id = ?"
_FORGET = "DELETE FROM announcements WHERE session_id = ? AND message_id = ?"


class Announcements:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find_session(self, agent_id: AgentId, name: SessionName) -> int | None:
        """None for a session that was given nothing yet, or is forgotten."""
        row = self._connection.execute(_SESSION, (agent_id, name.hash)).fetchone()
        return None if row is None else row[0]

    def tellable(
        self,
        agent_id: AgentId,
        session_id: int | None,
        least: ImportanceBound,
        limit: int,
        *,
        without_stops: StopRule | None,
        after_seq: int = 0,
    ) -> list[UnreadCopy]:
        """What may be told to the session by `least`, urgent mail first, then high, each in the order of delivery;
        `without_stops` leaves out what would refuse a tool call by this rule, `after_seq` what was delivered up to it.
        """
        rule = without_stops or StopRule(agents=False, proven=False)
        found: list[UnreadCopy] = []
        for importance in least.order:
            key = {
                "agent": agent_id,
                "session": session_id,
                "importance": None if importance is None else importance.value,
                "limit": limit - len(found),
                "without_stops": without_stops is not None,
                "after": after_seq,
                **rule._asdict(),
            }
            sql = _TELLABLE_OTHERS if importance is None else _TELLABLE_URGENT
            found += [UnreadCopy._make(row) for row in self._connection.execute(sql, key)]
            if len(found) >= limit:
                break
        return found

    def find_stop(self, agent_id: AgentId, session_id: int | None, rule: StopRule) -> UnreadCopy | None:
        """The oldest unread message that the session was not given and that refuses a tool call: urgent, of the topic
        `stop`, of Human or, by the rule, an agent of the same project.
        """
        key = {"agent": agent_id, "session": session_id, "importance": Importance.URGENT.value, "limit": 1}
        row = self._connection.execute(_STOP, {**key, **rule._asdict()}).fetchone()
        return None if row is None else UnreadCopy._make(row)

    def mail(self, agent_id: AgentId, message_ids: Sequence[MessageId]) -> list[Announcement]:
        """The agent's copies of these, in their order, as hooks tell of them."""
        keys = ({"agent": agent_id, "message": one} for one in message_ids)
        rows = [self._connection.execute(_ANNOUNCED, key).fetchone() for key in keys]
        return [
            Announcement(
                id=row[0],
                sender=row[1],
                project_id=ProjectId(row[2]),
                project_slug=row[3],
                is_verified=bool(row[4]),
                since_ts=row[5],
                importance=row[6],
                subject=row[7],
                ack_required=bool(row[8]),
                beginning=row[9],
                asks_stop=bool(row[10]),
            )
            for row in rows
        ]

    def room(self, session_id: int | None) -> int:
        """How many more messages the session can be given. None is one that was given nothing yet."""
        return MAX_GIVEN if session_id is None else max(0, MAX_GIVEN - self._given(session_id))

    def make_room(self, session_id: int) -> None:
        """Forget, of a session that was given MAX_GIVEN, what is unread no more and settled."""
        if self._given(session_id) >= MAX_GIVEN:
            self._connection.execute(_FORGET_ENDED, {"session": session_id})

    def _given(self, session_id: int) -> int:
        (given,) = self._connection.execute(_COUNT_GIVEN, (session_id,)).fetchone()
        return int(given)

    def give(
        self, agent_id: AgentId, name: SessionName, messages: Sequence[UnreadCopy], claim: str, now: Micros
    ) -> None:
        """Note that the session has these, which it was not given before; of the agent's sessions of its kind
        MAX_SESSIONS stay, and of the other kind all.
        """
        key = {"agent": agent_id, "hash": name.hash, "is_proven": name.is_proven, "now": now}
        (session_id,) = self._connection.execute(_OPEN_SESSION, key).fetchone()
        rows = [(session_id, one.message_id, one.delivery_seq, claim, now) for one in messages]
        self._connection.executemany(_GIVE, rows)
        rest = (agent_id, name.is_proven, session_id, MAX_SESSIONS - 1)
        oldest = self._connection.execute(_OLDEST_SESSIONS, rest).fetchall()
        self._connection.executemany(_FORGET_GIVEN, oldest)
        self._connection.executemany(_FORGET_SESSION, oldest)

    def confirm(self, session_id: int, claim: str, now: Micros) -> list[MessageId] | None:
        """Note that what the session was given by this claim is printed; which of it was not noted before. None for a
        claim that is not the session's.
        """
        rows = self._connection.execute(_CLAIMED, (session_id, claim)).fetchall()
        if not rows:
            return None
        self._connection.execute(_TOLD, (now, session_id, claim))
        return [MessageId(message_id) for message_id, is_new in rows if is_new]

    def unshown(self, session_id: int) -> list[MessageId]:
        """What the session has printed and is not proven to have got."""
        return [MessageId(found) for (found,) in self._connection.execute(_UNSHOWN, (session_id,))]

    def show(self, session_id: int, now: Micros) -> None:
        """It is proven to have got all of `unshown`."""
        self._connection.execute(_SHOWN, (now, session_id))

    def forget(self, up_to: int, limit: int) -> bool:
        """Drop up to `limit` rows of what was delivered up to this number; whether there may be more. Sessions that
        lose some are told of nothing that old.
        """
        rows = self._connection.execute(_OLD, (up_to, limit)).fetchall()
        self._connection.executemany(_PASS, [(up_to, one) for one in {session_id for session_id, _ in rows}])
        self._connection.executemany(_FORGET, rows)
        return len(rows) == limit
