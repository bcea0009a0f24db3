"""One project becomes part of another: every row that names the one names the other."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.adoption import AdoptionPlan
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.inbox_counts import RECOUNT

MAX_CLASHES = 50
"""Named in a refusal."""


class AdoptionRule(Enum):
    MOVE = "move"
    """Rows get the other id. Where one like it is there already, that is a bug."""

    MERGE = "merge"
    """Likewise, but where one like it is there already, that one stays and the other goes."""


PROJECT_COLUMNS: Mapping[tuple[str, str], AdoptionRule] = {
    ("agents", "project_id"): AdoptionRule.MOVE,
    ("commits", "project_id"): AdoptionRule.MOVE,
    ("content_projects", "project_id"): AdoptionRule.MERGE,
    ("digests", "project_id"): AdoptionRule.MOVE,
    ("dismissed_siblings", "project_id"): AdoptionRule.MERGE,
    ("dismissed_siblings", "sibling_id"): AdoptionRule.MERGE,
    ("guard_events", "project_id"): AdoptionRule.MOVE,
    ("imported", "project_id"): AdoptionRule.MOVE,
    ("join_codes", "project_id"): AdoptionRule.MOVE,
    ("leases", "project_id"): AdoptionRule.MOVE,
    ("message_projects", "project_id"): AdoptionRule.MERGE,
    ("messages", "project_id"): AdoptionRule.MOVE,
    ("outbox", "project_id"): AdoptionRule.MOVE,
    ("product_projects", "project_id"): AdoptionRule.MERGE,
    ("project_aliases", "project_id"): AdoptionRule.MOVE,
    ("project_contents", "project_id"): AdoptionRule.MERGE,
    ("stale_aliases", "project_id"): AdoptionRule.MERGE,
    ("wire_names", "project_id"): AdoptionRule.MOVE,
    ("windows", "project_id"): AdoptionRule.MERGE,
}
"""Every column that refers to a project. A test compares it with the schema: whoever adds one decides."""

AGENT_COLUMNS: Mapping[tuple[str, str], AdoptionRule] = {
    ("contacts", "source_id"): AdoptionRule.MERGE,
    ("contacts", "target_id"): AdoptionRule.MERGE,
    ("content_parties", "agent_id"): AdoptionRule.MERGE,
    ("feed", "about_id"): AdoptionRule.MOVE,
    ("feed", "agent_id"): AdoptionRule.MOVE,
    ("guard_events", "reporter_id"): AdoptionRule.MOVE,
    ("hook_sessions", "agent_id"): AdoptionRule.MOVE,
    ("idempotency_keys", "agent_id"): AdoptionRule.MERGE,
    ("issued_tokens", "agent_id"): AdoptionRule.MOVE,
    ("join_codes", "agent_id"): AdoptionRule.MOVE,
    ("leases", "agent_id"): AdoptionRule.MOVE,
    ("messages", "sender_id"): AdoptionRule.MOVE,
    ("outbox", "agent_id"): AdoptionRule.MOVE,
    ("pops", "agent_id"): AdoptionRule.MERGE,
    ("recipients", "agent_id"): AdoptionRule.MERGE,
    ("web_sessions", "issued_to"): AdoptionRule.MOVE,
    ("recipients", "sender_id"): AdoptionRule.MOVE,
    ("wire_ids", "recipient_id"): AdoptionRule.MERGE,
    ("wire_ids", "sender_id"): AdoptionRule.MOVE,
    ("wire_names", "agent_id"): AdoptionRule.MOVE,
}
"""Every column that refers to an agent: `Human` and `System` of both projects become one each."""

# Names that doors know agents by count too: nobody could tell which of two is meant.
_NAMES = """
    SELECT name FROM (
        SELECT s.name, s.name_key FROM agents s JOIN agents d ON d.project_id = :target AND d.name_key = s.name_key
        WHERE s.project_id = :source AND s.kind = 'agent'
        UNION SELECT s.name, s.name_key FROM wire_names s
        JOIN wire_names d ON d.project_id = :target AND d.name_key = s.name_key WHERE s.project_id = :source
        UNION SELECT s.name, s.name_key FROM wire_names s
        JOIN agents d ON d.project_id = :target AND d.name_key = s.name_key AND d.kind = 'agent'
        WHERE s.project_id = :source
        UNION SELECT s.name, s.name_key FROM agents s
        JOIN wire_names d ON d.project_id = :target AND d.name_key = s.name_key
        WHERE s.project_id = :source AND s.kind = 'agent') AS clashing
    GROUP BY name_key ORDER BY name_key LIMIT :limit
