"""The SQL of a search's rows, put together of what the search asks for: a filter that is not asked for costs nothing.

Who may see a message is decided here a second time, by the tables.
"""

from __future__ import annotations

from typing import NamedTuple

from mcp_agent_mail.domain.search.query import Filters, SearchScope

RANKED_CHARACTERS = 4_096
"""So much of a body is ranked and searched for a snippet."""

_TAKES_PART = """(m.sender_id = :agent OR EXISTS (
    SELECT 1 FROM recipients r WHERE r.message_id = m.id AND r.agent_id = :agent AND r.delivery_seq IS NOT NULL))"""
_WHOLE_PROJECT = f"(mp.message_id IS NOT NULL OR {_TAKES_PART})"
_OWN_ALONE = f"(mp.message_id IS NOT NULL AND {_TAKES_PART})"
_COLUMNS = f"""SELECT m.id, m.subject, m.importance, m.ack_required, m.created_ts, m.thread_id, a.name, m.project_id,
    p.slug, m.body_bytes, mp.project_id,
    CASE WHEN m.body_bytes > {RANKED_CHARACTERS} THEN substr(m.body_md, 1, {RANKED_CHARACTERS}) ELSE m.body_md END"""
_SENDERS = "JOIN agents a ON a.id = m.sender_id JOIN projects p ON p.id = m.project_id"
_OF_ONE = "LEFT JOIN message_projects mp ON mp.project_id = :project AND mp.message_id = m.id"
# Mail of several of the projects is shown as its sender's, else as the oldest project's.
_OF_MANY = """LEFT JOIN message_projects mp ON mp.message_id = m.id AND mp.project_id = (
    SELECT coalesce(max(CASE WHEN x.project_id = m.project_id THEN x.project_id END), min(x.project_id))
    FROM json_each(:projects) one CROSS JOIN message_projects x ON x.project_id = one.value AND x.message_id = m.id)"""
_FEW = "json_each(:ids) few CROSS JOIN messages_fts ON messages_fts.rowid = few.value"
_FILTERS = {
    "since_ts": "coalesce(mp.delivered_ts, m.created_ts) > :since",
    "importance": "m.importance = :importance",
    "is_system": "m.is_system = :is_system",
    "thread_id": "(m.thread_id = :thread OR m.id = :root)",
    "sender_id": "m.sender_id = :sender",
    "senders": "instr(:senders, ',' || m.sender_id || ',') > 0",
    "topic": "mp.topic_key = :topic",
    "begin_ts": "m.created_ts >= :begin",
    "end_ts": "m.created_ts < :end",
    "recipients": """EXISTS (
        SELECT 1 FROM recipients r WHERE r.message_id = m.id AND r.delivery_seq IS NOT NULL
          AND (r.kind <> 'bcc' OR :with_blind) AND instr(:recipients, ',' || r.agent_id || ',') > 0)""",
    "participant_id": """(m.sender_id = :participant OR EXISTS (
        SELECT 1 FROM recipients r
        WHERE r.message_id = m.id AND r.agent_id = :participant AND r.delivery_seq IS NOT NULL
          AND (r.kind <> 'bcc' OR :with_blind OR m.sender_id = :agent)))""",
}


class FoundRow(NamedTuple):
    """A message that the index and the tables both show."""

    id: int
    subject: str
    importance: str
    ack_required: int
    created_ts: int
    thread_id: str | None
    sender_name: str
    sender_project_id: int
    sender_project_slug: str
    body_bytes: int
    project_id: int | None
    beginning: str


def _filtering(filters: Filters) -> list[str]:
    return [condition for name, condition in _FILTERS.items() if getattr(filters, name) is not None]


def rows_sql(reader: SearchScope, filters: Filters, *, among: bool = False, oldest_first: bool = False) -> str:
    """Gives at most `:limit` messages that `:match` finds, of ids from `:low` to `:high`, as columns of FoundRow; with
    `among` of those in `:ids` alone, each of which is looked at by itself.
    """
    conditions = ["messages_fts MATCH :match", "messages_fts.rowid BETWEEN :low AND :high"]
    conditions.append(_WHOLE_PROJECT if reader.whole_project else _OWN_ALONE)
    conditions += _filtering(filters)
    return f"""{_COLUMNS} FROM {_FEW if among else "messages_fts"}
CROSS JOIN messages m ON m.id = messages_fts.rowid {_SENDERS}
{_OF_MANY if reader.more_projects else _OF_ONE}
WHERE {" AND ".join(conditions)}
ORDER BY messages_fts.rowid {"ASC" if oldest_first else "DESC"} LIMIT :limit"""


_NEWEST_MAIL = """(
    SELECT message_id AS id FROM message_projects WHERE project_id = :project AND message_id BETWEEN :low AND :high
    ORDER BY message_id DESC LIMIT :walked) AS project_mail"""
_OWN_MAIL = """(
    SELECT id FROM messages INDEXED BY messages_sender WHERE sender_id = :agent ORDER BY id DESC LIMIT :walked
) AS sent UNION SELECT id FROM (
    SELECT message_id AS id FROM recipients INDEXED BY recipients_inbox
    WHERE agent_id = :agent AND delivery_seq IS NOT NULL ORDER BY delivery_seq DESC LIMIT :walked) AS got"""


def newest_mail_sql(reader: SearchScope, filters: Filters) -> str:
    """Gives, newest first, what the filters leave of the newest `:walked` messages of the project and the reader's own,
    as columns of FoundRow: whatever they hold.
    """
    own = "" if reader.agent_id is None else f" UNION SELECT id FROM {_OWN_MAIL}"
    conditions = [_WHOLE_PROJECT, *_filtering(filters)]
    return f"""{_COLUMNS} FROM (SELECT id FROM {_NEWEST_MAIL}{own} ORDER BY id DESC LIMIT :walked) AS walk
CROSS JOIN messages m ON m.id = walk.id {_SENDERS}
{_OF_ONE}
WHERE {" AND ".join(conditions)} ORDER BY m.id DESC"""
