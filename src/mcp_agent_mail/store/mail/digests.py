"""Digests, the newest of each project, and what models cost on a day."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.summaries.digests import Digest, NewDigest
from mcp_agent_mail.store.engine.port import Connection

KEPT_PER_PROJECT = 1_000
PRUNE_LOT = 100
KEPT_DAYS = 400

_COLUMNS = """id, summary_text, start_ts, end_ts, source_message_count, source_thread_ids, llm_model, cost_usd,
       created_ts"""
_ADD = """
INSERT INTO digests (project_id, newest_id, newest_ts, span, max_messages, summary_text, start_ts, end_ts,
                     source_message_count, source_thread_ids, llm_model, cost_usd, created_ts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
"""
_PRUNE = """
DELETE FROM digests WHERE id IN (
    SELECT id FROM digests WHERE project_id = ? ORDER BY created_ts DESC, id DESC LIMIT ? OFFSET ?
)
"""
_FIND = f"""
SELECT {_COLUMNS} FROM digests INDEXED BY digests_newest
WHERE project_id = ? AND newest_id = ? AND newest_ts = ? AND span = ? AND max_messages = ? AND llm_model IS ?
ORDER BY id DESC LIMIT 1
"""
_LIST = f"""
SELECT {_COLUMNS} FROM digests INDEXED BY digests_project
WHERE project_id = ? AND created_ts > ? ORDER BY created_ts DESC, id DESC LIMIT ?
"""
_SPENT = "SELECT cost_usd FROM llm_spending WHERE day = ?"
_SPEND = """
INSERT INTO llm_spending (day, cost_usd, calls) VALUES (:day, :cost, 1)
ON CONFLICT (day) DO UPDATE SET cost_usd = cost_usd + excluded.cost_usd, calls = calls + 1
"""
_FORGET = "DELETE FROM llm_spending WHERE day < ?"


class Digests:
    def __init__(self, connection: Connection, *, kept: int = KEPT_PER_PROJECT) -> None:
        self._connection = connection
        self._kept = kept

    def add(self, new: NewDigest, now: Micros) -> Digest:
        """Store a digest, and drop at most `PRUNE_LOT` of those beyond the project's newest."""
        values = (
            *(new.project_id, new.newest.message_id, new.newest.delivered_ts, new.span, new.max_messages),
            *(new.summary_text, new.start_ts, new.end_ts, new.source_message_count),
            *(json.dumps(list(new.source_thread_ids)), new.llm_model, new.cost_usd, now),
        )
        (digest_id,) = self._connection.execute(_ADD, values).fetchone()
        self._connection.execute(_PRUNE, (new.project_id, PRUNE_LOT, self._kept))
        return Digest(
            id=digest_id,
            summary_text=new.summary_text,
            start_ts=new.start_ts,
            end_ts=new.end_ts,
            source_message_count=new.source_message_count,
            source_thread_ids=new.source_thread_ids,
            llm_model=new.llm_model,
            cost_usd=new.cost_usd,
            created_ts=now,
        )

    def find(self, like: NewDigest) -> Digest | None:
        """One that was made of the same mail for the same question, by the same model."""
        key = (like.project_id, like.newest.message_id, like.newest.delivered_ts, like.span, like.max_messages)
        row = self._connection.execute(_FIND, (*key, like.llm_model)).fetchone()
        return None if row is None else _digest(row)

    def list_since(self, project_id: ProjectId, since: Micros, *, limit: int) -> list[Digest]:
        """The project's digests stored after `since`, newest first."""
        return [_digest(row) for row in self._connection.execute(_LIST, (project_id, since, limit))]


class LlmSpending:
    """What models cost, by day (days since 1970, UTC): it outlives the server, or a restart would renew the budget."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of_day(self, day: int) -> float:
        row = self._connection.execute(_SPENT, (day,)).fetchone()
        return 0.0 if row is None else float(row[0])

    def add(self, day: int, cost_usd: float) -> None:
        self._connection.execute(_SPEND, {"day": day, "cost": cost_usd})
        self._connection.execute(_FORGET, (day - KEPT_DAYS,))


def _digest(row: Sequence[Any]) -> Digest:
    """From a row of `_COLUMNS`. (Any: SQLite's rows are untyped.)"""
    return Digest(
        id=row[0],
        summary_text=row[1],
        start_ts=row[2],
        end_ts=row[3],
        source_message_count=row[4],
        source_thread_ids=json.loads(row[5]),
        llm_model=row[6],
        cost_usd=row[7],
        created_ts=row[8],
    )