"""
# A thread with a message that is mail of both is one conversation already.
_THREADS = """
    SELECT DISTINCT s.thread_id FROM message_projects s
    WHERE s.project_id = :source AND s.thread_id IS NOT NULL
      AND EXISTS (SELECT 1 FROM message_projects d WHERE d.project_id = :target AND d.thread_id = s.thread_id)
      AND NOT EXISTS (
        SELECT 1 FROM message_projects a JOIN message_projects b USING (message_id)
        WHERE a.project_id = :source AND a.thread_id = s.thread_id AND b.project_id = :target)
    ORDER BY s.thread_id LIMIT :limit
"""
_COUNTS = """
    SELECT (SELECT count(*) FROM agents WHERE project_id = :source AND kind = 'agent'),
           (SELECT count(*) FROM message_projects WHERE project_id = :source),
           (SELECT count(*) FROM leases WHERE project_id = :source AND released_ts IS NULL AND expires_ts > :now),
           (SELECT count(*) FROM contacts c JOIN agents a ON a.id IN (c.source_id, c.target_id)
            WHERE a.project_id = :source)
"""
_INVOLVED = """
    WITH involved (message_id) AS (
        SELECT id FROM messages WHERE project_id = :source
        UNION SELECT r.message_id FROM recipients r JOIN agents a ON a.id = r.agent_id WHERE a.project_id = :source)
"""
_NEIGHBOURS = f"""
    {_INVOLVED},
    linked (source, target) AS (
        SELECT s.project_id, t.project_id FROM contacts c
        JOIN agents s ON s.id = c.source_id JOIN agents t ON t.id = c.target_id)
    SELECT project_id FROM (
        SELECT m.project_id FROM involved i JOIN messages m ON m.id = i.message_id
        UNION SELECT a.project_id FROM involved i JOIN recipients r ON r.message_id = i.message_id
              JOIN agents a ON a.id = r.agent_id
        UNION SELECT target FROM linked WHERE source = :source
        UNION SELECT source FROM linked WHERE target = :source) AS neighbours
    WHERE project_id NOT IN (:source, :target) ORDER BY project_id
"""
_RESIDENTS = """
    SELECT s.id, d.id FROM agents s JOIN agents d ON d.project_id = :target AND d.kind = s.kind
    WHERE s.project_id = :source AND s.kind <> 'agent' ORDER BY s.id
"""
# A message that was mail of both became it when the first copy came.
_KEEP_FIRST = """
    UPDATE message_projects AS d
    SET delivered_ts = min(d.delivered_ts, s.delivered_ts), is_late = min(d.is_late, s.is_late),
        delivery_seq = min(d.delivery_seq, s.delivery_seq)
    FROM message_projects s
    WHERE d.project_id = :target AND s.project_id = :source AND s.message_id = d.message_id
"""
_KEEP_STEPS = """
    UPDATE recipients AS d SET read_ts = coalesce(d.read_ts, s.read_ts), ack_ts = coalesce(d.ack_ts, s.ack_ts)
    FROM recipients s WHERE d.agent_id = :target AND s.agent_id = :source AND s.message_id = d.message_id
"""
# What was summed up before is no summary of both: kept, but no longer given out as the newest.
_OUTDATE_DIGESTS = "UPDATE digests SET newest_id = 0 WHERE project_id IN (:source, :target)"
# Of all at once: what is mail of the project has changed for each of its agents.
_COUNT_INBOXES = f"{RECOUNT} WHERE project_id = :target"
_SCOPES = """
    SELECT id, scope FROM messages
    WHERE id > ? AND id IN (
        SELECT id FROM messages WHERE project_id = ?
        UNION SELECT message_id FROM message_projects WHERE project_id = ?
        UNION SELECT r.message_id FROM recipients r JOIN agents a ON a.id = r.agent_id WHERE a.project_id = ?)
    ORDER BY id LIMIT 500
"""
_UNINDEX = """
    INSERT INTO messages_fts (messages_fts, rowid, subject, body_md, scope)
    SELECT 'delete', id, subject, body_md, scope FROM messages_searchable WHERE id = ?
"""
_INDEX = """
    INSERT INTO messages_fts (rowid, subject, body_md, scope)
    SELECT id, subject, body_md, scope FROM messages_searchable WHERE id = ?
"""
# What is read again of where it came from goes on in the project that there is.
_MOVE_IMPORTED = "UPDATE imported SET number = :target WHERE kind = 'projects' AND number = :source"
# Names of code are kept by project, and only text says of which.
_MOVE_NAMES = "UPDATE OR IGNORE identifiers SET scope = ? WHERE scope = ?"
_DROP_NAMES = "DELETE FROM identifiers WHERE scope = ?"


class Adoption:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def plan(self, source: ProjectId, target: ProjectId, now: Micros) -> AdoptionPlan:
        """What an adoption would move (counts), and what stands against it: neighbours, the first clashing names."""
        ids = {"source": source, "target": target}
        limit = {"limit": MAX_CLASHES}
        agents, messages, leases, contacts = self._connection.execute(_COUNTS, ids | {"now": now}).fetchone()
        return AdoptionPlan(
            agents=agents,
            messages=messages,
            live_leases=leases,
            contacts=contacts,
            neighbours=tuple(ProjectId(row[0]) for row in self._connection.execute(_NEIGHBOURS, ids)),
            clashing_names=tuple(row[0] for row in self._connection.execute(_NAMES, ids | limit)),
            clashing_threads=tuple(row[0] for row in self._connection.execute(_THREADS, ids | limit)),
        )

    def move(self, source: ProjectId, target: ProjectId) -> None:
        """Everything of `source` is of `target` afterwards, and `source` is gone. Clashes are looked for before."""
        ids = {"source": source, "target": target}
        residents = self._connection.execute(_RESIDENTS, ids).fetchall()
        self._rename_scopes(source, target, residents)
        self._connection.execute(_KEEP_FIRST, ids)
        self._connection.execute(_OUTDATE_DIGESTS, ids)
        for old, new in residents:
            self._merge_resident(AgentId(old), AgentId(new))
        for (table, column), rule in PROJECT_COLUMNS.items():
            self._change(table, column, rule, source, target)
        self._connection.execute(_MOVE_IMPORTED, ids)
        self._connection.execute(_MOVE_NAMES, (f"p{target}.", f"p{source}."))
        self._connection.execute(_DROP_NAMES, (f"p{source}.",))
        self._connection.execute(_COUNT_INBOXES, ids)
        self._connection.execute("DELETE FROM projects WHERE id = ?", (source,))

    def _merge_resident(self, old: AgentId, new: AgentId) -> None:
        self._connection.execute(
            "DELETE FROM contacts WHERE source_id IN (?1, ?2) AND target_id IN (?1, ?2)", (old, new)
        )
        self._connection.execute(_KEEP_STEPS, {"source": old, "target": new})
        for (table, column), rule in AGENT_COLUMNS.items():
            self._change(table, column, rule, old, new)
        self._connection.execute("DELETE FROM agents WHERE id = ?", (old,))

    def _change(self, table: str, column: str, rule: AdoptionRule, old: int, new: int) -> None:
        how = "UPDATE" if rule is AdoptionRule.MOVE else "UPDATE OR IGNORE"
        self._connection.execute(f"{how} {table} SET {column} = ? WHERE {column} = ?", (new, old))
        if rule is AdoptionRule.MERGE:
            self._connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (old,))

    def _rename_scopes(self, source: ProjectId, target: ProjectId, residents: list[tuple[int, int]]) -> None:
        """Who may find a message stands in the full-text index, which follows only when it is told."""
        names = {f"p{source}": f"p{target}"} | {f"b{old}": f"b{new}" for old, new in residents}
        after = MessageId(0)
        while rows := self._connection.execute(_SCOPES, (after, source, source, source)).fetchall():
            for message_id, scope in rows:
                changed = " ".join(dict.fromkeys(names.get(word, word) for word in scope.split()))
                if changed != scope:
                    self._connection.execute(_UNINDEX, (message_id,))
                    self._connection.execute("UPDATE messages SET scope = ? WHERE id = ?", (changed, message_id))
                    self._connection.execute(_INDEX, (message_id,))
            after = MessageId(rows[-1][0])
